import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

# All joints take the same arguments: where they are on both bodies, an axis, springs and dampers.
hinge = multibody.Revolute(
    "hinge", "ground", "flap", position=(0.1, 0.0, 0.4), axis=(0, 1, 1),
    stiffness=3.0, rest=0.25, armature=0.02,
)  # fmt: skip
assert isinstance(hinge, multibody.Joint) and (hinge.freedoms, hinge.coordinates) == (1, 1)
ball = multibody.Spherical("ball", "ground", "flap")
print(ball, ball.freedoms, ball.coordinates)
assert (ball.freedoms, ball.coordinates) == (3, 4)  # a quaternion has four

flap = multibody.Mechanism([multibody.Body("flap", 1.0, inertia=0.1)], [hinge])
y0, z0 = flap.state({"hinge": 0.5})
motion = jaxspark.solve(flap.system, y0, z0, flap.parameters, t1=1.0, rtol=1e-9)
assert abs(motion.y1[0] - 0.25 * (1 + jnp.cos(jnp.sqrt(3.0 / (0.1 + 0.02))))) < 1e-7
assert jnp.allclose(flap.position("flap", motion.y1), jnp.array([0.1, 0.0, 0.4]))
