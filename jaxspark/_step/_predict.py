"""Starting values for Newton's iteration: constant, or the last step's polynomial."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import RealScalarLike
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._mix import mix
from ._stages import Stages


# Beyond this degree extrapolation amplifies rounding errors more than it gains.
MAX_DEGREE = 6


def constant_guess(
    system: FlatSystem,
    tableau: SparkTableau,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
) -> Stages:
    """The state itself at every stage, and no multipliers."""
    s = tableau.stages
    return Stages(
        jnp.tile(y0[None, :], (s + 1, 1)),
        jnp.tile(z0[None, :], (s + 1, 1)),
        jnp.zeros((s + 1, system.nlam), y0.dtype),
        jnp.zeros((s, system.npsi), y0.dtype),
    )


def extrapolated_guess(
    system: FlatSystem,
    tableau: SparkTableau,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    stages: Stages,
    h: RealScalarLike,
    ratio: RealScalarLike = 1.0,
) -> Stages:
    """The stages of one step, extrapolated to the next.

    Polynomials are fitted through the start, the stages and the end of the step, and
    through the multipliers at their nodes; of at most degree 6, by least squares.

    **Arguments:**

    - `y0`, `z0`: the state where the last step started.
    - `stages`: its converged stages.
    - `h`: its step size.
    - `ratio`: the next step size over the last. A Python number is cheapest.

    **Returns:** starting values for the next step.
    """
    c, s = tableau.c, tableau.stages
    ends = np.append(c, 1.0)
    # A last stage at the end of the step repeats it, less accurately.
    inner = s - 1 if np.isclose(c[-1], 1.0) else s
    nodes = np.concatenate([[0.0], c[:inner], [1.0]])

    def extrapolate(nodes: np.ndarray, points: np.ndarray, values: Array) -> Array:
        degree = min(len(nodes) - 1, MAX_DEGREE)
        fit = np.linalg.pinv(_legendre(np, nodes, degree))
        if isinstance(ratio, (int, float)):
            return mix(_legendre(np, 1 + ratio * points, degree) @ fit, values)
        at = 1 + ratio * jnp.asarray(points, values.dtype)
        return _legendre(jnp, at, degree) @ (jnp.asarray(fit, values.dtype) @ values)

    def states(start, values):
        known = jnp.concatenate([start[None, :], values[:inner], values[s:]])
        return extrapolate(nodes, ends, known)

    Z = states(z0, stages.z)
    if system.v is None:
        Y = stages.y[-1][None, :] + h * ratio * mix(tableau.alpha, Z[:s])
    else:
        Y = states(y0, stages.y)
    lam = extrapolate(tableau.c_tilde, tableau.c_tilde, stages.lam)
    psi = extrapolate(c, c, stages.psi)
    return Stages(Y, Z, lam, psi)


def _legendre(xp: Any, points: Any, degree: int) -> Any:
    """Legendre polynomials up to `degree` at `2 points - 1`, one column each.

    `xp` is NumPy or `jax.numpy`.
    """
    x = 2 * points - 1
    columns = [xp.ones_like(x), x]
    for n in range(1, degree):
        columns.append(((2 * n + 1) * x * columns[n] - n * columns[n - 1]) / (n + 1))
    return xp.stack(columns[: degree + 1], 1)
