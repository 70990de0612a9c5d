import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def torque(t, q, z, s, args):  # of a motor whose current is its state
    return args["constant"] * s


def derivative(t, q, z, s, args):
    return (args["voltage"] - args["resistance"] * s - args["constant"] * z) / args["inductance"]


damping = 0.01
motor = multibody.Mechanism(
    [multibody.Body("rotor", 1.0, inertia=1e-3)],
    [multibody.Revolute("a", "ground", "rotor", damping=damping)],
    forces=[multibody.Controller("winding", "a", torque, derivative, start=0.0)],
    parameters={"constant": 0.3, "voltage": 2.0, "resistance": 0.4, "inductance": 0.01},
)
y0, z0 = motor.state()
motion = jaxspark.solve(motor.system, y0, z0, motor.parameters, t1=3.0, rtol=1e-8)
(current,) = motor.coordinates(motion.y1)["winding"]
print(motion.z1, current)
speed = 2.0 * 0.3 / (0.3**2 + 0.4 * damping)  # in the end
assert abs(motion.z1[0] - speed) < 1e-6 and abs(current - damping * speed / 0.3) < 1e-6
