import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, radius, slope = 2.0, 0.25, 0.3
ball = multibody.Mechanism(
    [multibody.Body("ball", mass, inertia=0.4 * mass * radius**2)],
    [multibody.Free("free", "ground", "ball")],
    constraints=[multibody.Rolling("rolls", "ground", "ball", multibody.Sphere(radius))],
    gravity=9.81 * jnp.array([jnp.sin(slope), 0.0, -jnp.cos(slope)]),
    guess={"free": [0, 0, radius, 1, 0, 0, 0]},
)
y0, z0 = ball.state()
motion = jaxspark.solve(ball.system, y0, z0, ball.parameters, t1=1.0)
x = ball.position("ball", motion.y1)
forces = jaxspark.multipliers(ball.system, 1.0, motion.y1, motion.z1, ball.parameters)
print(x, forces.lam, forces.psi)
assert abs(x[0] - 5 / 7 * 9.81 * jnp.sin(slope) / 2) < 1e-9
assert abs(forces.lam[0] + mass * 9.81 * jnp.cos(slope)) < 1e-9  # the normal force
