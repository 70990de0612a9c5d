import jax
import jax.numpy as jnp
import scipy.special

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

length, mass = 1.2, 3.0
rod = multibody.Body("rod", mass, com=(length / 2, 0, 0), inertia=mass * length**2 / 12)
swing = multibody.Mechanism(
    [rod], [multibody.Revolute("hinge", "ground", "rod")], gravity=(0, -9.81, 0)
)
lowest = jaxspark.Event(lambda t, q, v, args: q[0] + jnp.pi / 2, direction=False)
q0, v0 = swing.state()  # horizontal, at rest
motion = jaxspark.solve(swing.system, q0, v0, swing.parameters, t1=5.0, events=lowest, rtol=1e-9)
print(motion.t1)
# A uniform rod swings as a point at two thirds of its length does.
assert abs(motion.t1 - scipy.special.ellipk(0.5) * (2 * length / 3 / 9.81) ** 0.5) < 1e-8
