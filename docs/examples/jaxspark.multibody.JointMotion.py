import jax

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

bar = multibody.Body("bar", 2.0, com=(0.5, 0, 0), inertia=0.2)
pendulum = multibody.Mechanism(
    [bar], [multibody.Revolute("pin", "ground", "bar", damping=0.1)], gravity=(0, -9.81, 0)
)
found = pendulum.results((0.0, *pendulum.state({"pin": 0.0}, {"pin": 3.0})))
pin = found.joints["pin"]
print(pin.coordinates, pin.velocities, pin.accelerations)
about_pin = 0.2 + 2.0 * 0.5**2
assert abs(pin.accelerations[0] - (-2.0 * 9.81 * 0.5 - 0.1 * 3.0) / about_pin) < 1e-12
