"""From a fit to findings: everything as plain numbers."""

import dataclasses
import math
import platform
from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .. import __version__
from ._combinations import unidentifiable_words
from ._correlated import correlated_errors
from ._doubts import criteria_of, doubts, hold_out_of
from ._findings import Estimate, Findings, Profile
from ._fit import Fit
from ._intervals import intervals, intervals_in
from ._left_out import predicted
from ._record import Record
from ._trials import trials_of


# Of the range between bounds: nearer than this an estimate is at a bound.
AT_BOUND = 1e-4


def findings(
    fit: Fit, held_out: Record | Sequence[Record], profiles: tuple[Profile, ...], level: float
) -> Findings:
    """All that was found; see [`jaxspark.fit.Fit.findings`][]."""
    held = [held_out] if isinstance(held_out, Record) else list(held_out)
    records = _apart([*fit.records, *held])
    if records != [*fit.records, *held]:
        count = len(fit.records)
        fit, held = dataclasses.replace(fit, records=tuple(records[:count])), records[count:]
    known = fit.uncertainty
    trials = trials_of(fit, fit.problem, fit.prediction, fit.records, False)
    free = _estimates(fit, level, correlated_errors(fit, trials))
    starts = _initial_states(fit, level)
    trials += predicted(fit, held)
    fixed = tuple(
        Estimate(name, unit, value, value, np.nan, np.nan, np.nan, fixed=True)
        for name, unit, value in fit.problem.shared.fixed
    )
    return Findings(
        title=fit.model.title,
        estimates=(*free, *fixed),
        initial_states=starts,
        correlation=known.correlation,
        combinations=known.directions.combinations,
        unidentifiable=unidentifiable_words(known.directions),
        level=level,
        trials=tuple(trials),
        loss=fit.history,
        converged=fit.converged,
        message=fit.message,
        worst_residual=float(fit.state.found.worst),
        seconds=fit.seconds,
        versions={
            "jaxspark": __version__,
            "jax": jax.__version__,
            "python": platform.python_version(),
        },
        profiles=tuple(profiles),
        warnings=(*doubts(fit), *_untold_starts(starts), *_before(fit)),
        lines=fit.model.lines,
        flat=known.flat,
        criteria=criteria_of(fit),
        hold_out=hold_out_of(fit, trials),
    )


def _apart(records: list[Record]) -> list[Record]:
    """Those of the same name are numbered."""
    counts = Counter(record.name for record in records)
    seen, found = Counter(), []
    for record in records:
        name = record.name
        seen[name] += 1
        if counts[name] > 1:
            record = dataclasses.replace(record, name=f"{name} ({seen[name]})")
        found.append(record)
    return found


def _estimates(fit: Fit, level: float, correlated: Float[np.ndarray, " q"]) -> tuple[Estimate, ...]:
    known, shared = fit.uncertainty, fit.problem.shared
    u = np.asarray(fit.state.u)[: shared.size]
    errors = known.errors
    low, high = intervals(known.values, errors, known.dof, level)
    # Values that depend on one coordinate each have intervals inside their bounds.
    alone = np.count_nonzero(known.dphysical, axis=1) == 1
    alone &= np.diag(known.dphysical) != 0
    u_errors = np.sqrt(np.diag(known.covariance))[: shared.size]
    ends = intervals_in(
        u, np.where(np.isinf(errors), np.inf, u_errors),
        lambda u: np.asarray(shared.physical(jnp.asarray(u))), known.dof, level,
    )  # fmt: skip
    low, high = np.where(alone, ends[0], low), np.where(alone, ends[1], high)
    start = np.asarray(shared.physical(shared.start))
    lower, upper = (np.asarray(x).tolist() for x in shared.bounds())
    sides = [_side(*at) for at in zip(known.values.tolist(), lower, upper)]
    columns = zip(shared.names, shared.units, start, known.values, errors, low, high)
    return tuple(
        _estimate(
            name, unit, numbers, identifiable=bool(told), at_bound=side,
            # The same object for all: findings without it are equal to what was written of them.
            correlated_error=math.nan if math.isnan(other) else other,
        )
        for (name, unit, *numbers), told, side, other in zip(
            columns, known.identifiable, sides, correlated.tolist()
        )
    )  # fmt: skip


def _estimate(name: str, unit: str, numbers: Any, **flags: Any) -> Estimate:
    start, value, error, low, high = map(float, numbers)
    return Estimate(name, unit, start, value, error, low, high, **flags)


def _side(value: float, lower: float, upper: float) -> Any:
    width = upper - lower
    if not np.isfinite(width):
        return ""
    if value - lower < AT_BOUND * width:
        return "lower"
    return "upper" if upper - value < AT_BOUND * width else ""


def _initial_states(fit: Fit, level: float) -> tuple[Estimate, ...]:
    """Coordinates and velocities at the start of each record, if they were estimated."""
    problem, known = fit.problem, fit.uncertainty
    if problem.num_start == 0:
        return ()
    before = np.concatenate([problem.tangents.y, problem.tangents.z], 1)
    at_u = fit.sensitivities
    values = np.concatenate([at_u.prediction.y0, at_u.prediction.z0], 1)
    slopes = np.asarray(at_u.begun)
    local, firsts = problem.local(), [
        k for k in range(problem.num_trials) if k - 1 not in problem.links
    ]  # fmt: skip
    found = []
    for k in firsts:
        slope = np.zeros((values.shape[1], problem.size))
        slope[:, local[k]] = slopes[k]
        told = known.tells(slope)
        squares = np.einsum("ij,jk,ik->i", slope, known.covariance, slope)
        errors = np.where(told, np.sqrt(np.maximum(squares, 0)), np.inf)
        low, high = intervals(np.asarray(values[k]), errors, known.dof, level)
        ny = problem.tangents.y.shape[1]
        name = fit.records[problem.owners[k]].name
        for i, numbers in enumerate(zip(before[k], values[k], errors, low, high)):
            label = f"y[{i}]" if i < ny else f"z[{i - ny}]"
            found.append(_estimate(f"{label} ({name})", "", numbers, identifiable=bool(told[i])))
    return tuple(found)


def _untold_starts(starts: tuple[Estimate, ...]) -> tuple[str, ...]:
    names = [start.name for start in starts if not start.identifiable]
    if not names:
        return ()
    return (f"The measurements do not tell these initial states: {', '.join(names)}.",)


def _before(fit: Fit) -> tuple[str, ...]:
    """What the check before the fit said of the data; what they tell is known better since."""
    remarks = () if fit.checked is None else fit.checked.remarks
    return tuple(str(remark) for remark in remarks if remark.kind == "data")
