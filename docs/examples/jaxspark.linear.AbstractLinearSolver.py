import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


class Inverses(jaxspark.linear.AbstractLinearSolver):
    def factor(self, blocks):
        return jnp.linalg.inv(blocks.K2), jnp.linalg.inv(blocks.K_end)

    def solve(self, factors, rhs2, rhs3):
        return rhs2 @ factors[0].T, rhs3 @ factors[1].T

    def solve_transposed(self, factors, rhs2, rhs3):
        return rhs2 @ factors[0], rhs3 @ factors[1]

    def regular(self, factors):
        return jnp.all(jnp.isfinite(factors[0])) & jnp.all(jnp.isfinite(factors[1]))


pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start, options = (jnp.array([1.0, 0.0]), jnp.zeros(2)), {"t1": 1.0, "num_steps": 20}
motion = jaxspark.rollout(pendulum, *start, linear_solver=Inverses(), **options)
assert motion.stats.max_g < 1e-13 and abs(0.5 * motion.z1 @ motion.z1 + 9.81 * motion.y1[1]) < 1e-3
