import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def field(t, at, motion, args):  # on a charge: no force, and a torque that aligns its x axis
    moment = args["moment"] * at[0][:3, 0]
    return [(jnp.zeros(3), jnp.cross(moment, args["field"]))]


inertia, moment, strength = 2e-3, 0.1, 0.5
needle = multibody.Mechanism(
    [multibody.Body("needle", 0.1, inertia=inertia)],
    [multibody.Revolute("pin", "ground", "needle")],
    forces=[multibody.BodyForce("compass", ["needle"], field)],
    parameters={"moment": moment, "field": jnp.array([strength, 0.0, 0.0])},
)
small = 1e-4
y0, z0 = needle.state({"pin": small})
motion = jaxspark.solve(needle.system, y0, z0, needle.parameters, t1=1.0, rtol=1e-10, atol=1e-13)
print(motion.y1)
assert abs(motion.y1[0] - small * jnp.cos(jnp.sqrt(moment * strength / inertia))) < 1e-9
