import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

rod = multibody.Body("rod", 1.0, com=(0.5, 0, 0), inertia=1 / 12)  # of 1 m
bob = multibody.Body("bob", 2.0, inertia=0.01)
clock = multibody.Mechanism(
    [rod, bob],
    [
        multibody.Revolute("hinge", "ground", "rod"),
        multibody.Weld("screws", "rod", "bob", position=(1, 0)),
    ],
    gravity=(0, -9.81, 0),
)
lowest = jaxspark.Event(lambda t, q, v, args: q[0] + jnp.pi / 2, direction=False)
y0, z0 = clock.state()
motion = jaxspark.solve(clock.system, y0, z0, clock.parameters, t1=2.0, events=lowest, rtol=1e-9)
print(motion.z1)
inertia = 1 / 3 + 2.0 + 0.01  # of both, about the hinge
assert abs(motion.z1[0] + jnp.sqrt(2 * 9.81 * (0.5 + 2.0) / inertia)) < 1e-7
