import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

# A pendulum whose coordinates are the sine and cosine of its angle, and whose velocity is its rate.
pendulum = jaxspark.ConstrainedSystem(
    lambda t, y, rate, args: -args["gravity"] * args["length"] * y[:1],
    v=lambda t, y, rate, args: rate * jnp.stack([y[1], -y[0]]),
    p=lambda t, y, rate, args: args["length"] ** 2 * rate,
)
args = {"gravity": 9.81, "length": 2.0}
y0, rate0 = jnp.array([1.0, 0.0]), jnp.zeros(1)
motion = jaxspark.solve(pendulum, y0, rate0, args, t1=3.0, rtol=1e-9)
print(motion.y1, motion.z1)
energy = 0.5 * args["length"] ** 2 * motion.z1[0] ** 2 - 9.81 * args["length"] * motion.y1[1]
assert abs(energy) < 1e-6
