import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, radius, tilt, turn = 1.3, 0.4, 1.1, 2.0  # kg, m, rad, rad/s
across, about = mass * radius**2 / 4, mass * radius**2 / 2
s, c = jnp.sin(tilt), jnp.cos(tilt)
disk = multibody.Mechanism(
    [multibody.Body("disk", mass, inertia=(across, across, about))],
    [multibody.Free("free", "ground", "disk")],
    constraints=[multibody.Rolling("rolls", "ground", "disk", multibody.Disk(radius))],
    guess={"free": [0, 0, radius * s, jnp.cos(tilt / 2), jnp.sin(tilt / 2), 0, 0]},
)
# A disk that rolls in a circle keeps its tilt (Neimark and Fufaev, chapter II, section 5).
spin = (across * turn**2 * s - mass * 9.81 * radius) * c / ((about + mass * radius**2) * turn * s)
w = jnp.array([0.0, turn * s, spin])
v = jnp.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ jnp.cross(w, jnp.array([0, radius, 0]))
y0, z0 = disk.state(velocities={"free": jnp.concatenate([v, w])})
motion = jaxspark.solve(disk.system, y0, z0, disk.parameters, t1=2 * jnp.pi / turn, rtol=1e-9)
print(disk.position("disk", motion.y1))
assert jnp.max(jnp.abs(motion.y1[:3] - y0[:3])) < 1e-6
assert abs(disk.pose("disk", motion.y1)[2, 2] - c) < 1e-7
