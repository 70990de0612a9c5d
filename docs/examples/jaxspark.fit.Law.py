import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

rubbed = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(1),
    lambda t, q, v, args: -4 * q - args["viscous"] * v - args["dry"] * jnp.tanh(v / 0.1),
)
observe = lambda t, q, v, lam, psi, args: {"place": q[0]}
start = fit.Start(jnp.ones(1), jnp.full(1, -0.15), unknown="nothing")
none = {"viscous": 0.0, "dry": 0.0}
model = lambda name: fit.Model(rubbed, observe, none | {name: fit.positive(0.2)}, start, 0.1)
times = jnp.linspace(0.0, 3.0, 31)
clean = jnp.exp(-0.15 * times) * jnp.cos(jnp.sqrt(4 - 0.15**2) * times)  # viscous: 0.3
noise = 0.01 * jax.random.normal(jax.random.key(0), (2, 31))
records = [fit.record(times, {"place": clean + own}) for own in noise]
fits = {name: fit.estimate(model(name), records, progress=False) for name in none}
best, other = fit.compare(fits).laws
print(best.name, best.left_out, best.score, best.bic_correlated, other.name, other.score)
assert jnp.isclose(other.score, other.left_out["place"] / best.left_out["place"], rtol=1e-9)
