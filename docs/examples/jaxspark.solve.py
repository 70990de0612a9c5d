import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, length: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, length: jnp.linalg.norm(q) - length,
)


def swing(length):
    q0 = length * jnp.array([1.0, 0.0])
    return jaxspark.solve(pendulum, q0, jnp.zeros(2), length, t1=2.0, rtol=1e-9)


motion, slope = swing(1.0), jax.grad(lambda length: swing(length).y1[1])(1.0)
print(motion.y1, slope)
# The motion is that of length 1, times the length, in a time that goes as the root of the length.
assert abs(slope - (motion.y1[1] - 0.5 * 2.0 * motion.z1[1])) < 1e-5
