"""The damped step of Gauss and Newton, in the directions that the data tell."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar, IntScalar
from ._covariance import BEYOND, COLLINEAR, RTOL
from ._evaluate import assembled, by_channel, continuity, Evaluation, triangle
from ._problem import Problem
from ._robust import Squares


# Columns of the Jacobian shorter than this share of the longest count as so long.
FAINT = 1e-5
# Of the usual weight of a start: the least of one that no sample depends on.
UNOBSERVED = 0.1
# Longest step of a parameter in its coordinate, for instance its logarithm.
LONGEST = 3.0
# In standard errors: how near the minimum is where the curvature by the noise counts, and the
# largest share of the whole curvature that it may take.
NEAR, CURVED = 3.0, 0.9
# Cosine between steps of which one tells how the valley of the other bends, and the largest bend
# as a share of the step.
ALONG, MOST_BENT = 0.8, 0.75


class Options(eqx.Module):
    """What is fixed in a fit.

    - `known`: which channels' noise is known.
    - `free`: which unknowns are changed.
    """

    known: Bool[Array, " channels"]
    free: Bool[Array, " p"]


class Memory(eqx.Module):
    """What earlier steps leave to the next.

    - `damping`, `scale`: of steps: `|A d + b|^2 + damping |scale d|^2`.
    - `step`: one that was made; `bend`: the gradient of half the sum of squares by the second
        derivative `r''` of the weighted residuals along it, `J^T r''`; zero if not known.
    """

    damping: FloatScalar
    scale: Float[Array, " p"]
    step: Float[Array, " p"]
    bend: Float[Array, " p"]


class Proposal(eqx.Module):
    """Where to evaluate the model next, and what that should bring.

    - `u`: the unknowns; `step`: from where they are.
    - `gain`: of the merit function.
    - `decrement`: how far the minimum of the linear model is, in standard errors, squared.
    - `rank`: how many directions the data tell.
    - `scale`: of the unknowns.
    - `multipliers`, `penalty`: of jumps between windows, in the merit function.
    """

    u: Float[Array, " p"]
    step: Float[Array, " p"]
    gain: FloatScalar
    decrement: FloatScalar
    rank: IntScalar
    scale: Float[Array, " p"]
    multipliers: Float[Array, " c"]
    penalty: FloatScalar


def propose(
    problem: Problem, u: Float[Array, " p"], found: Evaluation, options: Options, memory: Memory
) -> Proposal:
    """The next step from `u`, where the model is `found`.

    It minimises `|A d + b|^2 + damping |scale d|^2` in the directions that the data tell, whose
    singular values are not rounding errors: along the others nothing moves. Continuity of windows
    is a constraint.

    Source: J. J. More, *The Levenberg-Marquardt algorithm: implementation and theory* (1978), for
    the scaling; M. K. Transtrum & J. P. Sethna, *Improvements to the Levenberg-Marquardt algorithm
    for nonlinear least-squares minimization* (2012), for steps that follow a bent valley; H. G.
    Bock, *Recent advances in parameter identification techniques for O.D.E.* (1983), for windows,
    with an augmented Lagrangian as the merit function: J. Nocedal & S. Wright, *Numerical
    Optimization* (2006), (17.36). The l1 merit function takes what bends in continuity for a loss,
    and keeps steps short (Maratos's effect, section 15.5).
    """
    A, b = assembled(problem, found)
    A = jnp.where(options.free[None, :], A, 0)
    scale = jnp.maximum(memory.scale, jnp.sqrt(jnp.sum(A**2, 0)))
    # What has next to no effect, as a saturated unit of a network, must not go anywhere.
    floor = FAINT * jnp.max(scale)
    weights = jnp.where(scale > floor, scale, jnp.where(floor > 0, floor, 1))
    pulls = jnp.where(~options.known[:, None], by_channel(problem, found), 0)
    pulls = jnp.where(options.free[None, :], pulls, 0) * jnp.sqrt(2 / found.dof)[:, None]
    if not isinstance(problem.model.loss, Squares):
        # The noise of robust losses is not that of largest likelihood: its curvature is another.
        pulls = jnp.zeros_like(pulls)
    if problem.links:
        weights = _unobserved(problem, weights)
    # In coordinates in which the damping is a multiple of the unit matrix.
    sizes = jnp.diag(1 / weights)[: problem.shared.size]
    linear = A / weights[None, :], b, pulls / weights[None, :], sizes
    if problem.links:
        C, c = continuity(problem, found)
        C = jnp.where(options.free[None, :], C, 0) / weights[None, :]
        w, solved, multipliers, penalty = _joined(*linear, C, c, memory)
    else:
        solved = _damped(*linear, memory.damping)
        w, multipliers, penalty = solved.w, jnp.zeros(0, u.dtype), jnp.zeros((), u.dtype)
    share = _share(problem, w / weights)
    gain = _gain(linear[0] @ (share * w), b)
    if problem.links:
        move = share * (C @ w)
        gain = gain + penalty * _gain(move, c) - multipliers @ move
    else:
        w = w + share * _bent(w, solved, memory, weights)
    step = jnp.where(options.free, share * w / weights, 0)
    told = solved.decrement, solved.rank
    return Proposal(u + step, step, gain, *told, scale, multipliers, penalty)


class _Solved(NamedTuple):
    """A damped step, and the inverse of its matrix by eigenvectors; see [`Proposal`][]."""

    w: Float[Array, " p"]
    decrement: FloatScalar
    rank: IntScalar
    vectors: Float[Array, "p p"]
    inverse: Float[Array, " p"]


def _damped(
    A: Float[Array, "m p"],
    b: Float[Array, " m"],
    pulls: Float[Array, "c p"],
    sizes: Float[Array, "q p"],
    damping: FloatScalar,
) -> _Solved:
    """The minimum of `|A w + b|^2 - (pulls w)^2 + damping |w|^2` where the data tell it.

    Directions are not told if their singular values are rounding errors, or as small as errors of
    integration and `sizes w`, in coordinates of order one, many for one standard error.

    Minus the logarithm of the likelihood of residuals `r` of a channel whose noise is estimated is
    `dof / 2 log(r^T r)`, up to a constant (Seber & Wild, *Nonlinear Regression*, section 2.2.3).
    With `sigma^2 = r^T r / dof` its gradient is `g = J^T r / sigma^2`, and its second derivative,
    without that of `r`, `J^T J / sigma^2 - 2 g g^T / dof`: `pulls` are `g sqrt(2 / dof)`. What is
    subtracted would send the search elsewhere far from the minimum; near it, it is the difference
    between linear and quadratic convergence.
    """
    p = A.shape[1]
    R = triangle(jnp.concatenate([A, b[:, None]], 1))
    left, s, right = jnp.linalg.svd(R[:p, :p])
    largest, moved = jnp.max(s, initial=0), jnp.sqrt(jnp.sum((sizes @ right.T) ** 2, 0))
    told = (s > COLLINEAR * largest) | (moved <= BEYOND * s)
    told &= s > RTOL[str(s.dtype)] * largest
    c = jnp.where(told, left.T @ R[:p, p], 0)
    decrement = jnp.sum(c**2)
    root = jnp.sqrt(jnp.where(told, s**2 + damping, 1))
    G = jnp.where(told[None, :], pulls @ right.T / root[None, :], 0)
    square = G @ G.T
    counts = (decrement <= NEAR**2) & (jnp.max(jnp.linalg.eigvalsh(square), initial=0) <= CURVED)
    G = jnp.where(counts, G, 0)
    x = s * c / root
    x = x + G.T @ jnp.linalg.solve(jnp.eye(G.shape[0]) - G @ G.T, G @ x)
    rank = jnp.sum(told, dtype=jnp.int32)
    return _Solved(-right.T @ (x / root), decrement, rank, right, jnp.where(told, 1 / root**2, 0))


def _bent(
    w: Float[Array, " p"], solved: _Solved, memory: Memory, weights: Float[Array, " p"]
) -> Float[Array, " p"]:
    """What a step leaves out of a valley that bends as it did along the last one.

    Half the geodesic acceleration of Transtrum & Sethna (2012),
    `a = -(A^T A + damping)^-1 A^T r''`. They evaluate the second derivative `r''` along the step;
    here it is that of a step that was made, if this one goes on in its direction.
    """
    before = memory.step * weights
    square, size = jnp.sum(before**2), jnp.sum(w**2)
    ratio = jnp.sum(before * w) / jnp.where(square > 0, square, 1)
    slope = solved.vectors @ (memory.bend / weights)
    bent = -0.5 * ratio**2 * solved.vectors.T @ (solved.inverse * slope)
    same = ratio**2 * square > ALONG**2 * size
    return jnp.where((ratio > 0) & same & (jnp.sum(bent**2) <= MOST_BENT**2 * size), bent, 0)


def _joined(A, b, pulls, sizes, C, c, memory):
    """The damped step, with `C w + c = 0` as a constraint.

    **Returns:** the step, that in the null space of `C`, the multipliers, and a penalty of jumps
    that weighs them as the data weigh what moves them.
    """
    Q, R = jnp.linalg.qr(C.T, mode="complete")
    count = C.shape[0]
    range_, null = Q[:, :count], Q[:, count:]
    # C = R^T Q^T: the damped step towards continuity, in the range of C^T.
    lower = R[:count].T
    square = lower @ lower.T
    damping = memory.damping * jnp.trace(square) / count
    first = -range_ @ (lower.T @ jnp.linalg.solve(square + damping * jnp.eye(count), c))
    across = A @ range_
    solved = _damped(A @ null, A @ first + b, pulls @ null, sizes @ null, memory.damping)
    w = first + null @ solved.w
    multipliers = -jax.scipy.linalg.solve_triangular(R[:count], across.T @ (A @ w + b))
    return w, solved, multipliers, jnp.sum(across**2) / jnp.trace(square)


def _unobserved(problem: Problem, weights: Float[Array, " p"]) -> Float[Array, " p"]:
    """Weights of starts, those of windows without samples not far below those of the others.

    Otherwise a step towards continuity would move little else than these windows.
    """
    starts = problem.local()[:, -problem.num_start :]
    typical = jnp.sqrt(jnp.mean(weights[starts] ** 2, 0))
    return weights.at[starts].max(jnp.broadcast_to(UNOBSERVED * typical, starts.shape))


def _share(problem: Problem, step: Float[Array, " p"]) -> FloatScalar:
    """How much of a step is sensible for the parameters, whose coordinates are of order one."""
    longest = jnp.max(jnp.abs(step[: problem.shared.size]), initial=0)
    return jnp.minimum(1, LONGEST / jnp.maximum(longest, LONGEST))


def _gain(move: Float[Array, " m"], b: Float[Array, " m"]) -> FloatScalar:
    """How much less half the sum of squares becomes, without cancellation."""
    return -jnp.sum(move * (b + 0.5 * move))
