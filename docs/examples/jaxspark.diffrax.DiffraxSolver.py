import diffrax
import jax
import jax.numpy as jnp

import jaxspark
from jaxspark.diffrax import ConstrainedTerm, DiffraxSolver


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
solver = DiffraxSolver(jaxspark.Gauss(2))
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
end = diffrax.diffeqsolve(ConstrainedTerm(pendulum), solver, 0.0, 2.0, 0.01, start)
y, z = end.ys[0][-1], end.ys[1][-1]
print(y, z, end.stats["num_steps"])
assert abs(jnp.linalg.norm(y) - 1.0) < 1e-14 and abs(0.5 * z @ z + 9.81 * y[1]) < 1e-5
