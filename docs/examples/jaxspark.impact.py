import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

ball = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[0])


def gap(t, q, args):
    return q[0]


law = jaxspark.impact(ball, gap, restitution=0.5)
floor = jaxspark.Event(lambda t, q, v, args: gap(t, q, args), direction=False, reset=law)
motion = jaxspark.solve(ball, jnp.ones(1), jnp.zeros(1), t1=0.6, events=floor)
before, after = motion.events.zs[0], motion.events.zs_after[0]
print(before, after)
assert jnp.allclose(before, -jnp.sqrt(2 * 9.81)) and jnp.allclose(after, -0.5 * before)
