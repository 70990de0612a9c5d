import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

prior = fit.Normal(1.2, 0.01)  # as the scale says
made = fit.parametrise({"mass": fit.positive(1.22, "kg", prior=prior)}, num_trials=1)

print(made.prior_residuals(made.start), made.log_prior(made.start))
assert jnp.allclose(made.prior_residuals(made.start), (1.22 - 1.2) / 0.01)
