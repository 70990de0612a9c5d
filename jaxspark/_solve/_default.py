"""The method that is taken where none is named."""

import jax
import numpy as np

from .._adaptive import DOP853
from .._custom_types import State
from .._rollout import KnownSteps
from .._system import AbstractConstrainedSystem, MultibodySystem, WithBlocks
from .._tableau import AbstractSparkMethod, Gauss, Lobatto
from ._options import beyond_explicit, Options


# Velocities of a system of blocks from which on elimination by blocks pays.
MANY = 64


def default_method(
    system: AbstractConstrainedSystem, z0: State, options: Options
) -> AbstractSparkMethod | DOP853:
    """`DOP853()` where it is possible, else `Gauss(3)`; for steps of known sizes `Gauss(2)`.

    An explicit method is impossible for constraint forces that are not ideal, and with options
    that it does not have; for large systems of blocks it does not pay. Friction that depends on
    holonomic reactions is for `Lobatto(3)`, which has velocities where constraints hold.
    """
    if isinstance(system, AbstractConstrainedSystem) and system.friction is not None:
        return Lobatto(3)
    if isinstance(options.steps, KnownSteps):
        return Gauss(2)
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(z0))
    of_blocks = isinstance(system, MultibodySystem | WithBlocks) and size > MANY
    return Gauss(3) if of_blocks or not ideal(system) or beyond_explicit(options) else DOP853()


def ideal(system: AbstractConstrainedSystem) -> bool:
    """Whether a system has no constraint forces but the default ones."""
    return system.r is None and system.reaction is None and system.friction is None
