import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

unknown = {"zero": fit.real(0.0, "rad", scale=0.1), "gain": fit.real(-2.0)}
made = fit.parametrise(unknown, num_trials=1)

print(made.names, made.start)  # coordinates are of order one
assert jnp.allclose(made.physical(jnp.array([-1.5, 0.3])), jnp.array([-3.0, 0.03]))
