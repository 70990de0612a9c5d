import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

times = jnp.linspace(0.0, 1.0, 50)
measured = 2 * times + 0.1 * jax.random.normal(jax.random.key(0), (50,))
line, parabola = (jnp.polyval(jnp.polyfit(times, measured, n), times) for n in (1, 2))

simple = fit.criteria((line - measured) / 0.1, 2)
rich = fit.criteria((parabola - measured) / 0.1, 3)
print(simple.bic, rich.bic)  # the smaller one is better
assert jnp.isclose(simple.aic, 50 * jnp.log(2 * jnp.pi * jnp.var(line - measured) / 0.01) + 56)
