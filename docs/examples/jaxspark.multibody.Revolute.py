import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

inertia, damping = (0.02, 0.03, 0.04), 0.01
rotor = multibody.Mechanism(
    [multibody.Body("rotor", 1.0, inertia=inertia)],
    [multibody.Revolute("shaft", "ground", "rotor", axis=(1, 2, 2), damping=damping)],
)
y0, z0 = rotor.state({}, {"shaft": 10.0})
motion = jaxspark.solve(rotor.system, y0, z0, rotor.parameters, t1=3.0, rtol=1e-9)
print(motion.y1, motion.z1)
about = (0.02 + 4 * 0.03 + 4 * 0.04) / 9  # the moment of inertia about this axis
assert abs(motion.z1[0] - 10.0 * jnp.exp(-damping / about * 3.0)) < 1e-7
assert abs(motion.y1[0] - about / damping * (10.0 - motion.z1[0])) < 1e-7
