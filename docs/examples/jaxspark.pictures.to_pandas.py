import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.solve(
    pendulum, *start, t1=1.0, ts=jnp.linspace(0.0, 1.0, 11), multipliers=True, rtol=1e-9
)
table = pictures.to_pandas(motion)
print(table)
tension = [name for name in table.columns if name.startswith("lam")][0]
assert jnp.allclose(table[tension].to_numpy(), -3 * 9.81 * table["y[1]"].to_numpy(), atol=1e-5)
