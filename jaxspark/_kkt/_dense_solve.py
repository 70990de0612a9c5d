"""The linear systems behind a root's derivative, by the dense Jacobian of the equations."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.flatten_util

from .._implicit import preconditioned_solve, stop_gradient
from ._dense import lu_factors


def dense_linear_solve(
    residual: Callable[[Any, Any], Any], emphasis: Sequence[float]
) -> Callable[..., Any]:
    """The `linear_solve` that `differentiable_root` needs for small systems.

    **Arguments:**

    - `residual`: `residual(x, parameters)`, whose root it is.
    - `emphasis`: of each leaf of `x`, as for `preconditioned_solve`.

    **Returns:** `linear_solve(matvec, rhs, at, parameters)`.
    """

    def linear_solve(matvec: Callable[[Any], Any], rhs: Any, at: Any, parameters: Any) -> Any:
        flat, unravel = jax.flatten_util.ravel_pytree(stop_gradient(at))
        frozen = stop_gradient(parameters)

        def on_vectors(x):
            return jax.flatten_util.ravel_pytree(residual(unravel(x), frozen))[0]

        factors = lu_factors(jax.jacfwd(on_vectors)(flat))

        def inverse(solve):
            def apply(x):
                vector = jax.flatten_util.ravel_pytree(x)[0]
                return unravel(solve(vector[None, :])[0])

            return apply

        solve, transposed = inverse(factors.solve), inverse(factors.solve_transposed)
        return preconditioned_solve(matvec, solve, transposed, rhs, emphasis)

    return linear_solve
