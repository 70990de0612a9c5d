import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

unknown = {"mass": fit.positive(2.0, "kg"), "zero": fit.real(0.1, "rad", per_trial=True)}
made = fit.parametrise(unknown, num_trials=2)

print(made.names, made.physical(made.start))
second = made.args(made.unconstrained(jnp.array([3.0, 0.1, 0.2])), trial=1)
assert made.names[1:] == ("zero (trial 0)", "zero (trial 1)") and jnp.isclose(second["zero"], 0.2)
