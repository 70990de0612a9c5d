import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


def blade(t, y_a, z_a, y_b, z_b, own, args):
    return z_a[:1] * jnp.sin(y_a[2]) - z_a[1:2] * jnp.cos(y_a[2])


skates = jaxspark.MultibodySystem(  # x, y and angle of two
    mass=lambda t, y, own, args: jnp.ones(3),
    force=lambda t, y, z, own, args: jnp.zeros(3),
    rolling=jaxspark.RollingJoint(blade, [(0, -1), (1, -1)]),
)
z0 = jnp.array([[1.0, 0.0, 1.0], [1.0, 0.0, 2.0]])
motion = jaxspark.solve(skates, jnp.zeros((2, 3)), z0, t1=jnp.pi / 2, rtol=1e-9)
print(motion.y1)  # circles: a quarter and a half
assert jnp.allclose(motion.y1[:, :2], jnp.array([[1.0, 1.0], [0.0, 1.0]]), atol=1e-7)
