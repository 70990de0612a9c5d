import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

times = jnp.linspace(0.0, 2.0, 21)
angle = jnp.cos(times).at[3].set(jnp.nan)
record = fit.record(times, {"angle": angle}, units={"angle": "rad"}, missing="allow")

print(record)
assert jnp.isnan(record.channels["angle"]).sum() == 1 and record.units["angle"] == "rad"
