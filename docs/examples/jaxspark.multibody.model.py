import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit, multibody


jax.config.update("jax_enable_x64", True)

pendulum = multibody.Mechanism(
    [multibody.Body("rod", 1.0, com=(0, 0, -0.5), inertia=0.08)],
    [multibody.Revolute("hinge", "ground", "rod", axis=(0, 1, 0), damping=0.1)],
)
times = jnp.linspace(0.0, 2.0, 101)
y0, z0 = pendulum.state({"hinge": 1.0})
motion = jaxspark.solve(pendulum.system, y0, z0, pendulum.parameters, t1=2.0, ts=times)
noise = 0.005 * np.random.default_rng(0).normal(size=101)
record = fit.record(times, {"q:hinge": motion.ys[:, 0] + 0.02 + noise})

unknown = {"joints/hinge/damping": fit.positive(0.3), "sensors/q:hinge/zero": None}
model = multibody.model(pendulum, record, unknown)
found = fit.estimate(model, record, progress=False)
print(found.values, found.errors)
assert abs(found.values["joints.hinge.damping"] - 0.1) < 4 * found.errors["joints.hinge.damping"]
