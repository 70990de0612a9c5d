import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

bar = multibody.Body("bar", 2.0, com=(0.5, 0, 0), inertia=0.2)
pendulum = multibody.Mechanism(
    [bar], [multibody.Revolute("pin", "ground", "bar", damping=0.1)], gravity=(0, -9.81, 0)
)
found = pendulum.results((0.0, *pendulum.state({"pin": -jnp.pi / 2}, {"pin": 3.0})))
bar = found.bodies["bar"]
print(bar.position, bar.velocity, bar.com_velocity)
print(multibody.angles(bar.rotation, "zyx"), bar.angular_velocity)
assert jnp.allclose(bar.com, jnp.array([0.0, -0.5, 0.0]))
turning = -0.1 * 3.0 / (0.2 + 2.0 * 0.5**2)  # by the damper; the bar hangs
assert jnp.allclose(bar.com_acceleration, jnp.array([0.5 * turning, 0.5 * 3.0**2, 0.0]))
