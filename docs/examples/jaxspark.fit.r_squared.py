import jax
import numpy as np

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

measured = np.array([1.0, np.nan, 3.0, 5.0])  # one sample is missing
share = fit.r_squared(measured, np.array([1.0, 9.0, 3.0, 4.0]))

print(share)
assert np.isclose(share, 1 - 1 / 8)
