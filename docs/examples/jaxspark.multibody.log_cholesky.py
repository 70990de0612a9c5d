import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

rod = multibody.Body("rod", 2.0, com=(0.3, 0, 0), inertia=(0.01, 0.06, 0.06))
swing = multibody.Mechanism([rod], [multibody.Revolute("hinge", "ground", "rod", axis=(0, 1, 0))])
u = multibody.log_cholesky(**swing.parameters["bodies"]["rod"])
y, z = swing.state({"hinge": 0.4}, {"hinge": 1.0})


def kinetic_energy(u):
    args = swing.parameters | {"bodies": {"rod": multibody.from_log_cholesky(u)}}
    return swing.energy(y, z, args)[0]


slope = jax.grad(kinetic_energy)(u)
print(u, slope)
# The first number is half the logarithm of the mass, to which all energy is proportional.
assert jnp.isclose(slope[0], 2 * kinetic_energy(u), rtol=1e-12)
