import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

servo = multibody.Mechanism(
    [multibody.Body("arm", 1.0, inertia=0.3)],
    [multibody.Revolute("A", "ground", "arm")],
    constraints=[
        multibody.PrescribedVelocity("drive", "A", lambda t, q, args: args["rate"] * (1.5 - q))
    ],
    parameters={"rate": 2.0},
)
y0, z0 = servo.state()
motion = jaxspark.solve(servo.system, y0, z0, servo.parameters, t1=1.0, rtol=1e-10)
print(motion.y1)
assert abs(z0[0] - 3.0) < 1e-12
assert abs(motion.y1[0] - 1.5 * (1 - jnp.exp(-2.0))) < 1e-8
