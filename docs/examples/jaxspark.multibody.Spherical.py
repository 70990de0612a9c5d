import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, length, tilt = 1.0, 0.8, 0.6
bob = multibody.Body("bob", mass, com=(0, 0, -length), inertia=(0.03, 0.03, 0.02))
pendulum = multibody.Mechanism([bob], [multibody.Spherical("pivot", "ground", "bob")])
# It goes round on a cone: rate^2 (I_1 - I_3) cos(tilt) = m g length.
across = 0.03 + mass * length**2 - 0.02
rate = jnp.sqrt(mass * 9.81 * length / (across * jnp.cos(tilt)))
y0, z0 = pendulum.state(
    {"pivot": [jnp.cos(tilt / 2), 0, jnp.sin(tilt / 2), 0]},
    {"pivot": rate * jnp.array([-jnp.sin(tilt), 0, jnp.cos(tilt)])},  # in axes of the body
)
motion = jaxspark.solve(
    pendulum.system, y0, z0, pendulum.parameters, t1=1.5 * jnp.pi / rate, rtol=1e-9
)
place = pendulum.position("bob", motion.y1, (0, 0, -length))  # after three quarters of a turn
print(place)
out, low = length * jnp.sin(tilt), length * jnp.cos(tilt)
assert jnp.allclose(place, jnp.array([0.0, out, -low]), atol=1e-7)
