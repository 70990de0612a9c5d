import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

inertia = jnp.diag(jnp.array([0.05, 0.10, 0.13])) / 12  # a box of 1 kg
made = fit.parametrise({"box": fit.rigid_body(1.0, jnp.zeros(3), inertia)}, num_trials=1)

u = jax.random.normal(jax.random.key(0), made.start.shape)  # any coordinates are a body
body = made.args(u)["box"]
print(made.names, body)
moments = jnp.linalg.eigvalsh(body.inertia)
assert body.mass > 0 and 0 < moments[0] and moments[2] < moments[0] + moments[1]
