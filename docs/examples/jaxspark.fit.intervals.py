import jax
import numpy as np
import scipy.stats

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

low, high = fit.intervals(np.array([4.0]), np.array([0.1]), dof=28, level=0.95)

print(low, high)
assert np.allclose(high, 4.0 + 0.1 * scipy.stats.t.ppf(0.975, 28))
