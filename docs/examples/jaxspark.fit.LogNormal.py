import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

prior = fit.LogNormal(0.5, 1.2)  # known up to a factor of 1.2
friction = fit.positive(0.3, "N m", prior=prior)

print(friction, prior.residual(jnp.array(0.3)), prior.log_density(jnp.array(0.3)))
assert jnp.allclose(prior.residual(jnp.array([0.5 / 1.2, 0.5, 0.5 * 1.2])), jnp.array([-1, 0, 1]))
