import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def ellipse(t, at, args):  # the origin of the body's frame, in the ground's
    x = at[0][:3, 3]
    return jnp.stack([(x[0] / args["width"]) ** 2 + x[2] ** 2 - 1.0, x[1]])


bead = multibody.Mechanism(
    [multibody.Body("bead", 0.5, inertia=1e-3)],
    [multibody.Free("free", "ground", "bead")],
    constraints=[multibody.Holonomic("ellipse", ["bead"], ellipse)],
    parameters={"width": 2.0},
    guess={"free": [0, 0, -1, 1, 0, 0, 0]},
)
small = 1e-3  # along the ellipse, whose radius of curvature at the bottom is width^2
y0, z0 = bead.state(velocities={"free": [small, 0, 0, 0, 0, 0]})
motion = jaxspark.solve(bead.system, y0, z0, bead.parameters, t1=1.0, rtol=1e-9, atol=1e-12)
x = bead.position("bead", motion.y1)
print(x, motion.stats.max_g)
rate = jnp.sqrt(9.81) / 2.0
assert abs(x[0] - small * jnp.sin(rate) / rate) < 1e-8
