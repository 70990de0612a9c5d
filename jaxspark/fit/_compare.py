"""Laws that were fitted to the same records, side by side."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._doubts import criteria_of
from ._findings import Channel, Trial
from ._fit import Fit
from ._left_out import cross_validate, rms_of
from ._record import Record
from ._text_table import columns
from ._trials import trials_of
from ._whiteness import whiteness


@dataclass(frozen=True)
class Law:
    """One row of a [`jaxspark.fit.Comparison`][].

    - `name`: the name of the law.
    - `told`: how many combinations of unknowns the records tell, starts and noise among them; for
        robust losses without the noise.
    - `left_out`: root mean square of the residuals of records left out, by channel (its unit).
    - `score`: geometric mean of these, over that of the best law: 1 for the best.
    - `bic`: Schwarz's criterion, which takes residuals as white; NaN for robust losses.
    - `bic_correlated`: the same, with the number of samples replaced by that of independent ones
        among the residuals of the best law.
    - `samples`, `independent`: these two numbers.
    - `converged`: whether the fit converged, and those without the records left out.
    """

    name: str
    told: int
    left_out: Mapping[str, float]
    score: float
    bic: float
    bic_correlated: float
    samples: int
    independent: float
    converged: bool


@dataclass(frozen=True)
class Comparison:
    """What [`jaxspark.fit.compare`][] found; its text is a table.

    - `laws`: a [`jaxspark.fit.Law`][] for each law, the best first.
    """

    laws: tuple[Law, ...]

    @property
    def best(self) -> str:
        """The law that predicts records left out best."""
        return self.laws[0].name

    @property
    def by_bic(self) -> str:
        """The law with the smallest criterion of Schwarz for correlated residuals."""
        order = lambda law: (np.isnan(law.bic_correlated), law.bic_correlated)
        return min(self.laws, key=order).name

    def __str__(self) -> str:
        channels = tuple(self.laws[0].left_out)
        heads = ("law", "told", *(f"left out: {name}" for name in channels), "score", "BIC",
                 "for correlated residuals")  # fmt: skip
        rows = [
            (law.name if law.converged else f"{law.name} (not converged)", f"{law.told}",
             *(f"{law.left_out[channel]:.3g}" for channel in channels), f"{law.score:.2f}",
             f"{law.bic:.0f}", f"{law.bic_correlated:.0f}")
            for law in self.laws
        ]  # fmt: skip
        return "\n".join(columns(heads, rows, "l" + "r" * (len(heads) - 1)))


def compare(
    fits: Mapping[str, Fit] | Any,
    held_out: Record | Sequence[Record] = (),
    folds: Sequence[Sequence[int]] | None = None,
) -> Comparison:
    """Compare several laws by how well each predicts records left out.

    Criteria such as Schwarz's take residuals as white. Those of mechanisms are correlated over
    many samples, because what a model leaves out is not noise: the criteria then favour the law
    with the most parameters. The table has both; its order is that of records left out.

    **Arguments:**

    - `fits`: a [`jaxspark.fit.Fit`][] for each law, by its name; all of the same records.
    - `held_out`: records that no fit has seen: their starts and own parameters are fitted. Without
        them records of the fits are left out, by `folds`.
    - `folds`: as for [`jaxspark.fit.cross_validate`][].

    **Returns:** a [`jaxspark.fit.Comparison`][], whose text is a table.

    **Raises:** `TypeError` for fits without names; `ValueError` for no fits, fits of different
    records, windows or channels, or both `held_out` and `folds`; otherwise as
    [`jaxspark.fit.cross_validate`][].

    Source: M. Stone, *Cross-validatory choice and assessment of statistical predictions* (1974);
    H. J. Thiébaux & F. W. Zwiers, *The interpretation and estimation of effective sample size*
    (1984). Schwarz's criterion with the latter is ours.
    """
    held = [held_out] if isinstance(held_out, Record) else list(held_out)
    if held and folds is not None:
        raise ValueError(
            "Give held_out or folds, not both: the fits as they are predict what is held out."
        )
    _check_alike(fits)
    order = lambda row: (not np.isfinite(row[0].score), row[0].score)
    rows = sorted((_row(name, fit, held, folds) for name, fit in fits.items()), key=order)
    best = rows[0][0]
    return Comparison(tuple(_beside(best, law, likelihood) for law, likelihood in rows))


def _check_alike(fits: Any) -> None:
    if not isinstance(fits, Mapping):
        raise TypeError('compare: give a dictionary of fits by name, {"viscous": fit, ...}.')
    if not fits:
        raise ValueError("There are no fits to compare: give a dictionary of them by name.")
    (first, one), *others = fits.items()
    for name, other in others:
        same = len(one.records) == len(other.records) and all(
            np.array_equal(a.times, b.times) and _equal(a.channels, b.channels)
            for a, b in zip(one.records, other.records)
        )
        if one.problem.owners != other.problem.owners or one.problem.links != other.problem.links:
            raise ValueError(f"{first} and {name} were fitted in different windows.")
        if not same:
            raise ValueError(f"{first} and {name} were fitted to different records.")
        if one.problem.channels != other.problem.channels:
            raise ValueError(
                f"{first} predicts {', '.join(one.problem.channels)}, and {name} "
                f"{', '.join(other.problem.channels)}: they cannot be compared."
            )


def _equal(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)


def _row(name: str, fit: Fit, held: list[Record], folds: Any) -> tuple[Law, float]:
    """A law by itself, and the logarithm of its likelihood, for white residuals."""
    if held:
        left, converged = rms_of(fit.predict(held)), fit.converged
    else:
        crossed = cross_validate(fit, folds)
        left, converged = crossed.rms, fit.converged and all(crossed.converged)
    trials = trials_of(fit, fit.problem, fit.prediction, fit.records, False)
    sizes = np.array(list(left.values()))
    score = float(np.exp(np.mean(np.log(sizes)))) if np.all(sizes > 0) else float(np.min(sizes))
    own = criteria_of(fit)
    if own is None:
        told, bic, likelihood = fit.uncertainty.information.rank, np.nan, np.nan
    else:
        # Akaike's criterion counts each unknown twice.
        bic, likelihood = own.bic, own.log_likelihood
        told = round(own.aic / 2 + likelihood)
    samples = int(np.sum(np.asarray(fit.problem.data.present)))
    independent = samples * _independent(trials)
    law = Law(name, told, left, score, bic, np.nan, samples, independent, converged)
    return law, likelihood


def _beside(best: Law, law: Law, likelihood: float) -> Law:
    """A law with its score over the best one's, and its criterion for correlated residuals.

    `told log m - 2 (m / n) log L`, of `n` samples of which `m` are independent, of the residuals of
    the best law: one number for all, as likelihoods are compared.
    """
    share = best.independent / best.samples
    corrected = law.told * np.log(share * law.samples) - 2 * share * likelihood
    score = law.score / best.score if best.score > 0 else law.score
    return dataclasses.replace(law, score=score, bic_correlated=float(corrected))


def _independent(trials: Sequence[Trial]) -> float:
    """Which share of all samples is as good as independent."""
    channels = [channel for trial in trials for channel in trial.channels]
    counts = np.array([np.isfinite(channel.measured).sum() for channel in channels])
    return float(np.sum(counts / [_inefficiency(channel) for channel in channels]) / np.sum(counts))


def _inefficiency(channel: Channel) -> float:
    """How many samples of a channel are as good as one that is independent; at least 1.

    `1 + 2 sum_k (1 - k / n) r_k`, of which estimates `r_k` have the factor already. The sum ends
    before the first lag where residuals are not correlated: further ones add noise alone.

    Source: H. J. Thiébaux & F. W. Zwiers, *The interpretation and estimation of effective sample
    size*, J. Climate and Applied Meteorology 23 (1984).
    """
    residual = channel.measured - channel.predicted
    longest = residual.size // 2
    if longest < 1:
        return 1.0
    white = whiteness(residual, max_lag=longest)
    beyond = np.flatnonzero(~(white.autocorrelation > white.bound))
    last = int(beyond[0]) if beyond.size else white.autocorrelation.size
    return max(1.0, 1.0 + 2.0 * float(np.sum(white.autocorrelation[1:last])))
