"""Back onto the constraints from nearby, for small systems."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import CHECKPOINT_NAME, stop_gradient
from .._jax_internals import attach_derivative
from .._kkt import saddle_by_rows, saddle_solve
from .._system import FlatSystem
from ._nearby import (
    iterate,
    moved,
    moved_onto,
    normal_directions,
)


Found = tuple[Float[Array, " m"], tuple[Float[Array, " ny"], Float[Array, " nz"]], BoolScalar]


def project_nearby_small(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], BoolScalar]:
    """See `project_nearby`: the same iteration."""
    operands = (system, t, y, z)
    frozen = stop_gradient(operands)
    first = _by_elimination(*frozen)

    def body(carry):
        _, _, y, z = carry
        # The loop overwrites the state: what it changes, the compiler cannot hoist out of it.
        again = _iterations(frozen[0], frozen[1], y, z)
        return jnp.asarray(True), again, jnp.zeros_like(y), jnp.zeros_like(z)

    start = (first[2], first, frozen[2], frozen[3])
    x, state, good = jax.lax.while_loop(lambda carry: ~carry[0], body, start)[1]
    # Named: the backward pass needs them, and must not iterate to get them.
    x, state, good = jax.tree.map(lambda v: checkpoint_name(v, CHECKPOINT_NAME), (x, state, good))
    y1, z1 = attach_derivative(_difference, state, (x, operands))
    return y1, z1, good


def _start(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> tuple[tuple[Any, ...], BoolScalar]:
    """What the iteration needs, by elimination, and whether that is accurate."""
    accurate = []

    def solve(M, C, r, b):
        x, good = saddle_by_rows(M, C, jnp.concatenate([r, b]))
        accurate.append(good)
        return x[: C.shape[1]], None

    directions = normal_directions(system, t, y, z, solve)
    return (system, t, y, z, *directions), accurate[0]


def _by_elimination(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> Found:
    operands, accurate = _start(system, t, y, z)
    x, good = iterate(operands)
    return x, moved(x, operands), good & accurate


def _iterations(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> Found:
    operands = (system, t, y, z, *normal_directions(system, t, y, z, saddle_solve))
    x, good = iterate(operands)
    return x, moved(x, operands), good


def _difference(state: Any, parameters: Any) -> Any:
    """Zero: the state less what it is as a differentiable function."""
    x, (system, t, y, z) = parameters
    directions = normal_directions(system, t, y, z, saddle_solve)
    now = moved_onto(x, (system, t, y, z, *directions))
    return jax.tree.map(jnp.subtract, state, now)
