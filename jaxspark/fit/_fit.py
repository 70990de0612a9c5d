"""The outcome of a fit."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ._findings import Findings, Profile
from ._levenberg import Options, State
from ._model import Model
from ._predict import predict, Prediction
from ._problem import Problem
from ._record import Record


@dataclass(frozen=True, eq=False)
class Fit:
    """The outcome of [`jaxspark.fit.estimate`][].

    - `model`, `records`: what was fitted to what.
    - `problem`, `options`, `state`: as arrays; for functions of your own.
    - `history`: the loss after each iteration, half the sum of squares in standard deviations.
    - `seconds`: wall time, compilation included.
    """

    model: Model
    records: tuple[Record, ...]
    problem: Problem
    options: Options
    state: State
    history: tuple[float, ...]
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether another step would change nothing that the data tell."""
        return bool(self.state.done)

    @property
    def message(self) -> str:
        """How it ended, in words."""
        count = int(self.state.iteration)
        if not bool(jnp.any(self.options.free)):
            return f"Gradients were followed for {len(self.history)} steps."
        if self.converged:
            return f"Converged after {count} iterations."
        if bool(self.state.stuck):
            return (
                f"No step makes the residuals smaller, after {count} iterations: the simulation "
                "may not be smooth in the parameters (switches, steps that are too long), or the "
                "start values too far off. Try a smaller step, other start values, "
                "jaxspark.fit.multistart, or windows."
            )
        return f"Not converged within {count} iterations: raise max_iterations."

    @property
    def vector(self) -> Float[np.ndarray, " p"]:
        """Physical values of all parameters, in the order of `names`."""
        return np.asarray(self.problem.shared.physical(self._unknowns))

    @property
    def names(self) -> tuple[str, ...]:
        """Of all parameters that were estimated."""
        return self.problem.shared.names

    @property
    def values(self) -> dict[str, float]:
        """The estimates by name."""
        return dict(zip(self.names, self.vector.tolist(), strict=True))

    def parameters(self, trial: int = 0) -> Any:
        """The tree of parameters with the estimates in place of specifications."""
        return self.problem.shared.args(self._unknowns, trial)

    @property
    def sigma(self) -> dict[str, float]:
        """Standard deviation of each channel's noise, given or estimated."""
        return dict(zip(self.problem.channels, np.asarray(self.state.sigma).tolist(), strict=True))

    @functools.cached_property
    def prediction(self) -> Prediction:
        """What the model predicts for all trials, or windows."""
        return predict(self.problem, self.state.u)

    @functools.cached_property
    def uncertainty(self) -> "Any":
        """Covariances, correlations, what is identifiable: a [`jaxspark.fit.Uncertainty`][]."""
        from ._uncertainty import uncertainty

        return uncertainty(self)

    def findings(
        self,
        *,
        held_out: Record | list[Record] | tuple[Record, ...] = (),
        profiles: tuple[Profile, ...] = (),
        level: float = 0.95,
    ) -> Findings:
        """All that was found, as plain numbers.

        **Arguments:**

        - `held_out`: records that were not fitted, to be predicted. Their starts, if unknown, are
            fitted.
        - `profiles`: from [`jaxspark.fit.profile`][].
        - `level`: of the intervals.
        """
        from ._summary import findings

        return findings(self, held_out, profiles, level)

    def report(self, folder: str | Path, **options: Any) -> Path:
        """Write the report, `report.html` and `report.json`; options as for `findings`.

        **Returns:** the path of the page.
        """
        from ._report import write_report

        return write_report(self.findings(**options), folder)

    @property
    def _unknowns(self) -> jax.Array:
        return jnp.asarray(self.state.u)[: self.problem.shared.size]
