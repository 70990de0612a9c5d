"""Linear solves to round-off of small systems, each of them one piece of straight code."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._written_out import written_out
from ._refine import part_weights, refine
from ._stop import stop_gradient


T = TypeVar("T")
Vector = Float[Array, " n"]
Linear = Callable[[T], T]
# From parameters: a linear function, its approximate inverse, and the transpose of that.
Equations = Callable[[Any], tuple[Linear, Linear, Linear]]


def written_out_solve(
    matvec: Linear, equations: Equations, parameters: Any, rhs: T, emphasis: Sequence[float]
) -> T:
    """Solve `matvec(x) = rhs` as `preconditioned_solve` does, for few unknowns.

    Where refinement does not contract the matrix is computed and eliminated.

    **Arguments:**

    - `matvec`: the linear function; higher derivatives follow from it.
    - `equations`: gives the same function, its approximate inverse and the transpose of that,
        from the parameters alone: it closes over nothing that is traced.
    - `parameters`: a PyTree.
    - `rhs`, `emphasis`: see `preconditioned_solve`.

    **Returns:** the solution; not a number if no way leads to it.
    """
    flat, unravel = jax.flatten_util.ravel_pytree(rhs)
    sizes = [leaf.size for leaf in jax.tree.leaves(rhs)]
    parameters = stop_gradient(parameters)

    def flattened(function):
        return lambda x: jax.flatten_util.ravel_pytree(function(unravel(x)))[0]

    def directed(parameters, transposed):
        forward, inverse, inverse_transposed = map(flattened, equations(parameters))
        if not transposed:
            return forward, inverse, part_weights(sizes, np.asarray(emphasis))
        backward = jax.linear_transpose(forward, flat)
        alike = part_weights(sizes, np.ones(len(sizes)))
        return lambda x: backward(x)[0], inverse_transposed, alike

    def solve(rhs: Vector, transposed: bool) -> Vector:
        def refined(rhs, parameters):
            forward, inverse, weights = directed(parameters, transposed)
            return refine(forward, inverse, rhs, weights)

        def row(unit, parameters):
            # Those of the matrix are the columns of the transposed one.
            return directed(parameters, not transposed)[0](unit)

        def body(carry):
            done, x = carry
            # It depends on what the loop changes: the compiler cannot hoist it out of the loop.
            basis = jnp.where(done, 0, jnp.eye(rhs.size, dtype=rhs.dtype))
            matrix = jax.lax.map(lambda unit: written_out(row, unit, parameters), basis)
            slow = _by_elimination(matrix, rhs)
            return jnp.asarray(True), jnp.where(done, x, slow)

        x, done = written_out(refined, rhs, parameters)
        return jax.lax.while_loop(lambda carry: ~carry[0], body, (done, x))[1]

    return unravel(
        jax.lax.custom_linear_solve(
            flattened(matvec), flat, lambda _, b: solve(b, False), lambda _, b: solve(b, True)
        )
    )


def _by_elimination(matrix: Float[Array, "n n"], rhs: Vector) -> Vector:
    """Where refinement does not contract; the rows count alike."""
    largest = jnp.max(jnp.abs(matrix), 1)
    return jnp.linalg.solve(matrix / largest[:, None], rhs / largest)
