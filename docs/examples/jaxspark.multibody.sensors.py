import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

pendulum = multibody.Mechanism(
    [multibody.Body("rod", 1.0, com=(0, 0, -0.5), inertia=0.08)],
    [multibody.Revolute("hinge", "ground", "rod", axis=(0, 1, 0))],
)
tip = multibody.Place("rod", (0, 0, -1.0))
channels = ["q:hinge", "gyro:rod:y", "acc:tip:z"]
observe = multibody.sensors(pendulum, channels, {"tip": tip})
y0, z0 = pendulum.state({"hinge": 1.0})
motion = jaxspark.solve(
    pendulum.system, y0, z0, pendulum.parameters, t1=1.0, ts=jnp.linspace(0.0, 1.0, 5)
)
shown = jax.vmap(lambda t, y, z: observe(t, y, z, None, None, pendulum.parameters))(
    motion.ts, motion.ys, motion.zs
)
print(shown)  # the accelerometer shows weight along the rod, and the centripetal acceleration
assert jnp.allclose(shown["gyro:rod:y"], motion.zs[:, 0])
