"""Explicit Runge-Kutta methods by their coefficients."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


# The errors of all steps add up; of low order, of which there are many, and in what is not smooth.
SAFETY, OF_LOW_ORDER, LOW = 3.0, 18.0, 5
# An estimate of the error of a step from the increments of its stages: `(h, x0, x1, K) -> e`.
Estimate = Callable[[Any, Any, Any, Any], Any]


class ExplicitMethod:
    r"""An explicit Runge-Kutta method, each of whose steps ends on the constraints.

    With `K_i` the derivatives of the stages, by the underlying ODE, a step is

        X_i = x_0 + h sum_{j < i} a_ij K_j,    x_1 = x_0 + h sum_j b_j K_j,

    and `x_1` is projected onto the constraints. [`jaxspark.solve`][] takes it as `method`;
    [`jaxspark.DOP853`][] and others are ready-made.

    **Arguments:**

    - `name`: the name, for messages.
    - `order`: the order of the method, at least 1.
    - `A`: for each of the `s` stages but the first, the coefficients of those before it:
        `s - 1` rows of the lengths 1 to `s - 1`.
    - `b`: the weights, one for each stage, shape `(s,)`; their sum is 1.
    - `estimate`: the weights of an embedded error estimate, one for each stage; or a function
        `(h, x0, x1, K) -> e` of the size of the step, its ends and the derivatives of its stages,
        shape `(s, n)`, to an error of shape `(n,)`. Weights are multiplied by 3, up to order 5 by
        18, because the errors of all steps add up; a function is taken as it is.
    - `error_order`: the power of `h` in the estimate. Default: `order`.

    **Raises:** `ValueError` if the coefficients do not fit together, or there is no estimate.

    Source: E. Hairer, S. Norsett & G. Wanner, *Solving Ordinary Differential Equations I*, II.1
    (1.8), II.4.
    """

    name: str
    order: int
    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    estimate: Estimate
    error_order: int

    def __init__(
        self,
        name: str,
        order: int,
        A: Sequence[Any],
        b: Any,
        estimate: Any,
        error_order: int | None = None,
    ):
        self.name, self.order = str(name), int(order)
        if self.order < 1:
            raise ValueError(f"The order must be at least 1; got {order}.")
        self.b = _numbers("b", b)
        stages = len(self.b)
        rows = [_numbers("Each row of A", row) for row in A]
        if [len(row) for row in rows] != list(range(1, stages)):
            raise ValueError(
                f"A must have a row for each of {stages} stages but the first, with a coefficient "
                f"for every stage before it; its rows have lengths {[len(row) for row in rows]}."
            )
        self.A = np.zeros((stages, stages))
        for i, row in enumerate(rows, 1):
            self.A[i, :i] = row
        c = np.sum(self.A, axis=1)
        # A stage at the end of the step is not a rounding error beyond it.
        self.c = np.where(np.abs(c - 1) < 1e-13, 1.0, c)
        if not np.isclose(np.sum(self.b), 1):
            raise ValueError(f"The weights b must add up to 1; their sum is {np.sum(self.b)}.")
        own: Any = estimate
        if not callable(estimate):
            weights = _numbers("The estimate", estimate)
            if weights.shape != (stages,) or not np.any(weights):
                raise ValueError(
                    f"The estimate needs {stages} weights, not all of them zero: step sizes follow "
                    "from it."
                )
            factor = OF_LOW_ORDER if self.order <= LOW else SAFETY
            own, estimate = weights.tobytes(), embedded(factor * weights)
        self.estimate = estimate
        self.error_order = self.order if error_order is None else int(error_order)
        table = self.A.tobytes(), self.b.tobytes()
        self._key = (self.name, self.order, table, own, self.error_order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExplicitMethod) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"{self.name}()"

    @property
    def stages(self) -> int:
        """The number of stages `s`."""
        return len(self.b)


def _numbers(name: str, values: Any) -> np.ndarray:
    found = np.asarray(values, float)
    if found.ndim != 1 or not np.all(np.isfinite(found)):
        raise ValueError(f"{name} must be a vector of finite numbers; got {values!r}.")
    return found


def weighted(weights: np.ndarray, K: Float[Array, "s n"]) -> Float[Array, " n"]:
    """The sum of the rows of `K` with these weights."""
    return jnp.sum(jnp.asarray(weights, K.dtype)[:, None] * K, 0)


def embedded(weights: np.ndarray) -> Estimate:
    """The difference of a method and the one embedded in it, times a factor of safety."""

    def estimate(h: Any, x0: Any, x1: Any, K: Float[Array, "s n"]) -> Float[Array, " n"]:
        del x0, x1
        return h * weighted(weights, K)

    return estimate
