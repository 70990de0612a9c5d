"""Records that were not fitted: their own unknowns are found, with all that is shared held."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ._findings import Trial
from ._fit import Fit
from ._held import MOST, own_fitted
from ._iteration import iterated
from ._levenberg import begin, State
from ._predict import predict
from ._problem import make_problem, Problem
from ._proposal import Options
from ._record import Record
from ._sensitivities import simulated
from ._shaped import fits, room_of, shaped
from ._shooting import own_of_windows
from ._suitable import complete, measured_only
from ._trials import trials_of


def predicted(fit: Fit, records: Sequence[Record]) -> list[Trial]:
    """What a fit says of records that were not fitted, their starts and own parameters found.

    Records no longer than the fitted ones are arranged as these are: nothing is compiled.
    """
    problem = fit.problem
    if not records:
        return []
    completed = [complete(record, problem.channels) for record in records]
    return [measured_only(trial) for trial in _predicted(fit, completed)]


def _predicted(fit: Fit, records: Sequence[Record]) -> list[Trial]:
    """The same of records that have all channels, some of them without a sample."""
    problem = fit.problem
    if problem.links or len(set(problem.owners)) < len(problem.owners):
        return [trial for record in records for trial in _in_windows(fit, record)]
    if problem.mesh is not None or len(fit.model.start.alone()) > 1:
        return [trial for record in records for trial in _alone(fit, record)]
    found, count = [], problem.num_trials
    for first in range(0, len(records), count):
        some = records[first : first + count]
        filled = [some[k % len(some)] for k in range(count)]
        like, room = make_problem(fit.model, filled), room_of(problem)
        if not fits(like, *room):
            found += [trial for record in some for trial in _alone(fit, record)]
            continue
        like = shaped(like, *room)
        u = like.start.at[: like.shared.num_shared].set(fit.state.u[: like.shared.num_shared])
        own = jnp.arange(like.size) >= like.shared.num_shared
        state = _searched(like, u, fit.state.sigma, Options(jnp.ones_like(fit.options.known), own))
        shown = simulated(like, state.u).prediction
        found += trials_of(fit, like, shown, some, True)
    return found


def _alone(fit: Fit, record: Record) -> list[Trial]:
    """A record as a problem of its own."""
    shared = fit.state.u[: fit.problem.shared.num_shared]
    problem, u = own_fitted(fit.model, record, fit.state.sigma, shared)
    return trials_of(fit, problem, predict(problem, u), [record], True)


def _in_windows(fit: Fit, record: Record) -> list[Trial]:
    """A record in windows that need not join, if those of the fit need not; or as a whole."""
    if fit.problem.links:
        return _alone(fit, record)
    assert fit.window is not None
    shared = fit.state.u[: fit.problem.shared.num_shared]
    problem, u = own_of_windows(fit.model, record, fit.window, fit.state.sigma, shared)
    return trials_of(fit, problem, predict(problem, u), [record], True)


def _searched(problem: Problem, u: Float[Array, " p"], sigma: Any, options: Options) -> State:
    """The end of an iteration by the programs of a fit."""
    state = begin(problem, u, sigma, options)
    for _ in range(MOST):
        state = iterated(problem, state, options)
        if bool(state.done) or bool(state.stuck):
            break
    return state


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How well fits to the others predict each record; see [`jaxspark.fit.cross_validate`][].

    - `folds`: numbers of the records left out at a time.
    - `values`: estimates of each fold's fit, by name; NaN for what is a left-out record's own.
    - `trials`: a [`jaxspark.fit.Trial`][] for each record left out, in the order of the records,
        predicted by the fit without it.
    - `converged`: whether the fit of each fold converged.
    """

    folds: tuple[tuple[int, ...], ...]
    values: tuple[dict[str, float], ...]
    trials: tuple[Trial, ...]
    converged: tuple[bool, ...]

    @property
    def rms(self) -> dict[str, float]:
        """Root mean square of the residuals of each channel, over all records (its unit)."""
        return rms_of(self.trials)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {value:.3g}" for name, value in self.rms.items())
        count = len(self.folds)
        return f"CrossValidation({count} folds; left out: {parts})"


