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
term, solver = ConstrainedTerm(pendulum), DiffraxSolver(jaxspark.DOP853())
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
control = diffrax.PIDController(rtol=1e-8, atol=1e-8)
end = diffrax.diffeqsolve(term, solver, 0.0, 2.0, None, start, stepsize_controller=control)
y, z = end.ys[0][-1], end.ys[1][-1]
print(y, z)
assert abs(jnp.linalg.norm(y) - 1.0) < 1e-14 and abs(y @ z) < 1e-12
