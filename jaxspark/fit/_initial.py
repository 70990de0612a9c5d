"""Where a trial starts: given, or unknown and consistent by construction."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._consistent import project
from .._custom_types import Args, BoolScalar, FloatScalar, State
from .._results import RESULTS
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from ._compile import compiled


class Start(eqx.Module):
    """How trials start.

    What is estimated are not coordinates and velocities, which the constraints tie together, but
    as many numbers as there are degrees of freedom: coordinates along the tangent space at the
    guess. The state is the nearest one on the constraints, whatever the parameters are.

    **Arguments:**

    - `y`, `z`: guesses of coordinates and velocities, as for [`jaxspark.rollout`][]; they need
        not be consistent. A list has one for each trial. Functions of `args` (what the system's
        functions get) give states that depend on parameters.
    - `unknown`: what is estimated: `"both"`, `"position"`, `"velocity"` or `"nothing"`.
    """

    y: Any
    z: Any
    unknown: str = eqx.field(static=True, default="both")

    def __check_init__(self):
        if self.unknown not in ("both", "position", "velocity", "nothing"):
            raise ValueError(
                'unknown must be "both", "position", "velocity" or "nothing"; got '
                f"{self.unknown!r}."
            )

    def guess(self, trial: int, num_trials: int, args: Args) -> tuple[State, State]:
        """Coordinates and velocities of a trial."""
        return _of("y", self.y, trial, num_trials, args), _of("z", self.z, trial, num_trials, args)


def _of(name: str, given: Any, trial: int, num_trials: int, args: Args) -> State:
    if isinstance(given, list):
        if len(given) != num_trials:
            raise ValueError(
                f"Start: {len(given)} guesses of {name} are given for {num_trials} records."
            )
        given = given[trial]
    return given(args) if callable(given) else given


class Tangent(eqx.Module):
    """A consistent state and the directions that the constraints leave.

    - `t`: when (s).
    - `y`, `z`: flat coordinates and velocities.
    - `along_y`: directions of the coordinates, orthonormal; `along_z`: of the velocities.
    """

    t: FloatScalar
    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    along_y: Float[Array, "ny dy"]
    along_z: Float[Array, "nz dz"]

    @property
    def size(self) -> int:
        """How many numbers describe a state."""
        return self.along_y.shape[1] + self.along_z.shape[1]

    def coordinates(self, y: Float[Array, " ny"], z: Float[Array, " nz"]) -> Float[Array, " d"]:
        """Of a state near by, to first order."""
        along = [self.along_y.T @ (y - self.y), self.along_z.T @ (z - self.z)]
        return jnp.concatenate(along)


def tangent(
    system: AbstractConstrainedSystem,
    t: float,
    y: State,
    z: State,
    args: Args,
    unknown: str = "both",
) -> Tangent:
    """The consistent state nearest to a guess, and the tangent space there.

    **Raises:** `RuntimeError` if the guess cannot be projected.
    """
    y, z = as_state("y", y), as_state("z", z)
    dtype = jnp.result_type(*jax.tree.leaves(y))
    args = as_args(args, dtype)
    t0 = jnp.asarray(t, dtype)
    found = project(system, t0, y, z, args, metric="identity")
    y, z, *matrices = _linearised(system, t0, found.y, found.z, args)
    v_z, g_y, k_z = map(np.asarray, matrices)
    g_y = g_y @ v_z
    along_y, along_z = v_z @ _null(g_y), _null(np.concatenate([g_y, k_z]))
    if unknown in ("velocity", "nothing"):
        along_y = along_y[:, :0]
    if unknown in ("position", "nothing"):
        along_z = along_z[:, :0]
    return Tangent(t0, y, z, jnp.asarray(along_y, dtype), jnp.asarray(along_z, dtype))


@compiled
def _linearised(system, t, y, z, args):
    """The flat state, and the Jacobians `v_z`, `g_y` and `k_z` there."""
    flat, y, z = flatten(system, t, y, z, args)
    v_z = jax.jacfwd(flat.velocity, 2)(t, y, z)
    return y, z, v_z, jax.jacfwd(flat.holonomic, 1)(t, y), jax.jacfwd(flat.nonholonomic, 2)(t, y, z)


def _null(matrix: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the null space."""
    if matrix.shape[0] == 0:
        return np.eye(matrix.shape[1])
    _, singular, right = np.linalg.svd(matrix)
    largest = singular.max(initial=0)
    rank = int(np.sum(singular > max(matrix.shape) * np.finfo(matrix.dtype).eps * largest * 10))
    return right[rank:].T


def initial_state(
    system: AbstractConstrainedSystem,
    like: tuple[State, State],
    at: Tangent,
    x: Float[Array, " d"],
    args: Args,
) -> tuple[State, State, BoolScalar]:
    """The consistent state with given tangent coordinates, and whether there is one.

    **Arguments:**

    - `like`: a state of the system, for its structure.
    - `x`: coordinates along `at.along_y`, then velocities along `at.along_z`.
    """
    dy = at.along_y.shape[1]
    unravel_y, unravel_z = (jax.flatten_util.ravel_pytree(part)[1] for part in like)
    y, z = at.y + at.along_y @ x[:dy], at.z + at.along_z @ x[dy:]
    found = project(
        system, at.t, unravel_y(y), unravel_z(z), args, metric="identity", throw=False
    )  # fmt: skip
    return found.y, found.z, found.result == RESULTS.successful