def rms_of(trials: Sequence[Trial]) -> dict[str, float]:
    """Root mean square of measured minus predicted, of each channel, all trials together.

    **Arguments:**

    - `trials`: what `predict` of a [`jaxspark.fit.Fit`][] returns, for instance.

    **Returns:** by the name of the channel, in its unit; NaN without a sample.
    """
    squares: dict[str, list[np.ndarray]] = {}
    for trial in trials:
        for channel in trial.channels:
            difference = channel.measured - channel.predicted
            there = difference[np.isfinite(channel.measured)]
            squares.setdefault(channel.name, []).append(there**2)
    joined = {name: np.concatenate(parts) for name, parts in squares.items()}
    return {name: float(np.sqrt(np.mean(x))) if x.size else np.nan for name, x in joined.items()}


def cross_validate(found: Fit, folds: Any = None) -> CrossValidation:
    """Leave records out, fit the others again, and predict what was left out.

    It compares laws on what counts, motions that were not fitted: criteria such as Schwarz's take
    residuals as independent, and choose too many terms where they are not. Fits start at the
    estimates from all records, and run by the programs of that fit: nothing is compiled. The start
    of a record left out, and parameters of its own, are estimated from it with all else held.

    **Arguments:**

    - `found`: a [`jaxspark.fit.Fit`][] to several records, without windows.
    - `folds`: lists of the numbers of the records, from 0, to leave out at a time. Default: one
        record after the other.

    **Returns:** a [`jaxspark.fit.CrossValidation`][].

    **Raises:** `ValueError` if there are fewer than two records, for folds that have unknown
    records, one twice, none or all, and for a fit with windows.

    Source: M. Stone, *Cross-validatory choice and assessment of statistical predictions*, J. Royal
    Statistical Society B 36 (1974).
    """
    problem, count = found.problem, len(found.records)
    if count < 2:
        raise ValueError("cross_validate needs at least two records, of which to leave one out.")
    if len(problem.owners) != count:
        raise ValueError("cross_validate is for fits to whole records: fit without window=.")
    chosen = _folds(folds, count)
    trials: list[Trial | None] = [None] * count
    records = [complete(record, problem.channels) for record in found.records]
    values, converged = [], []
    for fold in chosen:
        out = np.isin(np.arange(count), fold)
        state, shown = _without(found, out)
        physical = np.asarray(problem.shared.physical(state[0].u[: problem.shared.size]))
        named = dict(zip(found.names, physical.tolist(), strict=True))
        # What belongs to a record left out alone no other tells.
        own = tuple(f"(trial {k})" for k in fold)
        values.append({key: np.nan if key.endswith(own) else x for key, x in named.items()})
        converged.append(bool(state[0].done))
        of = trials_of(found, problem, shown, records, True)
        for k in fold:
            trials[k] = measured_only(of[k])
    there = tuple(trial for trial in trials if trial is not None)
    return CrossValidation(chosen, tuple(values), there, tuple(converged))


def _folds(folds: Any, count: int) -> tuple[tuple[int, ...], ...]:
    try:
        chosen = tuple((k,) for k in range(count)) if folds is None else tuple(map(tuple, folds))
    except TypeError:
        chosen = ()
    listed = [k for fold in chosen for k in fold]
    right = all(0 <= k < count for k in listed) and len(set(listed)) == len(listed)
    if not right or not listed or any(not 0 < len(fold) < count for fold in chosen):
        raise ValueError(
            f"folds are lists of numbers of records, from 0 to {count - 1}, each in one of them "
            f"and not all in the same; got {folds!r}."
        )
    return chosen


def _without(found: Fit, out: Bool[np.ndarray, " records"]) -> tuple[tuple[State, State], Any]:
    """The fit without some records, then with what is these records' own; and what is shown."""
    problem = found.problem
    present = problem.data.present & jnp.asarray(~out)[:, None, None]
    left = eqx.tree_at(lambda problem: problem.data.present, problem, present)
    own = np.zeros(problem.size, bool)
    own[problem.local()[out][:, problem.shared.num_shared :]] = True
    given = found.options.known
    fitted = _searched(left, found.state.u, found.state.sigma, Options(given, jnp.asarray(~own)))
    all_known = Options(jnp.ones_like(given), jnp.asarray(own))
    last = _searched(problem, fitted.u, fitted.sigma, all_known)
    return (fitted, last), simulated(problem, last.u).prediction
