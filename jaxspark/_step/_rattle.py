"""RATTLE by its multipliers alone: parts of a step, for systems whose structure allows it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import (
    CHECKPOINT_NAME,
    differentiable_root,
    iterate,
    Iteration,
    newton_result,
    stop_gradient,
)
from .._jax_internals import attach_derivative
from .._kkt import singular_threshold, solve_definite
from .._results import RESULTS
from .._system import FlatSystem
from ._newton import NewtonOptions


class Separable(eqx.Module):
    """Where one part of a step starts.

    - `y`, `z`: the state.
    - `a`: `M^{-1} f`, what the forces would do to free bodies.
    - `B`: `M^{-1} g_y^T`.
    - `pivot`: the smallest one so far, of `M` and of `g_y B`, by the diagonal entry.
    - `lam`: the multipliers of the part before.
    """

    y: Float[Array, " n"]
    z: Float[Array, " n"]
    a: Float[Array, " n"]
    B: Float[Array, "n nlam"]
    pivot: FloatScalar
    lam: Float[Array, " nlam"]


class RattleInfo(eqx.Module):
    """What is known about a step: all multipliers, how many iterations, how it ended."""

    lam: Float[Array, "parts nlam"]
    iterations: Int[Array, ""]
    result: RESULTS


def rattle_steps(
    system: FlatSystem,
    fractions: tuple[float, ...],
    t0: FloatScalar,
    y0: Float[Array, " n"],
    z0: Float[Array, " n"],
    h: FloatScalar,
    lam: Float[Array, " nlam"],
    options: NewtonOptions,
) -> tuple[Float[Array, " n"], Float[Array, " n"], RattleInfo]:
    """Steps of RATTLE one after the other, of sizes `fractions * h`.

    With `M` the constant mass matrix and forces `f(t, y)`, each of size `h` is

        w = z0 + h/2 M^{-1} (f(t0, y0) - g_y(y0)^T lam_0),   y1 = y0 + h w,   g(t1, y1) = 0,
        z1 = w + h/2 M^{-1} (f(t1, y1) - g_y(y1)^T lam_1),   g_t + g_y z1 = 0,

    which is the Lobatto IIIA-IIIB method with two stages. Unknown is `lam_0`, found by Newton's
    method; `lam_1` follows from a linear system.

    **Arguments:**

    - `system`: with `v = z`, a constant mass matrix, forces that do not depend on `z`, and
        ideal holonomic constraints only.
    - `t0`, `y0`, `z0`: a consistent state; `h`: the size of the whole step.
    - `lam`: starting values of the multipliers.

    **Returns:** `y1`, `z1`, and a `RattleInfo`; on failure the state unchanged.

    Source: H. Andersen, *RATTLE: a "velocity" version of the SHAKE algorithm*, J. Comput. Phys.
    52 (1983); E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical Integration*, 2nd edition,
    section VII.1.4; L. O. Jay, *Symplectic partitioned Runge-Kutta methods for constrained
    Hamiltonian systems*, SIAM J. Numer. Anal. 33 (1996).
    """
    idle = h == 0
    # An idle lane computes with h = 1 and throws the result away: no division by zero.
    h = jnp.where(idle, jnp.ones_like(h), h)
    operands = (system, t0, y0, z0, h)

    y1, z1, info = _found(fractions, stop_gradient(operands), stop_gradient(lam), options)
    # Named: the backward pass needs them, and must not iterate to get them.
    named = (y1, z1, info.lam, info.result == RESULTS.successful)
    y1, z1, all_lam, good = jax.tree.map(lambda x: checkpoint_name(x, CHECKPOINT_NAME), named)

    def difference(state: Any, parameters: Any) -> Any:
        lam, operands = parameters
        return jax.tree.map(jnp.subtract, state, _through(fractions, operands, lam))

    moved = good & ~idle
    y1, z1 = attach_derivative(difference, (y1, z1), (all_lam, operands))
    return jnp.where(moved, y1, y0), jnp.where(moved, z1, z0), info


def _places(fractions: tuple[float, ...], dtype: Any) -> Float[Array, "parts 2"]:
    """The fractions, and where in the step each begins."""
    ends = np.cumsum(fractions)
    return jnp.asarray(np.stack([fractions, ends - fractions], 1), dtype)


def _at(system: FlatSystem, t: FloatScalar, y: Array) -> tuple[Array, Array, Array, Array]:
    """`g_y`, `M^{-1} g_y^T` and `M^{-1} f`, and the smallest pivot of `M`."""
    none, pivot = jnp.zeros_like(y), jnp.ones((), y.dtype)
    G = jax.jacfwd(system.holonomic, 1)(t, y)
    pushes = jnp.concatenate([G.T, system.f(t, y, none)[:, None]], 1)
    M = system.mass(t, y, none)
    if M is not None:
        pushes, pivots = solve_definite(M, pushes)
        pivot = jnp.min(jnp.abs(pivots))
    return G, pushes[:, :-1], pushes[:, -1], pivot


def _start(system: FlatSystem, t: FloatScalar, y: Array, z: Array, lam: Array) -> Separable:
    G, B, a, pivot = _at(system, t, y)
    pivots = solve_definite(G @ B, jnp.zeros((system.nlam, 1), y.dtype))[1]
    return Separable(y, z, a, B, jnp.minimum(pivot, jnp.min(jnp.abs(pivots))), lam)


def _without_constraints(
    at: Separable, place: Float[Array, " 2"], t0: FloatScalar, h: FloatScalar
) -> tuple[FloatScalar, FloatScalar, Array, Array]:
    """The size of a part and its final time; `w` and `y1` if no constraint pushed."""
    size = place[0] * h
    w = at.z + size / 2 * at.a
    return size, t0 + place[1] * h + size, w, at.y + size * w


def _end(
    system: FlatSystem, t: FloatScalar, h: FloatScalar, w: Array, y: Array, lam: Array
) -> Separable:
    """The second half of a part: the velocity that the constraints admit."""
    G, B, a, pivot = _at(system, t, y)
    free = w + h / 2 * a
    rate = system.holonomic_rate(t, y, free)
    push, pivots = solve_definite(G @ B, rate[:, None])
    pivot = jnp.minimum(pivot, jnp.min(jnp.abs(pivots)))
    return Separable(y, free - B @ push[:, 0], a, B, pivot, lam)


def _found(
    fractions: tuple[float, ...],
    operands: tuple[Any, ...],
    lam: Float[Array, " nlam"],
    options: NewtonOptions,
) -> tuple[Float[Array, " n"], Float[Array, " n"], RattleInfo]:
    """The end of the step, found by iteration."""
    system, t0, y0, z0, h = operands
    dtype = y0.dtype
    rtol, atol = options.tolerances(dtype)
    none, no = jnp.zeros((), jnp.int32), jnp.asarray(False)

    def part(carry, place):
        at, verdict = carry
        size, t1, w, free = _without_constraints(at, place, t0, h)
        scale = jnp.max(jnp.abs(at.y))
        # Newton's method converges quadratically: after a change as small as this, what is wrong
        # is rounding error.
        enough = jnp.sqrt((atol + rtol * scale) * (atol + scale)) / 30

        def update(i):
            y = free - at.B @ i.x
            G = jax.jacfwd(system.holonomic, 1)(t1, y)
            change = solve_definite(G @ at.B, system.holonomic(t1, y)[:, None])[0][:, 0]
            return i.x + change, jnp.max(jnp.abs(at.B @ change))

        def ended(i):
            # Of a state that is not finite nothing is enough.
            return i.size <= enough, ~((i.size > enough) & (i.size < jnp.inf))

        begin = size * size / 2 * at.lam
        found = iterate(update, ended, begin, size, options.max_iterations)
        mu, verdict = found.x, verdict.after(found, options.max_iterations)
        lam = mu * (2 / (size * size))
        after = _end(system, t1, size, w - at.B @ mu / size, free - at.B @ mu, lam)
        after = eqx.tree_at(lambda x: x.pivot, after, jnp.minimum(at.pivot, after.pivot))
        return (after, verdict), lam

    begin = (_start(system, t0, y0, z0, lam), _Verdict(none, jnp.asarray(True), no, no))
    (end, verdict), all_lam = jax.lax.scan(part, begin, _places(fractions, dtype))
    finite = jnp.all(jnp.isfinite(end.y)) & jnp.all(jnp.isfinite(end.z))
    result = verdict.result(finite, end.pivot > singular_threshold(system.nz, dtype))
    good = result == RESULTS.successful
    y1, z1 = jnp.where(good, end.y, y0), jnp.where(good, end.z, z0)
    return y1, z1, RattleInfo(jnp.where(good, all_lam, 0), verdict.iterations, result)


class _Verdict(eqx.Module):
    """On all iterations: how many, whether all converged, and why one did not."""

    iterations: Int[Array, ""]
    converged: BoolScalar
    nonfinite: BoolScalar
    limit: BoolScalar

    def after(self, end: Iteration[Any], most: int) -> "_Verdict":
        """With one more."""
        return _Verdict(
            self.iterations + end.count,
            self.converged & end.converged,
            self.nonfinite | (self.converged & end.nonfinite_at_once),
            self.limit | (self.converged & ~end.converged & (end.count >= most)),
        )

    def result(self, finite: BoolScalar, regular: BoolScalar) -> RESULTS:
        """In a word."""
        return newton_result(self.converged & finite, self.nonfinite, self.limit, regular)


def _through(
    fractions: tuple[float, ...], operands: tuple[Any, ...], lam: Float[Array, "parts nlam"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The same with the multipliers known, differentiable by the implicit function theorem."""
    system, t0, y0, z0, h = operands

    def part(at, place_and_lam):
        place, lam = place_and_lam
        size, t1, w, free = _without_constraints(at, place, t0, h)
        parameters = (system, t1, free, at.B)
        mu = jax.lax.stop_gradient(lam * (size * size / 2))
        mu = differentiable_root(_residual, parameters, mu, _linear_solve)
        return _end(system, t1, size, w - at.B @ mu / size, free - at.B @ mu, lam), None

    places = _places(fractions, y0.dtype)
    begin = _start(system, t0, y0, z0, jax.lax.stop_gradient(lam[0]))
    end, _ = jax.lax.scan(part, begin, (places, lam))
    return end.y, end.z


def _residual(mu: Float[Array, " nlam"], parameters: tuple[Any, ...]) -> Float[Array, " nlam"]:
    """`-g` at the end of a part, of which `mu = h^2/2 lam` is the impulse."""
    system, t1, free, B = parameters
    return -system.holonomic(t1, free - B @ mu)


def _linear_solve(matvec: Any, rhs: Array, at: Array, parameters: tuple[Any, ...]) -> Array:
    """Exact; how the solution depends on the matrix, `matvec` says."""
    system, t1, free, B = stop_gradient(parameters)
    matrix = jax.jacfwd(system.holonomic, 1)(t1, free - B @ stop_gradient(at)) @ B

    def solve(matrix: Array, rhs: Array) -> Array:
        return solve_definite(matrix, rhs[:, None])[0][:, 0]

    return jax.lax.custom_linear_solve(
        matvec, rhs, lambda _, b: solve(matrix, b), lambda _, b: solve(matrix.T, b)
    )
