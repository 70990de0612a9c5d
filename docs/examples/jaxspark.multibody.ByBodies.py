import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

count, length = 12, 0.2
names = [f"link {k}" for k in range(count)]
chain = multibody.Mechanism(
    [multibody.Body(name, 0.1, com=(0, 0, -length / 2), inertia=1e-3) for name in names],
    [
        multibody.Revolute(f"hinge {k}", "ground" if k == 0 else names[k - 1], names[k],
                           position=(0, 0, -length if k else 0), axis=(0, 1, 0))
        for k in range(count)
    ],
)  # fmt: skip
bodies = chain.by_bodies()
y0, z0 = bodies.state({"hinge 0": 1.0})
motion = jaxspark.solve(bodies.system, y0, z0, bodies.parameters, t1=0.5, rtol=1e-9)
y1, z1 = bodies.to_joints(motion.y1, motion.z1)
print(bodies, chain.coordinates(y1)["hinge 0"])
other = jaxspark.solve(chain.system, *chain.state({"hinge 0": 1.0}), chain.parameters, t1=0.5,
                       rtol=1e-9)  # fmt: skip
assert y0.shape == (count, 7) and jnp.max(jnp.abs(y1 - other.y1)) < 1e-6
