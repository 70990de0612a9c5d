import pathlib
import tempfile

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[2],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0])
motion = jaxspark.solve(pendulum, *start, t1=2.0, ts=jnp.linspace(0.0, 2.0, 41))
scene = pictures.scene(motion, lambda t, q: {"rod": jnp.stack([0 * q, q])}, fps=15.0)
with tempfile.TemporaryDirectory() as folder:
    scene.save(f"{folder}/motion.html")
    text = pathlib.Path(folder, "motion.html").read_text(encoding="utf-8")
print(scene, text.count("<script"))
assert text == scene.page
