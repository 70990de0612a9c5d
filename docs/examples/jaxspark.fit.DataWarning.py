import warnings

import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

times = jnp.linspace(0.0, 2.0, 21)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", fit.DataWarning)
    fit.record(times, {"angle": 40 * jnp.cos(times)}, units={"angle": "rad"})
print(caught[0].message)
assert caught[0].category is fit.DataWarning and "degrees" in str(caught[0].message)
