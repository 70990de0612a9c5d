import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

velocities = jnp.array([[3.0, 4.0], [0.0, 2.0]])
across = jnp.array([[0.0, 1.0], [0.0, 1.0]])  # the normals of an arm that lies along the first axis
every = jaxspark.forces.drag(velocities, jnp.array([2.0, 1.0]))
strip = jaxspark.forces.drag(velocities, jnp.array([2.0, 1.0]), across)
print(every, strip)
assert jnp.allclose(every, jnp.array([[-30.0, -40.0], [0.0, -4.0]]))
assert jnp.allclose(strip, jnp.array([[0.0, -32.0], [0.0, -4.0]]))
