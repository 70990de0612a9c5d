import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxspark import fit


jax.config.update("jax_enable_x64", True)


class Student(fit.AbstractPrior):
    middle: np.ndarray = eqx.field(converter=np.asarray)  # of one degree of freedom

    def residual(self, value):  # log_density is -residual**2 / 2 and a constant
        return jnp.sign(value - self.middle) * jnp.sqrt(2 * jnp.log1p((value - self.middle) ** 2))

    def log_density(self, value):
        return -jnp.log1p((value - self.middle) ** 2) - jnp.log(jnp.pi)


made = fit.parametrise({"mass": fit.positive(3.0, "kg", prior=Student(2.0))}, num_trials=1)
print(made.log_prior(made.start), made.prior_residuals(made.start))
assert jnp.allclose(made.log_prior(made.start), -jnp.log(2 * jnp.pi))
