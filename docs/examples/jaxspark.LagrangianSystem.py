import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * args["mass"] * (jnp.sum(v**2) - 2 * 9.81 * q[1]),
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - args["length"],
)
args = {"mass": 2.0, "length": 1.0}
q0, v0, times = jnp.array([1.0, 0.0]), jnp.zeros(2), jnp.linspace(0.0, 2.0, 21)
motion = jaxspark.solve(pendulum, q0, v0, args, t1=2.0, ts=times, multipliers=True, rtol=1e-9)
tension = motion.multipliers.lam
print(tension)
assert jnp.allclose(tension, -3 * 2.0 * 9.81 * motion.ys[:, 1], atol=1e-5)
