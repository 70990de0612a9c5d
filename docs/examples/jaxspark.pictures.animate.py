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
motion = jaxspark.solve(pendulum, *start, t1=2.0, ts=jnp.linspace(0.0, 2.0, 41))
film = pictures.animate(
    motion, lambda t, q: {"rod": jnp.stack([0 * q, q])}, trace="rod", fps=10.0, pixels=160
)
print(len(film.frames), film.frames[0].shape)
assert len(film.frames) in (20, 21) and max(film.frames[0].shape[:2]) == 160
