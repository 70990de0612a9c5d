import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

free = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(2), lambda t, q, v, args: jnp.array([0.0, -9.81])
)
spring = jaxspark.stiff.Elongated(free, lambda t, q, args: jnp.linalg.norm(q) - 1.0, 1e10)
q0 = (1 + 10.81e-10) * jnp.array([0.0, -1.0])  # stretched by its weight and by its circular motion
y0, z0 = jaxspark.stiff.elongate(spring, 0.0, q0, jnp.array([1.0, 0.0]))
method = jaxspark.GGL(jaxspark.RadauIIA(3))
motion = jaxspark.solve(spring, y0, z0, t1=1.0, method=method)
(q, e), (v, _) = motion.y1, motion.z1
print(motion.stats.num_steps, q, e)
assert motion.stats.num_steps < 100  # the spring could oscillate 16000 times in that time
assert abs(0.5 * v @ v + 9.81 * (q[1] + 1.0) - 0.5) < 1e-4
