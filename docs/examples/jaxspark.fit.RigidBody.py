import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

a, b, c = 0.3, 0.2, 0.1  # edges of a box of 2 kg
inertia = 2.0 / 12 * jnp.diag(jnp.array([b**2 + c**2, a**2 + c**2, a**2 + b**2]))
box = fit.RigidBody(2.0, jnp.array([a, b, c]) / 2, inertia)

about_corner = box.inertia_about(jnp.zeros(3))
print(about_corner, jnp.linalg.eigvalsh(box.pseudo_inertia()))
expected = 2.0 * jnp.array([(b**2 + c**2) / 3, -a * b / 4, -a * c / 4])
assert jnp.allclose(about_corner[0], expected)
