import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

spring = jaxspark.MechanicalSystem(
    lambda t, q, args: args["mass"] * jnp.eye(1), lambda t, q, v, args: -args["stiffness"] * q
)
observe = lambda t, q, v, lam, psi, args: {"place": q[0]}
start = fit.Start(jnp.ones(1), jnp.zeros(1), unknown="nothing")
unknown = {"mass": fit.positive(1.0, "kg"), "stiffness": fit.positive(3.0, "N/m")}
model = fit.Model(spring, observe, unknown, start, step=0.1)
times = jnp.linspace(0.0, 3.0, 31)
noise = 0.01 * jax.random.normal(jax.random.key(0), (31,))
record = fit.record(times, {"place": jnp.cos(2 * times) + noise})
found = fit.estimate(model, record, progress=False)

words = fit.unidentifiable_words(found.uncertainty.directions)
print(words)
assert words == ("mass and stiffness only through stiffness / mass",)
