import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


def lagrangian(t, q, v, args):  # of 30 masses, a row for each
    return 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[:, 1])


def rods(t, q, args):
    ends = jnp.concatenate([jnp.zeros((1, 2)), q])
    return jnp.linalg.norm(ends[1:] - ends[:-1], axis=1) - 0.1


rope = jaxspark.linear.with_blocks(jaxspark.LagrangianSystem(lagrangian, rods))
y0 = jnp.stack([jnp.zeros(30), -0.1 * (jnp.arange(30) + 1.0)], axis=1)
print(jaxspark.linear.explain(rope, y0, jnp.zeros((30, 2))))
found = jaxspark.multipliers(rope, 0.0, y0, jnp.zeros((30, 2)))
assert jnp.allclose(found.lam, 9.81 * jnp.arange(30, 0.0, -1.0))
