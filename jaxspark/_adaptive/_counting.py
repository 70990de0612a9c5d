"""How many of the rejected steps had no error to judge by."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from diffrax import AbstractStepSizeController

from .._custom_types import Args, IntScalar


class Counting(AbstractStepSizeController):
    """A controller that counts the steps that failed, and else does what another one does.

    A solver's state knows nothing of rejected steps; a controller's does.
    """

    controller: AbstractStepSizeController

    def wrap(self, direction: Any) -> "Counting":
        """The controller for this direction of time."""
        return Counting(self.controller.wrap(direction))

    def init(
        self,
        terms: Any,
        t0: Any,
        t1: Any,
        y0: Any,
        dt0: Any | None,
        args: Args,
        func: Callable[..., Any],
        error_order: Any,
    ) -> tuple[Any, tuple[Any, IntScalar]]:
        """No step has failed yet."""
        end, state = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        return end, (state, jnp.zeros((), jnp.int32))

    def adapt_step_size(
        self,
        t0: Any,
        t1: Any,
        y0: Any,
        y1_candidate: Any,
        args: Args,
        y_error: Any,
        error_order: Any,
        controller_state: tuple[Any, IntScalar],
    ) -> tuple[Any, Any, Any, Any, tuple[Any, IntScalar], Any]:
        """One more if the error is not finite."""
        state, failures = controller_state
        keep, start, end, jump, state, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, state
        )
        finite = [jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(y_error)]
        failed = ~jnp.all(jnp.stack(finite)) if finite else jnp.asarray(False)
        return keep, start, end, jump, (state, failures + failed.astype(jnp.int32)), result
