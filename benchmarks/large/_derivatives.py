"""Derivatives through a factorisation and a solve: against a dense one, and what they cost."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxspark._blocks._base import AbstractBlockSolver
from jaxspark._blocks._pattern import BlockMatrix, dense, multiply, Pattern

from .._figures import at_most, Figure, note
from ._case import Case
from ._measure import call_seconds, factor_and_solve, Solution
from ._solvers import recursive
from ._topologies import chain, four_bars


KINDS = "grad", "jvp", "hvp", "vmap of grad"
Point = tuple[BlockMatrix, jax.Array, jax.Array]


def derivatives(tiny: bool) -> Iterator[Figure]:
    """By all values and the right-hand side, once and twice, symmetric and not."""
    case = chain(2 if tiny else 8)
    if tiny:
        yield from _agreement(case.nonsymmetric(), ("grad",))
    else:
        for each in (case, case.nonsymmetric(), four_bars(2)):
            yield from _agreement(each)
    yield from _cost(chain(8 if tiny else 4096), tiny)


def _cost(case: Case, tiny: bool) -> Iterator[Figure]:
    """Of the gradient by all values of the matrix and the right-hand side."""
    point = case.matrix, *case.right_hand_side()
    what = f"chain, N = {case.pattern.num_blocks}: CPU time of value and gradient over value"
    ways = {"one solve more": implicit, "reverse mode through the solver": factor_and_solve}
    for words, way in ways.items():
        value = _value(case, way(recursive(), case.pattern))
        alone, both = (
            call_seconds(jax.jit(each), point) for each in (value, jax.value_and_grad(value))
        )
        ratio = both / alone
        if way is factor_and_solve:
            yield note(f"{what}, {words}", f"{ratio:.2f}")
        else:
            yield at_most(f"{what}, {words}", ratio, 2, ".2f")
        if tiny:
            return


def implicit(solver: AbstractBlockSolver, pattern: Pattern) -> Callable[..., Solution]:
    """Differentiated as the solution of its equation, by the factors that there are."""

    def function(matrix, f, g):
        factors = solver.factor_blocks(pattern, jax.lax.stop_gradient(matrix))
        return jax.lax.custom_linear_solve(
            lambda x: multiply(pattern, matrix, *x),
            (f, g),
            lambda _, b: solver.solve_blocks(pattern, factors, *b),
            lambda _, b: solver.solve_blocks_transposed(pattern, factors, *b),
        )

    return function


def _agreement(case: Case, names: tuple[str, ...] = KINDS) -> Iterator[Figure]:
    ours = _value(case, implicit(recursive(), case.pattern))
    exact = _value(case, _dense(case))
    point: Point = case.matrix, *case.right_hand_side()
    direction = jax.tree.map(lambda x: jnp.cos(jnp.arange(1.0 * x.size)).reshape(x.shape), point)
    several = jax.tree.map(
        lambda x, y: jnp.stack([x, x + 0.01 * y, x - 0.02 * y]), point, direction
    )

    def along(function):
        return lambda point: jax.jvp(function, (point,), (direction,))[1]

    kinds: dict[str, tuple[Callable[[Any], Any], Point]] = {
        "grad": (jax.grad, point),
        "jvp": (along, point),
        "hvp": (lambda function: along(jax.grad(function)), point),
        "vmap of grad": (lambda function: jax.vmap(jax.grad(function)), several),
    }
    for name in names:
        kind, where = kinds[name]
        a, b = (jax.jit(kind(function))(where) for function in (ours, exact))
        what = f"{case.name}, {case.pattern.num_blocks} bodies: {name}"
        yield at_most(f"{what} from that of a dense solve, relative", _relative(a, b), 1e-10)
        if name == "grad":
            through = _value(case, factor_and_solve(recursive(), case.pattern))
            apart = _relative(jax.jit(kind(through))(where), b)
            yield at_most(f"{what} through the solver, the same", apart, 1e-10)


def _value(case: Case, solve: Callable[..., Solution]) -> Callable[[Point], jax.Array]:
    """A number from the solution, whose arguments are only read where the matrix has entries."""
    inside = np.arange(case.pattern.width) < case.pattern.sizes[:, None]
    pairs, entries = inside[:, :, None] & inside[:, None, :], case.pattern.entries

    def value(point):
        matrix, f, g = point
        symmetric = matrix.C is None
        K = (matrix.K + jnp.swapaxes(matrix.K, 1, 2)) / 2 if symmetric else matrix.K
        kept = BlockMatrix(
            jnp.where(pairs, K, jnp.eye(case.pattern.width)),
            jnp.where(entries, matrix.B, 0),
            None if symmetric else jnp.where(entries, matrix.C, 0),
        )
        x, lam = solve(kept, jnp.where(inside[..., None], f, 0), g)
        return jnp.sum(jnp.sin(x)) + jnp.sum(jnp.sin(lam))

    return value


def _dense(case: Case) -> Callable[..., Solution]:
    pattern = case.pattern

    def solve(matrix, f, g):
        own = f.reshape(-1, f.shape[-1])[pattern.unknowns]
        x = jnp.linalg.solve(dense(pattern, matrix), jnp.concatenate([own, g]))
        blocks = jnp.zeros((f.shape[0] * f.shape[1], x.shape[1])).at[pattern.unknowns]
        return blocks.set(x[: pattern.size]).reshape(f.shape), x[pattern.size :]

    return solve


def _relative(a: Any, b: Any) -> float:
    """The largest difference of leaves, relative to the largest element of each."""
    return max(
        float(jnp.max(jnp.abs(x - y)) / jnp.max(jnp.abs(y)))
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )
