import jax

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

arm = multibody.Mechanism(
    [multibody.Body("arm", 1.0, com=(0.2, 0, 0), inertia=0.01)],
    [multibody.Revolute("hinge", "ground", "arm", axis=(0, 1, 0))],
)
imu = multibody.Place("arm", (0.3, 0.0, 0.02), quaternion=(0.0, 1.0, 0.0, 0.0))  # upside down
observe = multibody.sensors(arm, ["acc:imu:z", "marker:imu:x"], {"imu": imu})
y, z = arm.state()
shown = observe(0.0, y, z, None, None, arm.parameters)
print(imu, shown)
assert abs(shown["marker:imu:x"] - 0.3) < 1e-15
