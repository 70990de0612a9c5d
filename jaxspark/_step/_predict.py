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
        jnp.zeros((tableau.constraint_nodes, system.nlam), y0.dtype),
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

    Polynomials are fitted through the start, the inner stages and the end of the step, and
    through the multipliers at their nodes; of at most degree 6, by least squares. By how much
    a stage differs from them in this step, it is expected to in the next: those of Lobatto
    type do, being of low order.

    **Arguments:**

    - `y0`, `z0`: the state where the last step started.
    - `stages`: its converged stages.
    - `h`: its step size.
    - `ratio`: the next step size over the last. A Python number is cheapest.

    **Returns:** starting values for the next step.
    """
    c, s = tableau.c, tableau.stages
    inner = [i for i in range(s) if 0 < c[i] < 1]
    nodes, points = np.concatenate([[0.0], c[inner], [1.0]]), np.append(c, 1.0)

    def states(start, values):
        """From the start of the step and its stages to the stages of the next."""
        known = np.zeros((len(nodes), s + 2))
        known[range(len(nodes)), [0, *(i + 1 for i in inner), s + 1]] = 1.0
        own = np.eye(s + 1, s + 2, 1)
        values = jnp.concatenate([start[None, :], values])
        return _continued(nodes, points, known, own, values, ratio)

    def forces(nodes, values):
        identity = np.eye(len(nodes))
        return _continued(nodes, nodes, identity, identity, values, ratio)

    Z = states(z0, stages.z)
    if system.v is None:
        Y = stages.y[-1][None, :] + h * ratio * mix(tableau.alpha, Z[:s])
    else:
        Y = states(y0, stages.y)
    lam = forces(tableau.c_tilde, stages.lam)
    return Stages(Y, Z, lam, forces(c, stages.psi))


def _continued(
    nodes: np.ndarray,
    points: np.ndarray,
    known: np.ndarray,
    own: np.ndarray,
    values: Float[Array, "n d"],
    ratio: RealScalarLike,
) -> Float[Array, "m d"]:
    """Values at `points` of this step, continued to the same points of the next.

    `known @ values` are those at the nodes of the polynomial, `own @ values` those at the
    points, whose differences from the polynomial are added.
    """
    degree = min(len(nodes) - 1, MAX_DEGREE)
    fit = np.linalg.pinv(_legendre(np, nodes, degree)) @ known
    apart = own - _legendre(np, points, degree) @ fit
    apart = np.where(np.abs(apart) <= 1e-12, 0.0, apart)
    if isinstance(ratio, (int, float)):
        return mix(_legendre(np, 1 + ratio * points, degree) @ fit + apart, values)
    at = 1 + ratio * jnp.asarray(points, values.dtype)
    return _legendre(jnp, at, degree) @ mix(fit, values) + mix(apart, values)


def _legendre(xp: Any, points: Any, degree: int) -> Any:
    """Legendre polynomials up to `degree` at `2 points - 1`, one column each.

    `xp` is NumPy or `jax.numpy`.
    """
    x = 2 * points - 1
    columns = [xp.ones_like(x), x]
    for n in range(1, degree):
        columns.append(((2 * n + 1) * x * columns[n] - n * columns[n - 1]) / (n + 1))
    return xp.stack(columns[: degree + 1], 1)
