"""Consistent states near guesses, and the tangent spaces of the constraints there."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._consistent import project
from .._custom_types import Args, FloatScalar, State
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from ._compile import compiled
from ._lockstep import batched, over, together


MOST_CORRECTIONS = 30


class Tangent(eqx.Module):
    """A consistent state, the directions that the constraints leave, and those that they take.

    - `t`: when (s).
    - `y`, `z`: flat coordinates and velocities.
    - `along_y`: directions of the coordinates; `along_z`: of the velocities.
    - `across_y`, `across_z`: the directions in which these are corrected.
    """

    t: FloatScalar
    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    along_y: Float[Array, "ny dy"]
    along_z: Float[Array, "nz dz"]
    across_y: Float[Array, "ny cy"]
    across_z: Float[Array, "nz cz"]

    @property
    def size(self) -> int:
        """How many numbers describe a state."""
        return self.along_y.shape[1] + self.along_z.shape[1]

    def coordinates(self, y: Float[Array, " ny"], z: Float[Array, " nz"]) -> Float[Array, " d"]:
        """Of a state near by, to first order."""
        along = [self.along_y.T @ (y - self.y), self.along_z.T @ (z - self.z)]
        return jnp.concatenate(along)


def tangents(
    system: AbstractConstrainedSystem,
    ts: Sequence[float],
    states: Sequence[tuple[State, State]],
    args: Sequence[Args],
    unknown: Sequence[str],
) -> list[Tangent]:
    """The consistent states near guesses, and the tangent spaces there.

    **Arguments:** of each trial its initial time, guess, args, and what of it is unknown.

    **Raises:** `RuntimeError` if a guess cannot be projected onto the constraints, with the number
    of the trial as its attribute `lane`.
    """
    guesses = [(as_state("y", y), as_state("z", z)) for y, z in states]
    dtype = jnp.result_type(*jax.tree.leaves(guesses[0][0]))
    unravels = [jax.flatten_util.ravel_pytree(part)[1] for part in guesses[0]]
    split = jax.flatten_util.ravel_pytree(guesses[0][0])[0].size
    first = as_args(args[0], dtype)
    own = [first if each is args[0] else as_args(each, dtype) for each in args]
    stacked, axes = batched(own)
    times = jnp.asarray(ts, dtype)

    def look(xs):
        parts = jnp.asarray(xs[:, :split], dtype), jnp.asarray(xs[:, split:], dtype)
        found = _linearised(system, times, *parts, guesses[0], stacked, axes)
        return list(zip(*map(np.asarray, found), strict=True))

    def search(k: int, y: State, z: State):
        guess = (np.ravel(np.asarray(leaf)) for part in (y, z) for leaf in jax.tree.leaves(part))
        failed = lambda y, z: project(
            system, times[k], unravels[0](jnp.asarray(y)), unravels[1](jnp.asarray(z)), own[k],
            metric="identity",
        )  # fmt: skip
        x = np.concatenate(list(guess)).astype(dtype)
        return _tangent(x, split, times[k], unknown[k], failed)

    return together([search(k, y, z) for k, (y, z) in enumerate(guesses)], look)


def tangent(
    system: AbstractConstrainedSystem,
    t: float,
    y: State,
    z: State,
    args: Args,
    unknown: str = "both",
) -> Tangent:
    """The same of one trial."""
    return tangents(system, [t], [(y, z)], [args], [unknown])[0]


def _tangent(x: np.ndarray, split: int, t: FloatScalar, unknown: str, failed: Any) -> Any:
    """One search: it yields where to evaluate constraints, and returns the tangent space.

    **Arguments:**

    - `failed`: raises the error of a state that cannot be projected.
    """
    dtype = x.dtype
    for _ in range(MOST_CORRECTIONS):
        g, rates, v_z, g_y, k_z = yield x
        if not all(np.isfinite(part).all() for part in (g, rates, v_z, g_y, k_z)):
            raise RuntimeError(
                "The constraints or their derivatives are not finite at the guess of the start, "
                "or near it: move it."
            )
        across = g_y @ v_z
        _check_finite(g, rates, across, k_z)
        both = np.concatenate([across, k_z])
        dy, dz = -v_z @ _shortest(across, g), -_shortest(both, rates)
        x = x + np.concatenate([dy, dz]).astype(dtype)
        size = np.abs(dy).max(initial=0) + np.abs(dz).max(initial=0)
        largest = np.abs(x[:split]).max() + np.abs(x[split:]).max(initial=0)
        if not size > 1e3 * np.finfo(dtype).eps * (1 + largest):
            break
    else:
        # It says which constraint, and why.
        failed(x[:split], x[split:])
        raise RuntimeError("The guess of the start cannot be made consistent.")
    along_y, along_z = v_z @ _null(across), _null(both)
    if unknown in ("velocity", "nothing"):
        along_y = along_y[:, :0]
    if unknown in ("position", "nothing"):
        along_z = along_z[:, :0]
    arrays = (along_y, along_z, v_z @ _rows(across), _rows(both))
    state = jnp.asarray(x[:split], dtype), jnp.asarray(x[split:], dtype)
    return Tangent(t, *state, *(jnp.asarray(part, dtype) for part in arrays))


@compiled
def _linearised(system, ts, ys, zs, like, args, axes):
    """Residuals of `g`, then of `gdot` and `k`, and the Jacobians `v_z`, `g_y` and `k_z`."""
    unravel_y, unravel_z = (jax.flatten_util.ravel_pytree(part)[1] for part in like)

    def one(t, y, z, args):
        flat, y, z = flatten(system, t, unravel_y(y), unravel_z(z), args)
        rates = jnp.concatenate([flat.holonomic_rate(t, y, z), flat.nonholonomic(t, y, z)])
        v_z, g_y = jax.jacfwd(flat.velocity, 2)(t, y, z), jax.jacfwd(flat.holonomic, 1)(t, y)
        return flat.holonomic(t, y), rates, v_z, g_y, jax.jacfwd(flat.nonholonomic, 2)(t, y, z)

    return over(one, axes, ts, ys, zs, args)


def _check_finite(*arrays: np.ndarray) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise RuntimeError(
            "The constraints, or their derivatives, are not finite at the guess of the start: "
            "move it away from where a function has none, such as a norm at zero."
        )


def _shortest(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The shortest solution of `matrix x = values`."""
    return np.linalg.lstsq(matrix, values, rcond=None)[0]


def _rank(matrix: np.ndarray) -> tuple[int, np.ndarray]:
    if matrix.shape[0] == 0:
        return 0, np.eye(matrix.shape[1])
    _, singular, right = np.linalg.svd(matrix)
    least = 10 * max(matrix.shape) * np.finfo(matrix.dtype).eps * singular.max(initial=0)
    return int(np.sum(singular > least)), right


def _null(matrix: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the null space."""
    rank, right = _rank(matrix)
    return right[rank:].T


def _rows(matrix: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the space of rows."""
    rank, right = _rank(matrix)
    if rank < matrix.shape[0]:
        raise RuntimeError(
            "The constraints are not independent at the guess of the start: move it, or look at "
            "jaxspark.diagnostics.constraint_rank."
        )
    return right[:rank].T
