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
from ._trials import trials_of
from ._whiteness import whiteness


@dataclass(frozen=True)
class Law:
    """One row of a [`jaxspark.fit.Comparison`][].

    - `told`: how many combinations of unknowns the records tell, starts and noise among them.
    - `left_out`: root mean square of what is left of records left out, by channel (its unit).
    - `score`: geometric mean of these, over that of the best law: 1 for the best.
    - `bic`: Schwarz's criterion, which takes residuals as white; NaN for robust losses.
    - `bic_correlated`: the same, with as many samples as are independent of the residuals of the
        best law.
    - `samples`, `independent`: the numbers of both.
    - `converged`: whether the fit did, and those without records left out.
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
    """What [`jaxspark.fit.compare`][] found: a row for each law, the best first."""

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
        head = ("law", "told", *(f"left out: {name}" for name in channels), "score", "BIC",
                "for correlated residuals")  # fmt: skip
        rows: list[tuple[str, ...]] = [head]
        for law in self.laws:
            name = law.name if law.converged else f"{law.name} (not converged)"
            left = (f"{law.left_out[channel]:.3g}" for channel in channels)
            rows.append((name, f"{law.told}", *left, f"{law.score:.2f}", f"{law.bic:.0f}",
                         f"{law.bic_correlated:.0f}"))  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


def compare(
    fits: Mapping[str, Fit],
    held_out: Record | Sequence[Record] = (),
    folds: Sequence[Sequence[int]] | None = None,
) -> Comparison:
    """Which of several laws describes records best: by records left out.

    Criteria such as Schwarz's take residuals for white. Those of mechanisms are correlated over
    many samples, as what a model leaves out is no noise: the criteria then favour the law with the
    most parameters. The table has both; its order is that of records left out.

    **Arguments:**

    - `fits`: by the name of their law; all of the same records.
    - `held_out`: records that no fit has seen: their starts and own parameters are fitted. Without
        them records of the fits are left out, by `folds`.
    - `folds`: as for [`jaxspark.fit.cross_validate`][].

    **Returns:** a [`jaxspark.fit.Comparison`][], whose text is a table.

    **Raises:** `ValueError` for no fits, fits of different records or channels, or both `held_out`
    and `folds`; otherwise as [`jaxspark.fit.cross_validate`][].

    Source: H. J. Thiébaux & F. W. Zwiers, *The interpretation and estimation of effective sample
    size* (1984), for the number of independent samples.
    """
    held = [held_out] if isinstance(held_out, Record) else list(held_out)
    if held and folds is not None:
        raise ValueError("Give held_out or folds: what is held out is predicted by fits to all.")
    _check_alike(fits)
    order = lambda row: (not np.isfinite(row.score), row.score)
    rows = sorted((_row(name, fit, held, folds) for name, fit in fits.items()), key=order)
    # One number of independent samples for all: the likelihoods of laws are compared.
    best, share = rows[0].score, rows[0].independent / rows[0].samples
    return Comparison(tuple(_relative(row, best, share) for row in rows))


def _check_alike(fits: Mapping[str, Fit]) -> None:
    if not fits:
        raise ValueError("There are no fits to compare: give a dictionary of them by name.")
    (first, one), *others = fits.items()
    for name, other in others:
        same = len(one.records) == len(other.records) and all(
            np.array_equal(a.times, b.times) and _equal(a.channels, b.channels)
            for a, b in zip(one.records, other.records)
        )
        if one.problem.owners != other.problem.owners or one.problem.links != other.problem.links:
            raise ValueError(f"{first} and {name} were fitted by different windows.")
        if not same:
            raise ValueError(f"{first} and {name} were fitted to different records.")
        if one.problem.channels != other.problem.channels:
            raise ValueError(
                f"{first} predicts {', '.join(one.problem.channels)}, and {name} "
                f"{', '.join(other.problem.channels)}: they cannot be compared."
            )


def _equal(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)


def _row(name: str, fit: Fit, held: list[Record], folds: Any) -> Law:
    if held:
        left, converged = rms_of(fit.predict(held)), fit.converged
    else:
        crossed = cross_validate(fit, folds)
        left, converged = crossed.rms, fit.converged and all(crossed.converged)
    own = criteria_of(fit)
    trials = trials_of(fit, fit.problem, fit.state.u, fit.prediction, fit.records, False)
    samples, independent = _independent(trials)
    told = fit.uncertainty.information.rank + int(np.sum(~np.asarray(fit.options.known)))
    bic = np.nan if own is None else own.bic
    sizes = np.array(list(left.values()))
    score = float(np.exp(np.mean(np.log(sizes)))) if np.all(sizes > 0) else float(np.min(sizes))
    return Law(name, told, left, score, bic, np.nan, samples, independent, converged)


def _relative(row: Law, best: float, share: float) -> Law:
    """The score beside the best; the criterion with that share of the samples."""
    likelihood = row.bic - row.told * np.log(row.samples)
    corrected = share * likelihood + row.told * np.log(share * row.samples)
    score = row.score / best if best > 0 else row.score
    return dataclasses.replace(row, score=score, bic_correlated=float(corrected))


def _independent(trials: Sequence[Trial]) -> tuple[int, float]:
    """How many samples there are, and how many are as good as independent."""
    channels = [channel for trial in trials for channel in trial.channels]
    counts = [int(np.isfinite(channel.measured).sum()) for channel in channels]
    independent = sum(
        count / _inefficiency(channel) for channel, count in zip(channels, counts, strict=True)
    )
    return sum(counts), independent


def _inefficiency(channel: Channel) -> float:
    """`1 + 2 sum r_k`, over lags up to the first that is not correlated; at least 1."""
    residual = channel.measured - channel.predicted
    longest = residual.size // 2
    if longest < 1:
        return 1.0
    white = whiteness(residual, max_lag=longest)
    beyond = np.flatnonzero(~(white.autocorrelation > white.bound))
    last = int(beyond[0]) if beyond.size else white.autocorrelation.size
    return max(1.0, 1.0 + 2.0 * float(np.sum(white.autocorrelation[1:last])))
