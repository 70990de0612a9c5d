"""Linear solves to round-off of small systems, each of them one piece of straight code."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._jax_internals import later, written_out
from ._refine import part_weights, refine
from ._stop import stop_gradient


T = TypeVar("T")
Vector = Float[Array, " n"]


class LinearEquations(NamedTuple):
    """Linear equations, some of whose unknowns have been eliminated.

    - `forward`: the linear function of the unknowns that are left, a PyTree.
    - `inverse`: its approximate inverse.
    - `reduced`: from the whole right-hand side to that of the equations that are left.
    - `completed`: from the unknowns that are left and the whole right-hand side to all unknowns.
    - `emphasis`: see `preconditioned_solve`.
    """

    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    reduced: Callable[[Any], Any]
    completed: Callable[[Any, Any], Any]
    emphasis: Sequence[float]


def written_out_solve(
    matvec: Callable[[T], T],
    equations: Callable[[Any, bool], LinearEquations],
    parameters: Any,
    rhs: T,
    tolerance: float = 0.0,
) -> T:
    """Solve `matvec(x) = rhs` as `preconditioned_solve` does, for few unknowns.

    Where refinement does not contract the matrix is computed and eliminated.

    **Arguments:**

    - `matvec`: the linear function; higher derivatives follow from it.
    - `equations`: from `parameters`, and whether they are to be transposed, to the same
        equations; it closes over nothing that is traced.
    - `parameters`, `rhs`: PyTrees.
    - `tolerance`: as for `preconditioned_solve`.

    **Returns:** the solution; not a number if no way leads to it.
    """
    flat, unravel = jax.flatten_util.ravel_pytree(rhs)
    parameters = stop_gradient(parameters)

    def solve(rhs: Vector, transposed: bool) -> Vector:
        def solution(b, p):
            return _solve(equations, p, b, unravel, transposed, tolerance)

        return later(solution, rhs, parameters)

    def on_vectors(x: Vector) -> Vector:
        return _ravelled(matvec(unravel(x)))

    return unravel(
        jax.lax.custom_linear_solve(
            on_vectors, flat, lambda _, b: solve(b, False), lambda _, b: solve(b, True)
        )
    )


def _solve(
    equations: Callable[[Any, bool], LinearEquations],
    parameters: Any,
    rhs: Vector,
    unravel: Callable[[Vector], Any],
    transposed: bool,
    tolerance: float,
) -> Vector:
    def left(parameters):
        return equations(parameters, transposed).reduced(unravel(rhs))

    shapes = eqx.filter_eval_shape(left, parameters)
    part = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    sizes = [leaf.size for leaf in jax.tree.leaves(part)]
    _, of_part = jax.flatten_util.ravel_pytree(part)

    def flattened(function):
        return lambda x: _ravelled(function(of_part(x)))

    def refined(rhs, parameters):
        given = equations(parameters, transposed)
        weights = part_weights(sizes, np.asarray(given.emphasis))
        b = _ravelled(given.reduced(unravel(rhs)))
        forward, inverse = flattened(given.forward), flattened(given.inverse)
        x, done = refine(forward, inverse, b, weights, tolerance)
        return _ravelled(given.completed(of_part(x), unravel(rhs))), done

    def row(unit, parameters):
        # Those of the matrix are the columns of the transposed one.
        return flattened(equations(parameters, not transposed).forward)(unit)

    def body(carry):
        done, x = carry
        # It depends on what the loop changes: the compiler cannot hoist it out of the loop.
        basis = jnp.where(done, 0, jnp.eye(sum(sizes), dtype=rhs.dtype))
        matrix = jax.lax.map(lambda unit: written_out(row, unit, parameters), basis)
        given = equations(parameters, transposed)
        slow = _by_elimination(matrix, _ravelled(given.reduced(unravel(rhs))))
        whole = _ravelled(given.completed(of_part(slow), unravel(rhs)))
        return jnp.asarray(True), jnp.where(done, x, whole)

    x, done = written_out(refined, rhs, parameters)
    return jax.lax.while_loop(lambda carry: ~carry[0], body, (done, x))[1]


def _ravelled(tree: Any) -> Vector:
    return jax.flatten_util.ravel_pytree(tree)[0]


def _by_elimination(matrix: Float[Array, "n n"], rhs: Vector) -> Vector:
    """The solution, to which all rows contribute alike."""
    largest = jnp.max(jnp.abs(matrix), 1)
    return jnp.linalg.solve(matrix / largest[:, None], rhs / largest)
