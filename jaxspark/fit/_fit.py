"""The outcome of a fit."""

import dataclasses
import functools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._html import table
from ._findings import Findings, Profile
from ._levenberg import State
from ._model import Model
from ._predict import Prediction
from ._problem import Problem
from ._proposal import Options
from ._record import Record
from ._remarks import Check
from ._sensitivities import Sensitivities, simulated
from ._suitable import as_records, check_units, complete, measured_only, needing_inputs


# In one line, and in one table.
MOST_NAMED, MOST_SHOWN = 6, 40


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """The outcome of [`jaxspark.fit.estimate`][].

    - `model`, `records`: the model, and the records that it was fitted to.
    - `problem`, `options`, `state`: the same as arrays; for functions of your own.
    - `history`: the loss after each iteration; the first evaluates the start. It is minus the
        logarithm of the likelihood, up to a constant: half the sum of squares in standard
        deviations, and for each channel whose noise is estimated its degrees of freedom times the
        logarithm of its standard deviation, relative to how far the channel varies.
    - `seconds`: wall time (s), compilation included.
    - `window`: length of windows (s), or `None`.
    - `checked`: a [`jaxspark.fit.Check`][] of data and model before the fit, or `None`.
    """

    model: Model
    records: tuple[Record, ...]
    problem: Problem
    options: Options
    state: State
    history: tuple[float, ...]
    seconds: float
    window: float | None = None
    checked: Check | None = None

    def __repr__(self) -> str:
        values = [f"{name} = {value:.6g}" for name, value in self.values.items()]
        if len(values) > MOST_NAMED:
            values[MOST_NAMED:] = [f"{len(values) - MOST_NAMED} more"]
        count = len(self.records)
        of = f'"{self.model.title}", {count} record{"" if count == 1 else "s"}'
        return f"Fit({'; '.join([of, ', '.join(values) or 'no parameters', self.message])})"

    def _repr_html_(self) -> str:
        shared, errors = self.problem.shared, self.errors
        rows = [
            (name, f"{value:.6g}", f"{errors[name]:.2g}", unit)
            for (name, value), unit in zip(self.values.items(), shared.units, strict=True)
        ][:MOST_SHOWN]
        more = len(self.names) - len(rows)
        rows += [(f"{more} more", "", "", "")] if more else []
        heads = ("parameter", "estimate", "standard error", "unit")
        return table(f"{self.model.title}: {self.message}", heads, rows)

    @property
    def converged(self) -> bool:
        """Whether another step would change nothing that the data tell."""
        return bool(self.state.done)

    @property
    def message(self) -> str:
        """How it ended, in words. Iterations are counted as `max_iterations` counts them."""
        count = int(self.state.iteration)
        iterations = f"{count} iteration" if count == 1 else f"{count} iterations"
        if not bool(jnp.any(self.options.free)):
            return f"Gradients were followed for {len(self.history)} steps."
        if self.converged:
            count = len(self.names)
            told = self.uncertainty.directions.rank if count else 0
            known = "" if told == count else f"; the data tell {told} of {count} combinations"
            return f"Converged after {iterations}{known}."
        if bool(self.state.stuck):
            return (
                f"No step makes the residuals smaller, after {iterations}: the simulation "
                "may not be smooth in the parameters (switches, steps that are too long), or the "
                "start values too far off. Try a smaller step, other start values, "
                "many starts (fit.multistart), or windows."
            )
        return f"Not converged within {iterations}: allow more (max_iterations)."

    @property
    def vector(self) -> Float[np.ndarray, " p"]:
        """Physical values of all parameters, in the order of `names`."""
        return np.asarray(self.problem.shared.physical(self._unknowns))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters that were estimated."""
        return self.problem.shared.names

    @property
    def values(self) -> dict[str, float]:
        """The estimates by name."""
        return dict(zip(self.names, self.vector.tolist(), strict=True))

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors of the estimates by name; infinite where the data do not tell them."""
        return dict(zip(self.names, self.uncertainty.errors.tolist(), strict=True))

    def parameters(self, trial: int = 0) -> Any:
        """The tree of parameters with the estimates in place of specifications.

        **Arguments:**

        - `trial`: the number of the trial, from 0, whose own parameters are taken.
        """
        return self.problem.shared.args(self._unknowns, trial)

    @property
    def sigma(self) -> dict[str, float]:
        """Standard deviation of each channel's noise, given or estimated, in its unit."""
        return dict(zip(self.problem.channels, np.asarray(self.state.sigma).tolist(), strict=True))

    @functools.cached_property
    def sensitivities(self) -> Sensitivities:
        """The prediction and its derivative; on one device by a program that is compiled."""
        return simulated(self.problem, self.state.u)

    @property
    def prediction(self) -> Prediction:
        """What the model predicts for all trials, or windows."""
        return self.sensitivities.prediction

    @functools.cached_property
    def uncertainty(self) -> "Any":
        """Covariances, correlations, what is identifiable: a [`jaxspark.fit.Uncertainty`][]."""
        from ._uncertainty import uncertainty

        return uncertainty(self)

    @functools.cached_property
    def rows(self) -> "Any":
        """Residuals and their Jacobian, sample by sample: a [`jaxspark.fit.Rows`][].

        **Raises:** `ValueError` if there are no more samples than unknowns, and unknown noise.
        """
        from ._rows import weighted_rows

        return weighted_rows(self, self.uncertainty.spread)

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
        - `profiles`: what [`jaxspark.fit.profile`][] returned.
        - `level`: the confidence level of the intervals.

        **Returns:** the [`jaxspark.fit.Findings`][].
        """
        from ._summary import findings

        held = [held_out] if isinstance(held_out, Record) else list(held_out)
        check_units([*self.records, *held])
        observed = self.problem.channels
        records = [complete(record, observed) for record in self.records]
        held = [complete(record, observed) for record in held]
        fit = self
        if any(a is not b for a, b in zip(records, self.records, strict=True)):
            fit = dataclasses.replace(self, records=tuple(records))
        with warnings.catch_warnings():
            # Of a channel that a record lacks nothing is the largest.
            warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
            found = findings(fit, held, profiles, level)
        return dataclasses.replace(found, trials=tuple(map(measured_only, found.trials)))

    def predict(self, records: Record | list[Record] | tuple[Record, ...]) -> "tuple[Any, ...]":
        """What the model says of records that were not fitted.

        Their starts, if unknown, and parameters of their own are estimated from them, with all
        that records share as it was found.

        **Arguments:**

        - `records`: one [`jaxspark.fit.Record`][] or several.

        **Returns:** a [`jaxspark.fit.Trial`][] for each; see [`jaxspark.fit.rms_of`][].
        """
        from ._left_out import predicted

        with needing_inputs():
            return tuple(predicted(self, as_records(records)))

    def report(self, folder: str | Path, **options: Any) -> Path:
        """Write the report: `report.html`, `report.json`, and each figure as a PNG file.

        **Arguments:**

        - `folder`: where; made if it does not exist.
        - `options`: as for `findings`.

        **Returns:** the path of the page.
        """
        from ._report import write_report

        return write_report(self.findings(**options), folder)

    @property
    def _unknowns(self) -> jax.Array:
        return jnp.asarray(self.state.u)[: self.problem.shared.size]
