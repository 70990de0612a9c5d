"""Whether the fit can be trusted: checks, and one sentence."""

import math
from typing import Literal, NamedTuple

from .._findings import Findings
from ._digits import number
from ._estimates import free
from ._scores import pooled_ratio, Score, scores


# Trials held out may be predicted that much worse than those fitted.
TOLERATED = 1.5


class Check(NamedTuple):
    """One question to the fit.

    - `title`: what is asked.
    - `state`: the answer; `"none"` if there is nothing to tell.
    - `words`: the answer, as a clause.
    """

    title: str
    state: Literal["good", "warn", "bad", "none"]
    words: str


def checks(findings: Findings) -> tuple[Check, ...]:
    """Did it converge, do the data tell all, are residuals white, do new trials agree?

    Whether there is a motion at all is told only if there is none.
    """
    return (
        _convergence(findings),
        _identifiability(findings),
        *_motion(findings),
        _whiteness(scores(findings)),
        _prediction(scores(findings)),
    )


def verdict(findings: Findings) -> str:
    """All checks in one sentence."""
    words = "; ".join(check.words for check in checks(findings))
    return f"{words[0].upper()}{words[1:]}."


def ending(findings: Findings) -> str:
    """How the fit ended, in a sentence or two."""
    ended = "Converged" if findings.converged else "Not converged"
    message = findings.message.strip()
    return message if message.startswith(ended) else f"{ended}. {message}".strip()


def _convergence(findings: Findings) -> Check:
    if findings.converged:
        return Check("Convergence", "good", "the fit converged")
    reason = findings.message.strip().rstrip(".")
    return Check(
        "Convergence", "bad", f"the fit did not converge ({reason or 'no reason was given'})"
    )


def _identifiability(findings: Findings) -> Check:
    title, parameters = "Identifiability", free(findings)
    unknown = sum(not estimate.identifiable for estimate in parameters)
    count = _count(len(parameters), "free parameter")
    if not parameters:
        return Check(title, "none", "no parameter was free")
    if unknown:
        verb = "is" if unknown == 1 else "are"
        return Check(title, "bad", f"{unknown} of {count} {verb} not identifiable")
    if findings.unidentifiable:
        combinations = _count(len(findings.unidentifiable), "combination")
        return Check(title, "bad", f"the data do not tell {combinations} of {count}")
    if len(parameters) == 1:
        return Check(title, "good", "the free parameter is identifiable")
    return Check(title, "good", f"all {count} are identifiable")


def _motion(findings: Findings) -> tuple[Check, ...]:
    if not findings.flat:
        return ()
    return (Check("Motion", "bad", "the model explains no more than constants do"),)


def _whiteness(of: tuple[Score, ...]) -> Check:
    title = "Residuals"
    tested = [score for score in of if not score.trial.held_out and score.white is not None]
    white = sum(bool(score.white) for score in tested)
    if not tested:
        return Check(title, "none", "residuals were not tested for whiteness")
    if white == len(tested):
        return Check(title, "good", "residuals are white in every fitted channel")
    verb = "is" if white == 1 else "are"
    words = (
        f"residuals of {white or 'none'} of {_count(len(tested), 'fitted channel')} {verb} white"
    )
    return Check(title, "warn", words)


def _prediction(of: tuple[Score, ...]) -> Check:
    title = "Prediction"
    held_out = tuple(score for score in of if score.trial.held_out)
    if not held_out:
        return Check(title, "none", "no trial was held out to test the prediction")
    trials = len({id(score.trial) for score in held_out})
    where = "the held-out trial" if trials == 1 else f"{trials} held-out trials"
    if any(score.samples and not math.isfinite(score.rms) for score in held_out):
        return Check(title, "bad", f"the prediction of {where} failed")
    ratio = pooled_ratio(held_out)
    lowest = min(score.channel.r_squared for score in held_out)
    at_least = "" if len(held_out) == 1 else "at least "
    explained = f"R² {at_least}{number(lowest, 4)}"
    if math.isnan(ratio):
        return Check(title, "warn", f"the prediction of {where} has {explained}")
    fitted = pooled_ratio(tuple(score for score in of if not score.trial.held_out))
    expected = max(1.0, fitted) if math.isfinite(fitted) else 1.0
    good = ratio <= TOLERATED * expected
    words = f"the error on {where} is {number(ratio, 2)} times the noise ({explained})"
    return Check(title, "good" if good else "warn", words)


def _count(number_of: int, noun: str) -> str:
    return f"{number_of} {noun}" if number_of == 1 else f"{number_of} {noun}s"
