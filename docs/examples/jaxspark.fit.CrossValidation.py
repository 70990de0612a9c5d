import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

spring = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(1), lambda t, q, v, args: -args["stiffness"] * q
)
observe = lambda t, q, v, lam, psi, args: {"place": q[0]}
start = fit.Start(jnp.ones(1), jnp.zeros(1), unknown="nothing")
model = fit.Model(spring, observe, {"stiffness": fit.positive(3.0, "N/m")}, start, step=0.1)
times = jnp.linspace(0.0, 3.0, 31)
noise = 0.01 * jax.random.normal(jax.random.key(0), (3, 31))
records = [fit.record(times, {"place": jnp.cos(2 * times) + own}) for own in noise]
found = fit.estimate(model, records, progress=False, check=False)

crossed = fit.cross_validate(found, folds=[(0,), (1, 2)])
print(crossed.folds, crossed.rms, [values["stiffness"] for values in crossed.values])
assert all(crossed.converged) and [trial.held_out for trial in crossed.trials] == [True] * 3
