import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

kepler = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) + 1 / jnp.linalg.norm(q)
)


def rotation(t, q, args):
    return jnp.stack([-q[1], q[0]])


start = jnp.array([1.0, 0.0]), jnp.array([0.3, 1.2])
motion = jaxspark.solve(kepler, *start, t1=5.0, ts=jnp.linspace(0.0, 5.0, 6), rtol=1e-9)
angular = jaxspark.diagnostics.momentum_map(kepler, rotation, motion.ts, motion.ys, motion.zs)
print(angular)
assert jnp.allclose(angular, 1.2, atol=1e-6)
