import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

bend = 0.6  # between two shafts (rad)
turned = (jnp.cos(bend / 2), 0, 0, jnp.sin(bend / 2))
shafts = multibody.Mechanism(
    [multibody.Body("drive", 1.0, inertia=0.02), multibody.Body("driven", 1.0, inertia=0.05)],
    [
        multibody.Revolute("A", "ground", "drive", axis=(1, 0, 0)),
        multibody.Revolute("B", "ground", "driven", axis=(1, 0, 0), quaternion=turned),
        multibody.Universal("cross", "drive", "driven", axis=(0, 0, 1), second=(0, 1, 0)),
    ],
)
y0, z0 = shafts.state({"A": 0.0}, {"A": 4.0})
motion = jaxspark.solve(shafts.system, y0, z0, shafts.parameters, t1=1.0)
angle = shafts.coordinates(motion.y1)["A"][0]
rates = shafts.velocities(motion.z1)
ratio = rates["B"][0] / rates["A"][0]
print(angle, ratio)
assert abs(ratio - jnp.cos(bend) / (1 - (jnp.sin(bend) * jnp.sin(angle)) ** 2)) < 1e-12
assert abs(sum(shafts.energy(motion.y1, motion.z1)) - sum(shafts.energy(y0, z0))) < 1e-6
