import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

rod = multibody.Body("rod", 2.0, com=(0.3, 0, 0), inertia=(0.01, 0.06, 0.06))
swing = multibody.Mechanism(
    [rod], [multibody.Revolute("hinge", "ground", "rod")], gravity=(0, -9.81, 0)
)
y, z, u = jnp.array([0.4]), jnp.array([1.0]), jnp.array([-3.0])
columns = multibody.regressor(swing, y, z, u)  # m, m x, m y, m z, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
torque = columns @ jnp.array([2.0, 0.6, 0, 0, 0.01, 0, 0, 0.24, 0, 0.06 + 2 * 0.3**2])
print(columns, torque)
assert jnp.isclose(torque[0], 0.24 * u[0] + 0.6 * 9.81 * jnp.cos(y[0]), rtol=1e-12)
