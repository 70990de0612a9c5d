import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

ball = multibody.Body("ball", 1.0, inertia=0.4 * 0.1**2)
spinning = multibody.Mechanism(
    [ball],
    [multibody.Free("free", "ground", "ball")],
    constraints=[multibody.Rolling("rolls", "ground", "ball", multibody.Sphere(0.1))],
    guess={"free": [0, 0, 0.1, 1, 0, 0, 0]},
)
y0, z0 = spinning.state(velocities={"free": [0.5, 0, 0, 0, 5.0, 2.0]})  # and about the vertical
motion = jaxspark.solve(spinning.system, y0, z0, spinning.parameters, t1=2.0)
x = spinning.position("ball", motion.y1)
print(x)
assert jnp.max(jnp.abs(x - jnp.array([1.0, 0.0, 0.1]))) < 1e-7  # straight on
