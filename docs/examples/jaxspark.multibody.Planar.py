import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

centre = (0.05, 0.02, 0.0)  # of mass
puck = multibody.Mechanism(
    [multibody.Body("puck", 0.2, com=centre, inertia=1e-3)],
    [multibody.Planar("table", "ground", "puck", axis=(0, 0.6, 0.8))],  # it slopes
)
y0, z0 = puck.state({}, {"table": [1.0, 0.5, 4.0]})  # m/s, m/s, rad/s
motion = jaxspark.solve(puck.system, y0, z0, puck.parameters, t1=1.0, rtol=1e-9)
of = lambda y: puck.position("puck", y, centre)
_, start = jax.jvp(of, (y0,), (z0,))
# The centre of mass moves as a point on a slope does.
fall = 0.5 * 9.81 * 0.6 * jnp.array([0.0, 0.8, -0.6])
print(of(motion.y1), motion.y1[2])
assert jnp.allclose(of(motion.y1), of(y0) + start + fall, atol=1e-7)
assert abs(motion.y1[2] - 4.0) < 1e-7
