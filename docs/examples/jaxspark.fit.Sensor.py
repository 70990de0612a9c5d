import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import fit


jax.config.update("jax_enable_x64", True)

spring = jaxspark.MechanicalSystem(lambda t, q, args: jnp.eye(1), lambda t, q, v, args: -4 * q)
place = lambda t, q, v, lam, psi, args: q[0]
model = fit.Model(
    spring,
    {"gauge": fit.Sensor(place, zero="zero", gain=2.0, lag=0.03)},
    {"zero": fit.real(0.1, "V")},
    fit.Start(jnp.ones(1), jnp.zeros(1)),
    step=0.05,
)
times = jnp.linspace(0.0, 2.0, 41)
shown = fit.simulate(model, times).channels["gauge"]
print(shown)
assert jnp.allclose(shown, 2 * jnp.cos(2 * (times - 0.03)) + 0.1, atol=1e-3)
