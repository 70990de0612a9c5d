import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

speed, turn = 0.9, 1.5
skate = multibody.Mechanism(
    [multibody.Body("skate", 1.2, inertia=0.3)],
    [multibody.Planar("plane", "ground", "skate")],
    constraints=[multibody.KnifeEdge("blade", "ground", "skate")],  # below its centre of mass
)
y0, z0 = skate.state(velocities={"plane": [speed, 0.0, turn]})
motion = jaxspark.solve(skate.system, y0, z0, skate.parameters, t1=2.0, rtol=1e-9)
x = skate.position("skate", motion.y1)  # on a circle
print(x, motion.stats.max_k)
expected = speed / turn * jnp.array([jnp.sin(2 * turn), 1 - jnp.cos(2 * turn), 0.0])
assert jnp.max(jnp.abs(x - expected)) < 1e-7
