"""A linear system, differentiable."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


Vectors = Float[Array, "n k"]
Solver = Callable[[Vectors], Vectors]


def linear_solve(
    matvec: Solver,
    rhs: Vectors,
    solve: Solver,
    solve_transposed: Solver,
    *,
    or_nan: bool = False,
) -> Vectors:
    """`x` with `matvec(x) = rhs`, differentiable.

    **Arguments:**

    - `matvec`: the linear map, of which derivatives are taken.
    - `rhs`: the right-hand sides, one in each column.
    - `solve`, `solve_transposed`: solve with the map and with its transpose, without derivatives.
    - `or_nan`: where the solution is not finite, it is NaN and has no derivatives, instead of NaN:
        a lane of a batch that fails and is not used would make derivatives by arguments that all
        lanes share NaN. It is not linear in `rhs`: only its derivatives have a transpose.
    """
    if not or_nan:
        return jax.lax.custom_linear_solve(
            matvec, rhs, lambda _, b: solve(b), lambda _, b: solve_transposed(b)
        )

    # One more row, 1 where the solution is finite: JAX batches auxiliary output that is not.
    def with_row(solver):
        def solved(_, b):
            x = solver(b[:-1])
            finite = jnp.all(jnp.isfinite(x))
            return jnp.where(finite, jnp.concatenate([x, b[-1:]]), 0)

        return solved

    x = jax.lax.custom_linear_solve(
        lambda x: jnp.concatenate([matvec(x[:-1]), x[-1:]]),
        jnp.concatenate([rhs, jnp.ones_like(rhs[:1])]),
        with_row(solve),
        with_row(solve_transposed),
    )
    return jnp.where(x[-1:] > 0, x[:-1], jnp.nan)
