import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, stiffness, length = 0.5, 20.0, 0.3
scale = multibody.Mechanism(
    [multibody.Body("weight", mass)],
    [multibody.Prismatic("guide", "ground", "weight")],  # along z
    forces=[multibody.Spring("spring", "ground", "weight", stiffness=stiffness, length=length)],
)
y0, z0 = scale.state({"guide": -length})
times = jnp.linspace(0.0, 2.0, 41)
motion = jaxspark.solve(scale.system, y0, z0, scale.parameters, t1=2.0, ts=times, rtol=1e-9)
sag, rate = mass * 9.81 / stiffness, jnp.sqrt(stiffness / mass)
expected = -length - sag * (1 - jnp.cos(rate * times))
print(motion.ys[:, 0].min())
assert jnp.max(jnp.abs(motion.ys[:, 0] - expected)) < 1e-7
