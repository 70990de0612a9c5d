import jax
import numpy as np

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

u, errors = np.log([0.5]), np.array([0.4])  # a positive number, by its logarithm
low, high = fit.intervals_in(u, errors, np.exp, dof=20)

print(low, high)  # stays positive
assert np.allclose(low * high, 0.5**2) and high - 0.5 > 0.5 - low > 0
