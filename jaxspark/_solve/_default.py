"""The method that is taken where none is named."""

from typing import NamedTuple

from .._explicit import DOP853, ExplicitMethod
from .._rollout import KnownSteps
from .._stiff import GGL
from .._system import AbstractConstrainedSystem
from .._tableau import AbstractSparkMethod, Gauss, Lobatto
from ._options import beyond_explicit, Options


class Choice(NamedTuple):
    """A method, and why."""

    method: AbstractSparkMethod | GGL | ExplicitMethod
    why: str


def default_method(system: AbstractConstrainedSystem, options: Options) -> Choice:
    """`DOP853()` where it is possible, else `Gauss(3)`; for steps of known sizes `Gauss(2)`.

    An explicit method is impossible for constraint forces that are not ideal, and with options
    that it does not have. Friction that depends on holonomic reactions is for `Lobatto(3)`, which
    has velocities where constraints hold.
    """
    if system.friction is not None:
        return Choice(Lobatto(3), "for friction by holonomic reactions")
    if isinstance(options.steps, KnownSteps):
        return Choice(Gauss(2), "for steps of known sizes")
    if asked := beyond_explicit(options):
        return Choice(Gauss(3), f"explicit methods are not for {', '.join(asked)}")
    if not ideal(system):
        return Choice(Gauss(3), "explicit methods are for ideal constraint forces")
    return Choice(DOP853(), "the default; nothing here asks for another")


def ideal(system: AbstractConstrainedSystem) -> bool:
    """Whether a system has no constraint forces but the default ones."""
    return system.r is None and system.reaction is None and system.friction is None
