import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

rod = multibody.Body("rod", 2.0, com=(0.3, 0, 0), inertia=0.06)
swing = multibody.Mechanism(
    [rod], [multibody.Revolute("hinge", "ground", "rod")], gravity=(0, -9.81, 0)
)
y, z, u = jax.random.normal(jax.random.key(0), (3, 50, 1))
base = multibody.base_parameters(swing, y, z, u)
print(base.words, base.condition)

torques = 0.24 * u[:, 0] + 0.6 * 9.81 * jnp.cos(y[:, 0])  # measured
found = jnp.linalg.lstsq(jnp.asarray(base.regressor), torques)[0]
print(dict(zip(base.words, found)), base.without_effect)
assert jnp.allclose(found, base.of(), atol=1e-12)
