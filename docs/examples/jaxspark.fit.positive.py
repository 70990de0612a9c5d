import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

unknown = {"length": fit.positive(0.8, "m"), "masses": fit.positive([1.0, 2.0], "kg")}
made = fit.parametrise(unknown, num_trials=1)

print(made.names, made.units)
moved = made.physical(made.start - 2)  # by the logarithm: never zero
assert jnp.allclose(moved, jnp.array([0.8, 1.0, 2.0]) * jnp.exp(-2))
