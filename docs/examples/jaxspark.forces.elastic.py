import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

joint = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2),
    force=lambda t, q, v, args: jaxspark.forces.elastic(q, v, **args),
)
args = {"stiffness": 25.0, "damping": 6.0}
motion = jaxspark.solve(joint, jnp.ones(1), jnp.zeros(1), args, t1=1.0, rtol=1e-9)
print(motion.y1)
exact = jnp.exp(-3.0) * (jnp.cos(4.0) + 0.75 * jnp.sin(4.0))
assert abs(motion.y1[0] - exact) < 1e-7
assert jaxspark.forces.elastic(2.0, 0.0, stiffness=1.0, cubic=0.5) == -6.0
