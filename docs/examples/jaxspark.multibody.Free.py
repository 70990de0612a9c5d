import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

top = multibody.Mechanism(
    [multibody.Body("top", 1.0, inertia=(0.2, 0.2, 0.3))],
    [multibody.Free("flight", "ground", "top")],
)
# Velocity in the axes of the ground, angular velocity in those of the body.
y0, z0 = top.state({}, {"flight": [2.0, 0.0, 5.0, 0.5, 0.0, 8.0]})
motion = jaxspark.solve(top.system, y0, z0, top.parameters, t1=1.0, rtol=1e-9)
print(motion.y1[:3], motion.z1[3:])
assert jnp.allclose(motion.y1[:3], jnp.array([2.0, 0.0, 5.0 - 0.5 * 9.81]))
turn = (0.3 - 0.2) / 0.2 * 8.0  # Euler: the angular velocity goes round the axis of the top
spin = jnp.array([0.5 * jnp.cos(turn), 0.5 * jnp.sin(turn), 8.0])
assert jnp.allclose(motion.z1[3:], spin, atol=1e-7)
assert abs(jnp.linalg.norm(motion.y1[3:]) - 1.0) < 1e-8
