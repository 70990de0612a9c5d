"""Singular positions ahead of a motion that could not go on, in words."""

from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from .._custom_types import Args, State
from .._system import AbstractConstrainedSystem, FlatSystem, flatten
from ._residuals import constraint_jacobian


REFINEMENTS = 6


def describe_singular(
    system: AbstractConstrainedSystem, t: Any, y: State, z: State, args: Args, near: float
) -> str | None:
    """Where, on the way ahead or just passed, the constraints become dependent; `None` if nowhere.

    The smallest singular value of `C = [g_y v_z; k_z]`, with its sign, is a smooth function of
    time where branches of the motion cross: `sigma' = u^T C' w` with its singular vectors. Its
    zero is found by Newton's iteration along `y + (s - t) v`.

    Source: G. W. Stewart & J. Sun, *Matrix Perturbation Theory*, IV.2, for the derivative.

    **Arguments:**

    - `t`, `y`, `z`, `args`: the last good state, with known values.
    - `near`: how far away in time (s) a position may be to be the reason; a step or so.
    """
    flat, y, z = flatten(system, t, y, z, args)
    size = flat.nlam + flat.npsi
    if size == 0 or not np.isfinite(near):
        return None
    found = _zero(flat, jnp.asarray(t, y.dtype), y, z)
    if found is None or not abs(found[0]) <= near:
        return None
    shift, rank, direction = found
    null = np.round(direction, 4) + 0.0
    return (
        f"The constraints become dependent near t = {float(t) + shift:.6g}, a singular position: "
        f"there their Jacobian has rank {rank} of {size}, and the combination {null} "
        "of them determines nothing. Several ways may lead on from there, and accelerations need "
        "not be bounded; jaxspark.GGL(jaxspark.RadauIIA(3)) passes many such positions, on the "
        "way that the velocity chooses."
    )


def _zero(flat: FlatSystem, t: Any, y: Any, z: Any) -> tuple[float, int, np.ndarray] | None:
    """How far away `C` loses its rank, which it has there, and the rows that depend there."""
    v = flat.velocity(t, y, z)

    def along(s):
        return constraint_jacobian(flat, t + s, y + s * v, z)

    derivative = jax.jit(lambda s: jax.jvp(along, (s,), (jnp.ones_like(s),)))
    shift, nearest, rank, direction = 0.0, np.inf, -1, np.zeros(0)
    for _ in range(REFINEMENTS):
        C, slope = (np.asarray(x, float) for x in derivative(jnp.asarray(shift, y.dtype)))
        if not (np.all(np.isfinite(C)) and np.all(np.isfinite(slope))):
            return None
        left, values, right = np.linalg.svd(C, full_matrices=False)
        rates = np.einsum("rk,rq,kq->k", left, slope, right)
        with np.errstate(divide="ignore"):
            ways = np.where(values > 0, values / np.abs(rates), 0.0)
        which = int(np.argmin(ways))
        if rank < 0:
            rank = len(values) - int(np.count_nonzero(ways <= 3 * ways[which]))
            nearest, direction = float(ways[which]), left[:, which]
        if not 0 < ways[which] <= nearest:
            break
        shift -= float(values[which] / rates[which])
    return shift, rank, direction
