import jax
import numpy as np

from jaxspark import fit, multibody


jax.config.update("jax_enable_x64", True)

slide = multibody.Mechanism(
    [multibody.Body("cart", 2.0, inertia=0.1)],
    [multibody.Prismatic("rail", "ground", "cart", axis=(1, 0, 0), damping=0.5)],
)
t = np.linspace(0.0, 4.0, 201)
q, force = np.sin(3 * t), -18 * np.sin(3 * t) + 1.5 * np.cos(3 * t)
rng = np.random.default_rng(0)
record = fit.record(
    t,
    {
        "q:rail": q + 0.001 * rng.normal(size=201),
        "tau:rail": force + 0.1 * rng.normal(size=201),
    },
)
found = multibody.identify(slide, record)
print(found.values, found.errors, found.sigma)
print(found.intervals(0.99))
print(fit.to_text(found.findings()))
assert abs(found.values["cart.m"] - 2.0) < 4 * found.errors["cart.m"]
assert abs(found.parameters["bodies"]["cart"]["mass"] - found.values["cart.m"]) < 1e-3
