"""What to say of an estimate."""

import math

from .._findings import Estimate, Findings
from ._digits import interval, MISSING, number, percent, rounded


def flags(estimate: Estimate) -> tuple[str, ...]:
    """What to know of an estimate besides its numbers."""
    if estimate.fixed:
        return ("held",)
    found = [] if estimate.identifiable else ["not identifiable"]
    return (*found, f"at {estimate.at_bound} bound") if estimate.at_bound else tuple(found)


def free(findings: Findings) -> tuple[Estimate, ...]:
    """The estimates that were not held, in the order of the correlation matrix."""
    return tuple(estimate for estimate in findings.estimates if not estimate.fixed)


def any_correlated(estimates: tuple[Estimate, ...]) -> bool:
    """Whether errors that allow for correlated residuals are known of any."""
    return any(math.isfinite(estimate.correlated_error) for estimate in estimates)


def correlated(estimate: Estimate) -> str:
    """The standard error that allows for correlated residuals, as text."""
    known = estimate.identifiable and not estimate.fixed
    return rounded(estimate.value, estimate.correlated_error)[1] if known else MISSING


def cells(estimate: Estimate) -> tuple[str, str, str, str, str]:
    """Value, standard error, relative error, interval and start, as text.

    What the data do not tell has three digits and no error.
    """
    start = number(estimate.start)
    if not (estimate.identifiable or estimate.fixed):
        return number(estimate.value, 3), MISSING, MISSING, MISSING, start
    value, error = rounded(estimate.value, estimate.error)
    relative = estimate.error / abs(estimate.value) if estimate.value else math.nan
    ends = interval(estimate.low, estimate.high, estimate.error)
    if estimate.fixed:
        return value, MISSING, MISSING, MISSING, start
    return value, error, percent(relative), ends, start
