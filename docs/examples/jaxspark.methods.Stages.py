import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
method = jaxspark.Gauss(2)
q, v, _, info = jaxspark.step(pendulum, method, 0.0, jnp.array([1.0, 0.0]), jnp.zeros(2), 0.01)
stages = info.stages
print(stages.y.shape, stages.z.shape, stages.lam.shape, stages.psi.shape)
assert jnp.array_equal(stages.y[-1], q)  # the last row is the end of the step
assert stages.lam.shape[0] == method.tableau.constraint_nodes
