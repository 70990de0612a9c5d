import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def bean(x, args):  # negative inside
    return jnp.sum((x / args["axes"]) ** 2) + 0.3 * (x[2] / args["axes"][2]) ** 3 - 1.0


axes = jnp.array([0.3, 0.4, 0.5])
stone = multibody.Mechanism(
    [multibody.Body("stone", 2.0, inertia=(0.1, 0.15, 0.2))],
    [multibody.Free("free", "ground", "stone")],
    constraints=[multibody.Rolling("rolls", "ground", "stone", multibody.Convex(bean, size=0.4))],
    parameters={"axes": axes},
    guess={"free": [0, 0, 0.5, 1, 0, 0, 0]},
)
y0, z0 = stone.state()
spin = jnp.array([0.0, 0.0, 0.0, 0.5, 1.0, 0.3])  # a push: what rolls after it is nearest to it
z0 = jaxspark.project(stone.system, 0.0, y0, spin, stone.parameters).z
motion = jaxspark.solve(stone.system, y0, z0, stone.parameters, t1=1.0, rtol=1e-8)
first, last = (sum(stone.energy(*state)) for state in ((y0, z0), (motion.y1, motion.z1)))
print(first, last)
assert abs(bean(jnp.array([0.0, 0.0, -stone.position("stone", y0)[2]]), {"axes": axes})) < 1e-12
assert abs(last - first) < 1e-6 * abs(first)
