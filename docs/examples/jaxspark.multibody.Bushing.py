import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, inertia, stiffness, turning = 2.0, 0.15, 800.0, 6.0
engine = multibody.Mechanism(
    [multibody.Body("engine", mass, inertia=inertia)],
    [multibody.Free("free", "ground", "engine")],
    forces=[multibody.Bushing("mount", "ground", "engine", stiffness=(stiffness, turning))],
    gravity=(0, 0, 0),
)
y0, z0 = engine.state({"free": [0.01, 0, 0, jnp.cos(0.3), 0, 0, jnp.sin(0.3)]})
motion = jaxspark.solve(engine.system, y0, z0, engine.parameters, t1=1.0, rtol=1e-10)
x, angle = motion.y1[0], 2 * jnp.arctan2(motion.y1[6], motion.y1[3])
print(x, angle)
assert abs(x - 0.01 * jnp.cos(jnp.sqrt(stiffness / mass))) < 1e-8
assert abs(angle - 0.6 * jnp.cos(jnp.sqrt(turning / inertia))) < 1e-7
