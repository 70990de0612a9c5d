"""What connects the bodies of a mechanism: joints and force elements."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import numpy as np

from .._custom_types import Function
from ._constrained import require_callable


GROUND = -1


def as_pairs(name: str, pairs: Any) -> tuple[tuple[int, int], ...]:
    """Pairs of body numbers, checked; -1 stands for the ground.

    **Raises:** `ValueError` if they are no pairs of different integers from -1 upward.
    """
    array = np.asarray(pairs)
    if array.size == 0:
        array = np.zeros((0, 2), int)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"The pairs of {name} must be integers of shape (count, 2), with -1 for the ground; "
            f"their shape is {array.shape}, their dtype {array.dtype}."
        )
    for number, (a, b) in enumerate(array.tolist()):
        if a == b or min(a, b) < GROUND:
            raise ValueError(
                f"Pair number {number} of {name} is ({a}, {b}): it must be two different bodies, "
                "or one and -1, the ground."
            )
    return tuple((int(a), int(b)) for a, b in array)


class _Connection(eqx.Module):
    function: Function
    pairs: tuple[tuple[int, int], ...] = eqx.field(static=True)
    own: Callable[[Any], Any] | None
    name: str = eqx.field(static=True)

    def __init__(
        self,
        function: Function,
        pairs: Sequence[tuple[int, int]] | np.ndarray,
        own: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ):
        kind = type(self).__name__
        require_callable(f"the function of {kind}", function, optional=False)
        require_callable(f"own of {kind}", own)
        self.function, self.own = function, own
        self.name = kind if name is None else name
        self.pairs = as_pairs(self.name, pairs)

    @property
    def index(self) -> np.ndarray:
        """The two bodies of each, shape `(count, 2)`."""
        return np.asarray(self.pairs, np.int64).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self.pairs)


class Joint(_Connection):
    r"""Equal joints of a [`jaxspark.MultibodySystem`][]: one function, many pairs of bodies.

    **Arguments:**

    - `function`: `g(t, y_a, y_b, own, args)`, the holonomic constraints of one joint between
        bodies `a` and `b`, a vector that vanishes where the joint is closed. `y_a` and `y_b` are
        the coordinates of the two bodies (or of the ground).
    - `pairs`: the numbers of `a` and `b` for each joint, shape `(count, 2)`; -1 is the ground.
    - `own`: `own(args)`, a PyTree whose arrays have one entry for each joint along their
        first axis: its parameters. Without it the function gets the number of the joint.
    - `name`: for errors and reports. Default: the name of the class.

    **Raises:** `TypeError` if `function` or `own` is not callable; `ValueError` unless `pairs` are
    pairs of different integers, from -1 upward.
    """


class RollingJoint(_Connection):
    r"""Equal nonholonomic constraints of a [`jaxspark.MultibodySystem`][].

    For instance rolling, knife edges or prescribed velocities.

    **Arguments:** as for [`jaxspark.Joint`][], but

    - `function`: `k(t, y_a, z_a, y_b, z_b, own, args)`, the nonholonomic constraints of one joint,
        a vector. `z_a` and `z_b` are the velocities of the two bodies; those of the ground are
        zero.

    **Raises:** as [`jaxspark.Joint`][].
    """


class ForceElement(_Connection):
    r"""Equal springs, dampers or motors between pairs of bodies.

    **Arguments:** as for [`jaxspark.Joint`][], but

    - `function`: `force(t, y_a, z_a, y_b, z_b, own, args)`, the pair of the generalised forces on
        `a` and on `b`, each structured as the velocities of a body (N, N m).

    **Raises:** as [`jaxspark.Joint`][].
    """
