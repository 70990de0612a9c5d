import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

inertia, rate = 0.3, 2.0
crank = multibody.Mechanism(
    [multibody.Body("crank", 1.0, inertia=inertia)],
    [multibody.Revolute("A", "ground", "crank")],
    constraints=[multibody.Prescribed("drive", "A", lambda t, args: jnp.sin(rate * t))],
)
y0, z0 = crank.state()  # the start follows from the motion, too
motion = jaxspark.solve(crank.system, y0, z0, crank.parameters, t1=1.0, multipliers=True)
torque = -motion.multipliers.lam[-1, 0]
print(motion.y1, torque)
assert abs(z0[0] - rate) < 1e-12 and abs(motion.y1[0] - jnp.sin(rate)) < 1e-12
assert abs(torque + inertia * rate**2 * jnp.sin(rate)) < 1e-9
