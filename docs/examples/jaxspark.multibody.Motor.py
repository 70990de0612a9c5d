import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def servo(t, q, z, args):  # towards an angle, critically damped
    return args["gain"] * (args["angle"] - q) - 2 * jnp.sqrt(args["gain"] * 0.25) * z


arm = multibody.Mechanism(
    [multibody.Body("arm", 1.0, inertia=0.25)],
    [multibody.Revolute("shoulder", "ground", "arm")],
    forces=[multibody.Motor("servo", "shoulder", servo)],
)
args = arm.parameters | {"gain": 9.0, "angle": 0.8}
y0, z0 = arm.state()
motion = jaxspark.solve(arm.system, y0, z0, args, t1=0.5, rtol=1e-9)
print(motion.y1)
phase = jnp.sqrt(9.0 / 0.25) * 0.5
assert abs(motion.y1[0] - 0.8 * (1 - (1 + phase) * jnp.exp(-phase))) < 1e-8
