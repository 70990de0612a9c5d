import importlib.util

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
motion = jaxspark.solve(pendulum, *start, t1=1.0, ts=jnp.linspace(0.0, 1.0, 11))
if importlib.util.find_spec("xarray"):  # pip install xarray
    data = pictures.to_xarray(motion)
    print(data)
    assert jnp.array_equal(data["y"].sel(time=1.0).to_numpy(), motion.y1)
