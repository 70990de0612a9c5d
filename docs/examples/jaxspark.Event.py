import jax
import jax.numpy as jnp
import scipy.special

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
lowest = jaxspark.Event(lambda t, q, v, args: q[0], direction=False)
q0, v0 = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.solve(pendulum, q0, v0, t1=10.0, events=lowest, rtol=1e-9)
print(motion.t1, motion.y1)
assert abs(motion.t1 - scipy.special.ellipk(0.5) / 9.81**0.5) < 1e-7
