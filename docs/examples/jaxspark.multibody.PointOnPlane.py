import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

# A rod slips on a floor without friction: its lower end stays there, its centre falls vertically.
rod = multibody.Body("rod", 1.0, inertia=(1 / 12, 1 / 12, 1e-3))  # of 1 m, along z
fall = multibody.Mechanism(
    [rod],
    [
        multibody.Free("flight", "ground", "rod"),
        multibody.PointOnPlane("floor", "ground", "rod", child_position=(0, 0, -0.5)),
    ],
)
lean = [0, 0, 0.5, jnp.cos(0.1), 0, jnp.sin(0.1), 0]  # by 0.2 rad, in the plane of x and z
y0, z0 = fall.state(guess={"flight": lean})
motion = jaxspark.solve(fall.system, y0, z0, fall.parameters, t1=0.4, rtol=1e-9)
height, rate = motion.y1[2], motion.z1[4]
print(height, rate, motion.stats.max_g)
assert abs(fall.position("rod", motion.y1, (0, 0, -0.5))[2]) < 1e-13
assert abs(motion.y1[0] - y0[0]) < 1e-8 and height < 0.35
drop = 9.81 * (y0[2] - height)
assert abs(0.5 * rate**2 * (1 / 12 + 0.25 - height**2) - drop) < 1e-7
