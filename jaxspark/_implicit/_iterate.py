"""The loop of every Newton iteration: how it goes on, how it ends, and what that is called."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._results import RESULTS


T = TypeVar("T")


class Iteration(eqx.Module, Generic[T]):
    """Where an iteration is.

    - `x`: the iterate, and whatever else is carried.
    - `count`: how many iterations there were.
    - `size`, `previous`, `before`: of the last update, of the one before, and of the one before
        that; infinite before the first.
    - `converged`, `failed`: whether it has ended, and how.
    """

    x: T
    count: IntScalar
    size: FloatScalar
    previous: FloatScalar
    before: FloatScalar
    converged: BoolScalar
    failed: BoolScalar

    @property
    def nonfinite_at_once(self) -> BoolScalar:
        """Whether the first update was not finite: a function's doing. Later it is divergence."""
        return ~(self.size < jnp.inf) & (self.count == 1)


Update = Callable[[Iteration[T]], tuple[T, FloatScalar]]
Verdict = Callable[[Iteration[T]], tuple[BoolScalar, BoolScalar]]


def iterate(
    update: Update[T],
    verdict: Verdict[T],
    start: T,
    like: Any,
    limit: IntScalar | int,
    idle: BoolScalar | bool = False,
) -> Iteration[T]:
    """Iterate until it has converged, failed, or reached the limit.

    Under `jax.vmap` lanes that have ended stay frozen while others go on.

    **Arguments:**

    - `update`: from where the iteration is to the next iterate, and the size of the update.
    - `verdict`: whether it has converged, and whether it fails, after that update.
    - `start`: the first iterate.
    - `like`: an array, of whose dtype sizes are.
    - `limit`: the number of iterations.
    - `idle`: if true, the start is returned as converged.
    """

    def body(at: Iteration[T]) -> Iteration[T]:
        x, size = update(at)
        undecided = at.converged, at.failed
        after = Iteration(x, at.count + 1, size, at.size, at.previous, *undecided)
        converged, failed = verdict(after)
        return eqx.tree_at(
            lambda i: (i.converged, i.failed), after, (converged, failed & ~converged)
        )

    def unfinished(at: Iteration[T]) -> BoolScalar:
        return ~(at.converged | at.failed) & (at.count < limit)

    infinity = jnp.full((), jnp.inf, like.dtype)
    none, no = jnp.zeros((), jnp.int32), jnp.asarray(False)
    begin = Iteration(start, none, infinity, infinity, infinity, jnp.asarray(idle), no)
    with jax.named_scope("jaxspark_newton"):
        return jax.lax.while_loop(unfinished, body, begin)


def newton_result(
    converged: BoolScalar,
    nonfinite: BoolScalar,
    limited: BoolScalar,
    regular: BoolScalar | bool = True,
) -> RESULTS:
    """The result code of an iteration.

    **Arguments:**

    - `converged`, `nonfinite`, `limited`: whether it did, whether its first update was not finite,
        and whether it reached its limit.
    - `regular`: whether its matrix is.
    """
    result = RESULTS.where(limited, RESULTS.newton_iteration_limit, RESULTS.newton_diverged)
    result = RESULTS.where(nonfinite, RESULTS.nonfinite, result)
    result = RESULTS.where(converged, RESULTS.successful, result)
    return RESULTS.where(jnp.asarray(regular), result, RESULTS.singular)
