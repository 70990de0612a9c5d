"""What a member of the audit is: a system, seeded starts, and where its motion is not smooth."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ..problems import Problem
from ._equations import consistent


Args = dict[str, Any]
Guess = Callable[[np.random.Generator], tuple[Any, Any, Args]]


class Start(NamedTuple):
    """Consistent coordinates, shape `(ny,)`, and velocities, `(nz,)`, at time 0; the parameters."""

    y: np.ndarray
    z: np.ndarray
    args: Args


@dataclass(frozen=True)
class Mechanism:
    """An initial value problem whose start is drawn at random, in SI units if none are told.

    - `name`: one word.
    - `kinds`: what it stands for, in words such as `"nonholonomic"` or `"jump"`.
    - `system`: of flat arrays `y` and `z`.
    - `guess`: draws a state and parameters; `start` makes the state consistent. All that is random
        is in these, so that one compiled program serves all starts.
    - `t1`: the end (s); time starts at 0.
    - `kinks`: the times, in order, between which the equations are smooth; on each of them the
        equations are those to its right.
    - `switch`: a scalar function of `(t, y, z, args)`; the equations are smooth while it does not
        change its sign.
    - `smooth`: whether there is neither, and nothing nearly as sharp.
    - `stiff`: whether an explicit method has its steps limited by stability.
    - `massless`: whether the mass matrix is singular: not for Lobatto methods.
    """

    name: str
    kinds: tuple[str, ...]
    system: jaxspark.AbstractConstrainedSystem
    guess: Guess
    t1: float
    kinks: Callable[[Args], Sequence[float]] | None = None
    switch: Callable[..., Any] | None = None
    smooth: bool = True
    stiff: bool = False
    massless: bool = False

    def start(self, rng: np.random.Generator) -> Start:
        """A start drawn from `rng`, on the constraints to rounding error."""
        y, z, args = self.guess(rng)
        args = jax.tree.map(lambda x: jnp.asarray(x, float), args)
        y, z = consistent(self.system, np.asarray(y, float), np.asarray(z, float), args)
        return Start(y, z, args)

    def seeded(self, seed: int) -> Start:
        """The start of this number: the same wherever and whenever it is drawn."""
        return self.start(np.random.default_rng([seed, zlib.crc32(self.name.encode())]))


def from_problem(
    problem: Problem,
    kinds: tuple[str, ...],
    t1: float,
    *,
    name: str | None = None,
    coordinates: float = 0.0,
    velocities: float = 0.1,
    **parameters: Any,
) -> Mechanism:
    """A problem of `benchmarks.problems` whose start is moved at random.

    **Arguments:**

    - `problem`, `kinds`, `t1`: as of the mechanism.
    - `name`: where it is not that of the problem.
    - `coordinates`, `velocities`: the standard deviations of what is added to them.
    - `parameters`: those of other values than the problem's.
    """

    def guess(rng):
        y = problem.y0 + coordinates * rng.standard_normal(len(problem.y0))
        z = problem.z0 + velocities * rng.standard_normal(len(problem.z0))
        return y, z, {**problem.args, **parameters}

    return Mechanism(name or problem.name, kinds, problem.system, guess, t1)


def diagonal(*masses: float) -> Callable[..., Any]:
    """The function `mass(t, q, args)` of a constant diagonal mass matrix (kg)."""
    return lambda t, q, args: jnp.diag(jnp.array(masses, q.dtype))


def plane_weight(*masses: float, gravity: float = 9.81) -> Callable[..., Any]:
    """The function `force(t, q, v, args)` of the weights (N) of points `(x, y)` in a plane."""
    pull = np.stack([np.zeros(len(masses)), -gravity * np.array(masses)], 1).ravel()
    return lambda t, q, v, args: jnp.asarray(pull, q.dtype)


def half_square(x: Any) -> Any:
    """`|x|^2 / 2` of a vector."""
    return 0.5 * jnp.sum(x**2)
