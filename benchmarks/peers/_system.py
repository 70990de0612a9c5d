"""A mechanism as a system of jaxspark."""

import jax

import jaxspark

from ._arrays import Arrays
from ._mechanism import Mechanism


def constrained_system(mechanism: Mechanism) -> jaxspark.ConstrainedSystem:
    """The system with `p = M(q) z`, whose force therefore includes `(dM/dt) z`.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*, equations (1)-(3).
    """
    arrays = Arrays(mechanism)

    def velocity(t, y, z, args):
        del t, args
        return arrays.kin(y, z)

    def momentum(t, y, z, args):
        del t, args
        return arrays.momentum(y, z)

    def force(t, y, z, args):
        applied = arrays.force(t, y, z)
        if mechanism.unit_mass:
            return applied
        along = (arrays.kin(y, z),)
        return applied + jax.jvp(lambda y: arrays.momentum(y, z), (y,), along)[1]

    def holonomic(t, y, args):
        del args
        return arrays.holonomic(t, y)

    def nonholonomic(t, y, z, args):
        del t, args
        return arrays.nonholonomic(y, z)

    return jaxspark.ConstrainedSystem(
        f=force,
        v=None if mechanism.plain_kin else velocity,
        p=None if mechanism.unit_mass else momentum,
        g=holonomic if arrays.has_g else None,
        k=nonholonomic if arrays.has_k else None,
    )
