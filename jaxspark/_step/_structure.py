"""What of a system's structure a step may make use of."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._jax_internals import depends_on
from .._system import FlatSystem
from .._tableau import SparkTableau
from .._tableau._lobatto import lobatto_spark


# The largest number of velocities and multipliers for which it pays.
LARGEST = 16
COST = "Steps of RATTLE solve for all unknowns, not for multipliers alone."


def solves_for_multipliers(
    system: FlatSystem,
    tableau: SparkTableau,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
) -> bool:
    """Whether steps of RATTLE have no other unknowns than the multipliers.

    That is so if `v = z`, the mass matrix is constant, forces do not depend on velocities, and
    all constraints are holonomic and ideal. Found by looking at the functions, entry by entry.
    """
    if tableau is not lobatto_spark(2, "A", "B", "B"):
        return False
    plain = system.v is None and system.g is not None and system.k is None and system.ideal
    if not plain or system.structure is not None or system.nz + system.nlam > LARGEST:
        return False
    if depends_on(lambda t, y, z: system.f(t, y, z), t, y, z, which=(2,), cost=COST):
        return False
    momentum = system.p
    if momentum is None:
        return True

    def mass(t, y, z):
        return jax.jacfwd(momentum, 2)(t, y, z)

    def without_velocity(t, y):
        return momentum(t, y, jnp.zeros_like(z))

    constant = not depends_on(mass, t, y, z, which=(0, 1, 2), cost=COST)
    return constant and not depends_on(without_velocity, t, y, which=(0, 1), cost=COST)
