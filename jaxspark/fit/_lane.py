"""The fit of one record as a program, for batches of records that have nothing in common."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar, IntScalar
from ._compile import compiled
from ._covariance import BEYOND, COLLINEAR, RTOL
from ._evaluate import assembled
from ._levenberg import run, State
from ._problem import Problem
from ._proposal import Options
from ._robust import Squares
from ._spread import each


# Of the square of what a parameter moves: less than this along directions not told is rounding.
UNSEEN = 1e-10


class Lanes(NamedTuple):
    """The columns of a [`jaxspark.fit.Table`][] but for the names."""

    codes: Any
    iterations: Any
    values: Any
    errors: Any
    rank: Any
    rms: Any

    @staticmethod
    def nothing(count: int, parameters: int, channels: int) -> "Lanes":
        """Of records that were not fitted."""
        codes, zeros = np.full(count, -1, np.int32), np.zeros(count, np.int32)
        values, rms = np.full((count, parameters), np.nan), np.full((count, channels), np.nan)
        return Lanes(codes, zeros, values, values.copy(), zeros.copy(), rms)


def fitted_lanes(
    problem: Problem,
    sigma: Float[Array, "n channels"],
    known: Bool[Array, " channels"],
    max_iterations: int,
    mesh: Mesh | None,
) -> Lanes:
    """Fit each record of a problem by itself.

    **Arguments:**

    - `problem`: of as many trials, one for each record.
    - `sigma`, `known`: of each, as of [`jaxspark.fit.estimate`][].
    - `mesh`: the devices to split them over, if there are several.
    """
    first = jax.tree.map(lambda x: x[:1], (problem.data, problem.tangents))
    one = dataclasses.replace(
        problem, shared=problem.single, owners=(0,), mesh=None, data=first[0], tangents=first[1]
    )
    most = jnp.asarray(max_iterations)
    return _fitted(one, problem.data, problem.tangents, sigma, known, most, mesh)


@compiled
def _fitted(one: Any, data: Any, tangents: Any, sigma: Any, known: Any, most: Any, mesh: Any):
    def lane(shared, data, tangent, sigma):
        one, known, most = shared
        data, tangent = jax.tree.map(lambda x: x[None], (data, tangent))
        problem = dataclasses.replace(one, data=data, tangents=tangent)
        options = Options(known, jnp.ones(problem.size, bool))
        state = run(problem, problem.start, sigma, options, most)
        return _row(problem, state, known)

    columns = one.single.size + tangents.along_y.shape[-1] + tangents.along_z.shape[-1]
    return each(lane, mesh, (one, known, most), data, tangents, sigma, columns=columns)


def _row(problem: Problem, state: State, known: Bool[Array, " channels"]) -> Lanes:
    code = jnp.where(state.done, 0, jnp.where(state.stuck, 2, 1))
    code = jnp.where(state.unknown | ~state.found.good, 3, code).astype(jnp.int32)
    count = problem.shared.size
    values = problem.shared.physical(state.u[:count])
    slopes = jax.jacfwd(problem.shared.physical)(state.u[:count])
    errors, rank = _errors(problem, state, known, slopes)
    there = jnp.sum(problem.data.present, (0, 1))
    squares = jnp.sum(state.found.difference**2, (0, 1))
    rms = jnp.sqrt(squares / jnp.maximum(there, 1).astype(squares.dtype))
    failed = code == 3
    lost = lambda x: jnp.where(failed, jnp.nan, x)
    rms = jnp.where(there > 0, lost(rms), jnp.nan)
    return Lanes(code, state.iteration, lost(values), lost(errors), rank, rms)


def _errors(
    problem: Problem, state: State, known: Bool[Array, " channels"], slopes: Float[Array, "q q"]
) -> tuple[Float[Array, " q"], IntScalar]:
    """Standard errors of the parameters, infinite where they are not told; and the rank.

    From the singular values of the weighted Jacobian with columns of unit length, as
    [`jaxspark.fit.Information`][] finds them.
    """
    A, _ = assembled(problem, state.found)
    sizes = jnp.sqrt(jnp.sum(A**2, 0))
    sizes = jnp.where(sizes > 0, sizes, 1)
    _, s, right = jnp.linalg.svd(A / sizes[None, :], full_matrices=True)
    s = jnp.pad(s, (0, right.shape[0] - s.shape[0]))
    largest = jnp.max(s, initial=0)
    moved = jnp.sqrt(jnp.sum((right / sizes[None, :])[:, : slopes.shape[1]] ** 2, 1))
    told = (s > COLLINEAR * largest) | (moved <= BEYOND * s)
    told &= s > RTOL[str(s.dtype)] * largest
    rank = jnp.sum(told, dtype=jnp.int32)
    # Directions of the parameters' physical values along singular vectors.
    along = slopes @ (right / sizes[None, :]).T[: slopes.shape[1]]
    squares = jnp.sum(jnp.where(told[None, :], along / jnp.where(told, s, 1)[None, :], 0) ** 2, 1)
    untold = jnp.sum(jnp.where(told[None, :], 0, along) ** 2, 1)
    typical = jnp.sum(along**2, 1)
    variance = _variance(problem, state, known, rank)
    return jnp.where(untold > UNSEEN * typical, jnp.inf, jnp.sqrt(squares * variance)), rank


def _variance(
    problem: Problem, state: State, known: Bool[Array, " channels"], rank: IntScalar
) -> FloatScalar:
    """What the inverse of the information is multiplied with, as [`uncertainty`][] has it."""
    found, loss = state.found, problem.model.loss
    data = jnp.sum(found.counts)
    if not isinstance(loss, Squares):
        present = problem.data.present
        s = jnp.where(present, (found.difference / state.sigma[None, None, :]) ** 2, 0)
        weight, slope = jax.jvp(loss.weight, (s,), (jnp.ones_like(s),))
        mean = lambda x: jnp.sum(jnp.where(present, x, 0)) / data
        dof = jnp.maximum(data - rank.astype(data.dtype), 1)
        steepness = mean(weight + 2 * s * slope)
        return mean(weight) * data * mean(weight**2 * s) / (dof * steepness**2)
    priors = problem.shared.prior_residuals(state.u[: problem.shared.size]).size
    dof = jnp.maximum(data + priors - rank.astype(data.dtype), 1)
    return jnp.where(jnp.all(known), 1, 2 * found.loss / dof)
