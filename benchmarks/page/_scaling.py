"""Chains of ever more rods: CPU time of a simulated second."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._result import ours, Result
from ..large._angles import angles
from ..large._chain_ida import ida_run, installed
from ..large._chains import Model, planar_chain
from ..large._integrate import explicit_run, residuals
from ..large._measure import call_seconds
from ..large._simulation import SHORT, TARGET
from ..large._splu import least_seconds


PROBLEM = "planar chain of rods"
SIZES = (8, 32, 128, 512)
# The loosest that reaches the error counts; IDA needs tighter ones.
OURS, OF_IDA = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6), (1e-4, 3e-5, 1e-5, 3e-6, 1e-6)


class _Run(NamedTuple):
    """Error of the angles, residual of the constraints, further numbers, and what is timed."""

    error: float
    residual: float
    extra: dict[str, float]
    seconds: Callable[[], float]


def scaling(tiny: bool) -> Iterator[Result]:
    """Chains of 8 to 512 rods: explicit steps on the constraints, and IDA with sparse matrices.

    Each at the loosest tolerance at which the angles at the end are right to 1e-4.
    """
    t_end = SHORT if tiny else 1.0
    for n in SIZES[:1] if tiny else SIZES:
        model = planar_chain(n)
        yield from _cheapest(model, ours("projected DOP853"), _explicit, OURS, t_end)
        if installed():
            yield from _cheapest(model, "IDA gglint, sparse", _ida, OF_IDA, t_end)


def _cheapest(
    model: Model,
    solver: str,
    run: Callable[[Model, float, float], _Run],
    tolerances: Sequence[float],
    t_end: float,
) -> Iterator[Result]:
    """None if no tolerance reaches the error."""
    for tolerance in tolerances:
        try:
            found = run(model, tolerance, t_end)
        except RuntimeError:  # of IDA, where it gives up
            continue
        if found.error <= TARGET:
            yield Result(
                "scaling", PROBLEM, solver, f"tolerance {tolerance:.0e}",
                found.seconds() / t_end, found.error, found.residual,
                {"bodies": float(model.bodies), **found.extra},
            )  # fmt: skip
            return


def _explicit(model: Model, tolerance: float, t_end: float) -> _Run:
    run = explicit_run(model, t_end)
    end = run(tolerance)
    error = _error(np.asarray(end.y)[:, 2], model, t_end) if bool(end.good) else np.inf
    residual = max(residuals(model, end.y, end.z))
    extra = {"steps": float(end.steps)}
    return _Run(error, residual, extra, lambda: call_seconds(run, tolerance, repeats=3))


def _ida(model: Model, tolerance: float, t_end: float) -> _Run:
    run = ida_run(model, tolerance, t_end)
    error = _error(run(), model, t_end)
    repeats = 1 if model.bodies > 128 else 3
    return _Run(error, float("nan"), {}, lambda: least_seconds(run, repeats))


def _error(found: np.ndarray, model: Model, t_end: float) -> float:
    """NaN counts as infinite."""
    error = float(np.max(np.abs(found - angles(model.bodies, t_end=t_end))))
    return error if np.isfinite(error) else float("inf")
