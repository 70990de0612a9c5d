import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

pull = jnp.array([3.0, 0.0, 1.0])  # of the ground's axes (N), whatever the body does
tip = (0.5, 0.0, 0.0)
lever = multibody.Mechanism(
    [multibody.Body("lever", 1.0, com=(0.25, 0, 0), inertia=0.02)],
    [multibody.Spherical("pivot", "ground", "lever")],
    forces=[multibody.PointForce("pull", "lever", lambda t, x, v, args: pull, at=tip)],
)
y0, z0 = lever.state({"pivot": [1.0, 0.2, 0.3, 0.9]})
motion = jaxspark.solve(lever.system, y0, z0, lever.parameters, t1=0.6, rtol=1e-9)
way = lever.position("lever", motion.y1, tip) - lever.position("lever", y0, tip)
gain = sum(lever.energy(motion.y1, motion.z1)) - sum(lever.energy(y0, z0))
print(gain, pull @ way)  # the work of the force
assert jnp.linalg.norm(way) > 0.1 and abs(gain - pull @ way) < 1e-8
