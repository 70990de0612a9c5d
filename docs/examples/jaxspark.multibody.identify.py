import jax
import numpy as np

from jaxspark import fit, multibody


jax.config.update("jax_enable_x64", True)

pendulum = multibody.Mechanism(
    [multibody.Body("rod", 1.0, com=(0.02, 0, -0.5), inertia=0.08)],
    [multibody.Revolute("hinge", "ground", "rod", axis=(0, 1, 0), damping=0.1)],
)
t = np.linspace(0.0, 6.0, 301)
q, v, a = np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t)  # as a controller has it
Y = multibody.regressor(pendulum, q[:, None], v[:, None], a[:, None], joints=("damping",))
standard = np.array([1.0, 0.02, 0, -0.5, 0, 0, 0, 0.08 + 0.2504, 0, 0, 0.1])
torque = np.asarray(Y)[:, 0] @ standard
rng = np.random.default_rng(0)
noisy = {
    "q:hinge": q + 0.002 * rng.normal(size=301),
    "tau:hinge": torque + 0.02 * rng.normal(size=301),
}
found = multibody.identify(pendulum, fit.record(t, noisy))
print(found)
assert abs(found.values["rod.mz"] + 0.5) < 4 * found.errors["rod.mz"]
