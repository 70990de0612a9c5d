import tempfile

import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.solve(pendulum, *start, t1=2.0, ts=jnp.linspace(0.0, 2.0, 41))
film = jaxspark.pictures.animate(motion, lambda t, q: {"rod": jnp.stack([0 * q, q])}, pixels=160)
with tempfile.TemporaryDirectory() as folder:
    film.save(f"{folder}/motion.gif")
    with open(f"{folder}/motion.gif", "rb") as file:
        kind = file.read(6)
print(kind, film.fps, film.frames[0].shape)
assert kind == b"GIF89a" and film.frames[0].dtype == jnp.uint8
