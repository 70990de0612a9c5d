import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

bar = multibody.Body("bar", 2.0, com=(0.5, 0, 0), inertia=0.2)
pendulum = multibody.Mechanism(
    [bar], [multibody.Revolute("pin", "ground", "bar", damping=0.1)], gravity=(0, -9.81, 0)
)
state = (0.0, *pendulum.state({"pin": -jnp.pi / 2}, {"pin": 3.0}))
along = pendulum.results(state, frame="child").reactions["pin"]
print(along.force, along.torque)  # along the bar, across it, and out of the plane
assert abs(along.force[0] + 2.0 * (9.81 + 0.5 * 3.0**2)) < 1e-12
with_damper = pendulum.results(state).transmitted["pin"]
assert abs(with_damper.torque[2] + 0.1 * 3.0) < 1e-12
