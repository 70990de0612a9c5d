import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, inertia, behind = 1.5, 0.2, 0.4


def wheels(t, at, motion, args):  # an axle behind the centre of mass does not move sideways
    axle = at[0][:3, :3] @ jnp.array([-behind, 0.0, 0.0]) + at[0][:3, 3]
    velocity = motion[0][:, :3] @ axle + motion[0][:, 3]
    return velocity @ at[0][:3, 1]


sleigh = multibody.Mechanism(
    [multibody.Body("sleigh", mass, inertia=inertia)],
    [multibody.Planar("plane", "ground", "sleigh")],
    constraints=[multibody.Nonholonomic("wheels", ["sleigh"], wheels)],
)
spin = 2.0  # about the axle, which is at rest at first
y0, z0 = sleigh.state(velocities={"plane": [0.0, behind * spin, spin]})
motion = jaxspark.solve(sleigh.system, y0, z0, sleigh.parameters, t1=1.0, rtol=1e-9)
vx, vy, w = sleigh.velocities(motion.z1)["plane"]
angle = sleigh.coordinates(motion.y1)["plane"][2]
forward = vx * jnp.cos(angle) + vy * jnp.sin(angle)
print(forward, w)
about = inertia + mass * behind**2  # of Chaplygin's sleigh
final = spin * jnp.sqrt(about / mass)
assert abs(forward - final * jnp.tanh(behind * mass * final / about)) < 1e-7
