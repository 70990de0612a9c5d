import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

bar = multibody.Body("bar", 2.0, com=(0.5, 0, 0), inertia=0.2)
pendulum = multibody.Mechanism(
    [bar], [multibody.Revolute("pin", "ground", "bar", damping=0.1)], gravity=(0, -9.81, 0)
)
y0, z0 = pendulum.state({"pin": 0.0})
motion = jaxspark.solve(
    pendulum.system, y0, z0, pendulum.parameters, t1=2.0, ts=jnp.linspace(0.0, 2.0, 101)
)
found = pendulum.results(motion)
print(found.bodies["bar"].com[-1], found.reactions["pin"].force[-1])
energy = found.kinetic + found.potential
assert found.reactions["pin"].force.shape == (101, 3)
assert jnp.all(jnp.diff(energy) < 0), "the damper takes energy"
