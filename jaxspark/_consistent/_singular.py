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
# A singular value has vanished if it is this part of what it is at the last good state.
FALLEN = 0.1
# What rounding errors make of zero.
ZERO = 1e-10
# Of more velocities, a search with dense matrices would take longer than the motion.
LARGEST = 256


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
    if size == 0 or flat.nz > LARGEST or not np.isfinite(near):
        return None
    found = _zero(flat, jnp.asarray(t, y.dtype), y, z, near)
    if found is None:
        return None
    shift, rank, direction = found
    null, cure = np.round(direction, 4) + 0.0, ""
    if not flat.redundant:
        cure = "; jaxspark.GGL(jaxspark.RadauIIA(3)) passes many such positions, on the way that "
        cure += "the velocity chooses"
    return (
        f"The constraints become dependent near t = {float(t) + shift:.6g}, a singular position: "
        f"there their Jacobian has rank {rank} of {size}, and the combination {null} "
        "of them determines nothing. Several ways may lead on from there, and accelerations need "
        f"not be bounded{cure}."
    )


def _zero(
    flat: FlatSystem, t: Any, y: Any, z: Any, near: float
) -> tuple[float, int, np.ndarray] | None:
    """How far away `C` loses its rank, which it has there, and the rows that depend there.

    `None` unless the smallest singular value falls, not farther than `near`, to a small part of
    what it is at the state, or is zero there already.
    """
    v = flat.velocity(t, y, z)

    def along(s):
        return constraint_jacobian(flat, t + s, y + s * v, z)

    derivative = jax.jit(lambda s: jax.jvp(along, (s,), (jnp.ones_like(s),)))
    shift, start, singular = 0.0, np.inf, False
    least, best = np.inf, (0.0, 0, np.zeros(0))
    for trial in range(REFINEMENTS):
        C, slope = (np.asarray(x, float) for x in derivative(jnp.asarray(shift, y.dtype)))
        if not (np.all(np.isfinite(C)) and np.all(np.isfinite(slope))):
            break
        left, values, right = np.linalg.svd(C, full_matrices=False)
        rates = np.einsum("rk,rq,kq->k", left, slope, right)
        ways = np.full_like(values, np.inf)
        np.divide(values, np.abs(rates), out=ways, where=rates != 0)
        ways[values == 0] = 0.0
        which = int(np.argmin(ways)) if trial == 0 else len(values) - 1
        if trial == 0:
            start = float(values[which])
            singular = start == 0 or bool(start < ZERO * values[0])
            if not (singular or ways[which] <= near):
                return None
        if values[which] < least and abs(shift) <= near:
            together = int(np.count_nonzero(values <= 0.1 * start + values[which]))
            least = float(values[which])
            best = shift, len(values) - together, left[:, which]
        if start == 0 or values[which] <= ZERO * start or rates[which] == 0:
            break
        shift -= float(values[which] / rates[which])
    return best if singular or least <= FALLEN * start else None
