import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

disc = fit.PlanarBody(mass=3.0, centre=jnp.array([0.2, 0.0]), inertia=3.0 * 0.1**2 / 2)

about_rim = disc.inertia_about(jnp.array([0.2, 0.1]))
print(about_rim)
assert jnp.isclose(about_rim, 1.5 * 3.0 * 0.1**2)
