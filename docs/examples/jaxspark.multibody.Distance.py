import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, length, speed = 0.8, 1.5, 2.0
bob = multibody.Mechanism(
    [multibody.Body("bob", mass, inertia=1e-3)],
    [multibody.Free("free", "ground", "bob")],
    constraints=[multibody.Distance("rod", "ground", "bob", length=length)],
    guess={"free": [0, 0, -length, 1, 0, 0, 0]},
)
y0, z0 = bob.state(velocities={"free": [speed, 0, 0, 0, 0, 0]})
tension = jaxspark.multipliers(bob.system, 0.0, y0, z0, bob.parameters).lam[0]
print(tension)
assert abs(tension - mass * (9.81 + speed**2 / length)) < 1e-10
motion = jaxspark.solve(bob.system, y0, z0, bob.parameters, t1=2.0)
assert abs(jnp.linalg.norm(bob.position("bob", motion.y1)) - length) < 1e-12
