import equinox as eqx
import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

network = eqx.nn.MLP(1, 1, 4, 1, key=jax.random.key(0))  # a law of friction
made = fit.parametrise({"friction": fit.free(network), "mass": 2.0}, num_trials=1)

law = made.args(made.start)["friction"]
print(made.size, law(jnp.ones(1)))
assert made.size == 4 + 4 + 4 + 1 and jnp.allclose(law(jnp.ones(1)), network(jnp.ones(1)))
