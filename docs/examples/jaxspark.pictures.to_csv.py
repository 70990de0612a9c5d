import tempfile

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.solve(pendulum, *start, t1=1.0, ts=jnp.linspace(0.0, 1.0, 11))
with tempfile.TemporaryDirectory() as folder:
    pictures.to_csv(motion, f"{folder}/motion.csv")
    table = np.genfromtxt(f"{folder}/motion.csv", delimiter=",", names=True, deletechars="")
print(table.dtype.names)
assert np.array_equal(table["t"], motion.ts) and np.array_equal(table["y[1]"], motion.ys[:, 1])
