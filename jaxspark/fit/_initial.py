"""Where a trial starts: given, or unknown and consistent by construction."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._consistent import flat_residuals, project
from .._custom_types import Args, BoolScalar, FloatScalar, State
from .._implicit import iterate
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from ._compile import compiled
from ._lockstep import batched, over, together


MOST_CORRECTIONS = 30


class Start(eqx.Module):
    """How trials start.

    What is estimated are not coordinates and velocities, which the constraints tie together, but
    as many numbers as there are degrees of freedom: coordinates along the tangent space at the
    guess. The state is the nearest one on the constraints, whatever the parameters are.

    **Arguments:**

    - `y`, `z`: guesses of coordinates and velocities, as for [`jaxspark.solve`][]; they need
        not be consistent. A list has one for each trial. Functions of `args` (what the system's
        functions get) give states that depend on parameters.
    - `unknown`: what is estimated: `"both"`, `"position"`, `"velocity"` or `"nothing"`.
    - `from_samples`: whether the guesses are first moved to where sensors show the first samples
        of each record; see [`jaxspark.fit.Start.from_channels`][].
    """

    y: Any
    z: Any
    unknown: str = eqx.field(static=True, default="both")
    from_samples: bool = eqx.field(static=True, default=False)

    @staticmethod
    def from_channels(y: Any, z: Any, unknown: str = "both") -> "Start":
        """Starts that follow from the first samples of measured angles, rates, positions.

        For each record a consistent state is found that shows its first samples, and slopes of
        what shows coordinates alone: near one guess for all, for instance the mechanism as it is
        drawn, at rest. What no channel shows stays as it is guessed.

        **Arguments:**

        - `y`, `z`: of one state, near which all records start, or a list of one for each. They
            need not be consistent. Where sensors cannot tell two configurations apart, an elbow up
            and down, they say which.
        - `unknown`: as of a [`jaxspark.fit.Start`][].

        **Returns:** a [`jaxspark.fit.Start`][]. [`jaxspark.fit.estimate`][] raises `DataError` if
        no state near the guess shows the samples.
        """
        if callable(y) or callable(z):
            raise TypeError(
                "Start.from_channels: y and z are a state, not functions of args: where a record "
                "starts follows from its samples."
            )
        return Start(y, z, unknown, from_samples=True)

    def __check_init__(self):
        if self.unknown not in ("both", "position", "velocity", "nothing"):
            raise ValueError(
                'unknown must be "both", "position", "velocity" or "nothing"; got '
                f"{self.unknown!r}."
            )
        for name, given in (("y", self.y), ("z", self.z)):
            if isinstance(given, list) and any(map(callable, given)):
                raise TypeError(
                    f"Start: {name} is a list that has functions. Give one function for all "
                    "trials: what it needs of each can be a parameter with per_trial=True."
                )

    def guess(self, trial: int, num_trials: int, args: Args) -> tuple[State, State]:
        """Coordinates and velocities of a trial."""
        return _of("y", self.y, trial, num_trials, args), _of("z", self.z, trial, num_trials, args)

    def alone(self) -> list["Start"]:
        """The same for single trials, one for each entry of the lists, if there are any."""
        lists = [given for given in (self.y, self.z) if isinstance(given, list)]
        pick = lambda given, k: given[k] if isinstance(given, list) else given
        count = len(lists[0]) if lists else 1
        return [
            Start(pick(self.y, k), pick(self.z, k), self.unknown, self.from_samples)
            for k in range(count)
        ]


def _of(name: str, given: Any, trial: int, num_trials: int, args: Args) -> State:
    if isinstance(given, list):
        if len(given) != num_trials:
            raise ValueError(
                f"Start: {len(given)} guesses of {name} are given for {num_trials} records."
            )
        given = given[trial]
    return given(args) if callable(given) else given


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

    def search(k, y, z):
        guess = (np.ravel(np.asarray(leaf)) for part in (y, z) for leaf in jax.tree.leaves(part))
        failed = lambda y, z: project(
            system, times[k], unravels[0](jnp.asarray(y)), unravels[1](jnp.asarray(z)), own[k],
            metric="identity",
        )  # fmt: skip
        x = np.concatenate(list(guess)).astype(dtype)
        return _tangent(x, split, times[k], unknown[k], failed)

    return together([search(k, *guess) for k, guess in enumerate(guesses)], look)


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


def initial_state(
    system: AbstractConstrainedSystem,
    like: tuple[State, State],
    at: Tangent,
    x: Float[Array, " d"],
    args: Args,
) -> tuple[State, State, BoolScalar]:
    """The consistent state with given tangent coordinates, and whether there is one.

    Newton's method, across the tangent space; differentiated by the implicit function theorem.

    **Arguments:**

    - `like`: a state of the system, for its structure.
    - `x`: coordinates along `at.along_y`, then velocities along `at.along_z`.
    """
    dy = at.along_y.shape[1]
    unravel_y, unravel_z = (jax.flatten_util.ravel_pytree(part)[1] for part in like)
    flat, _, _ = flatten(system, at.t, *like, args)
    y, z = at.y + at.along_y @ x[:dy], at.z + at.along_z @ x[dy:]

    def g(mu):
        return flat.holonomic(at.t, y + at.across_y @ mu)

    mu = _root(g, jnp.zeros(at.across_y.shape[1], y.dtype))
    y = y + at.across_y @ mu

    def rates(nu):
        there = z + at.across_z @ nu
        parts = [flat.holonomic_rate(at.t, y, there), flat.nonholonomic(at.t, y, there)]
        return jnp.concatenate(parts)

    z = z + at.across_z @ _root(rates, jnp.zeros(at.across_z.shape[1], z.dtype))
    left = flat_residuals(flat, at.t, y, z)
    worst = jnp.max(jnp.stack([jnp.max(jnp.abs(part), initial=0) for part in left]))
    size = 1 + jnp.max(jnp.abs(y)) + jnp.max(jnp.abs(z), initial=0)
    return unravel_y(y), unravel_z(z), worst <= jnp.sqrt(jnp.finfo(y.dtype).eps) * size


def _root(function: Callable[[Array], Array], start: Float[Array, " n"]) -> Float[Array, " n"]:
    """A root near the start; as far as Newton's method comes, if there is none."""
    if start.shape[0] == 0:
        return start
    floor = 100 * jnp.finfo(start.dtype).eps

    def solve(function, start):
        def update(at):
            step = jnp.linalg.solve(jax.jacfwd(function)(at.x), function(at.x))
            return at.x - step, jnp.max(jnp.abs(step))

        def verdict(at):
            return at.size <= floor * (1 + jnp.max(jnp.abs(at.x))), ~(at.size < jnp.inf)

        return iterate(update, verdict, start, start, MOST_CORRECTIONS).x

    def tangent_solve(linear, rhs):
        return jnp.linalg.solve(jax.jacfwd(linear)(jnp.zeros_like(rhs)), rhs)

    return jax.lax.custom_root(function, start, solve, tangent_solve)
