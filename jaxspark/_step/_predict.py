"""Starting values for Newton's iteration: constant, or the last step's polynomial."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, RealScalarLike
from .._jax_internals import mix
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._legendre import legendre, polynomial_nodes
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
    end = stages.y[-1]
    return continued_guess(system, tableau, y0, z0, stages, end, h, ratio, beyond=True)


def continued_guess(
    system: FlatSystem,
    tableau: SparkTableau,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    stages: Stages,
    start: Float[Array, " ny"],
    h: RealScalarLike,
    ratio: RealScalarLike,
    beyond: bool | BoolScalar,
) -> Stages:
    """The polynomials of one step at the stages of another, which begins at its end or start.

    **Arguments:** as for `extrapolated_guess`, and

    - `start`: the coordinates where the other step begins.
    - `beyond`: whether it begins at the end.
    """
    c, s = tableau.c, tableau.stages
    nodes, known = polynomial_nodes(tableau)
    points = np.append(c, 1.0)

    def states(first, values):
        """From the start of the step and its stages to the stages of the other."""
        own = np.eye(s + 1, s + 2, 1)
        values = jnp.concatenate([first[None, :], values])
        return _continued(nodes, points, known, own, values, ratio, beyond)

    def forces(nodes, values):
        identity = np.eye(len(nodes))
        return _continued(nodes, nodes, identity, identity, values, ratio, beyond)

    Z = states(z0, stages.z)
    if system.v is None:
        Y = start[None, :] + h * ratio * mix(tableau.alpha, Z[:s])
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
    beyond: bool | BoolScalar,
) -> Float[Array, "m d"]:
    """Values at `points` of this step, continued to the same points of another.

    `known @ values` are those at the nodes of the polynomial, `own @ values` those at the
    points, whose differences from the polynomial are added for a step `beyond` this one.
    """
    degree = min(len(nodes) - 1, MAX_DEGREE)
    fit = np.linalg.pinv(legendre(np, nodes, degree)) @ known
    apart = own - legendre(np, points, degree) @ fit
    apart = np.where(np.abs(apart) > 1e-12, apart, 0.0)
    if not isinstance(beyond, bool):
        at = jnp.where(beyond, 1.0, 0.0) + ratio * jnp.asarray(points, values.dtype)
        further = jnp.where(beyond, mix(apart, values), 0)
        return legendre(jnp, at, degree) @ mix(fit, values) + further
    apart = apart if beyond else np.zeros_like(apart)
    offset = 1.0 if beyond else 0.0
    if isinstance(ratio, (int, float)):
        return mix(legendre(np, offset + ratio * points, degree) @ fit + apart, values)
    at = offset + ratio * jnp.asarray(points, values.dtype)
    return legendre(jnp, at, degree) @ mix(fit, values) + mix(apart, values)
