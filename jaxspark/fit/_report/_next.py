"""What to do next, as far as a report says."""

from .._findings import Findings
from ._scores import scores
from ._verdict import checks


def next_steps(findings: Findings) -> tuple[str, ...]:
    """The next things to do, each a sentence or two; none where nothing is in doubt."""
    states = {check.title: check.state for check in checks(findings)}
    steps = []
    if not findings.converged:
        steps.append("Look at data and start values first (jaxspark check, fit.check).")
    if findings.unidentifiable:
        steps.append(
            "Hold one parameter of each combination that is not told, or compare and publish base "
            "parameters (fit.base_parameters): single estimates among these mean nothing."
        )
    bounded = [estimate.name for estimate in findings.estimates if estimate.at_bound]
    if bounded:
        steps.append(
            f"{', '.join(bounded)} ended at a bound: leave that term out of the model, or widen it."
        )
    if states["Residuals"] == "warn":
        steps.append(
            "Residuals are not white: something is missing in the model. Try zeros and lags of "
            "sensors, friction and drag (jaxspark.forces); trust errors for correlated residuals."
        )
    if states["Prediction"] == "none" and scores(findings):
        steps.append(
            "Predict a trial that was not fitted (held_out=, fit.cross_validate): criteria such as "
            "BIC choose too many terms where residuals are correlated."
        )
    if states["Prediction"] == "warn":
        steps.append(
            "The prediction is worse than the fit: fit more varied trials, or a law of fewer terms."
        )
    return tuple(steps)
