import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


def rod(t, y_a, y_b, own, args):
    return jnp.linalg.norm(y_a - y_b, keepdims=True) - own


lengths = jnp.array([1.0, 0.5, 0.25])
chain = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: jnp.ones(2),
    force=lambda t, y, z, own, args: jnp.array([0.0, -9.81]),
    joints=jaxspark.Joint(rod, [(0, -1), (1, 0), (2, 1)], own=lambda args: args),
)
y0 = jnp.stack([jnp.cumsum(lengths), jnp.zeros(3)], axis=1)
motion = jaxspark.rollout(chain, y0, jnp.zeros((3, 2)), lengths, t1=0.5, num_steps=50)
ends = jnp.concatenate([jnp.zeros((1, 2)), motion.ys[-1]])
print(motion.ys[-1])
assert jnp.allclose(jnp.linalg.norm(jnp.diff(ends, axis=0), axis=1), lengths, atol=1e-13)
