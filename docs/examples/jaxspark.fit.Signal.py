import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

times = jnp.linspace(0.0, 3.0, 31)
push = fit.Signal.cubic(times, jnp.sin(times))

found = jnp.stack([push(0.55), jax.grad(push)(0.55)])
print(found)
assert jnp.allclose(found, jnp.array([jnp.sin(0.55), jnp.cos(0.55)]), atol=1e-5)
