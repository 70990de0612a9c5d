"""The check before a fit: data, excitation, what can be told, horizons."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._data_remarks import data_remarks
from ._evaluate import weighted_alone
from ._model import Model
from ._motion_remarks import horizon_remarks, rate_remarks, start_remarks
from ._noise import initial_noise
from ._problem import make_problem, Problem
from ._record import Record
from ._remarks import Check, Remark
from ._sensitivities import Sensitivities, simulated
from ._suitable import as_records, needing_inputs
from ._told_remarks import told_remarks


@needing_inputs()
def check(model: Model, records: Record | Sequence[Record]) -> Check:
    """Look at data and model before a fit, where the model starts.

    In the data it looks for gaps, outliers, clipped and stuck channels, angles that wrap, wrong
    units and signs, and rates that are not the derivative of angles. In both it looks for
    parameters without influence, combinations that the data do not tell, with what to hold, and
    records too long for a search over the whole.

    **Arguments:**

    - `model`: a [`jaxspark.fit.Model`][].
    - `records`: as for [`jaxspark.fit.estimate`][].

    **Returns:** a [`jaxspark.fit.Check`][]; print it.

    **Raises:** `DataError` for records that do not suit the model at all, `TypeError` for what are
    not records.
    """
    records = as_records(records)
    _, sigma = initial_noise(model, records)
    failed: dict[int, str] = {}
    problem = make_problem(model, records, failed=failed)
    at_start = simulated(problem, problem.start)
    found = checked_at(problem, records, problem.start, jnp.asarray(sigma), at_start)
    cure = "See what else is wrong; or give other guesses, or start values of sensor parameters."
    starts = [
        Remark("wrong", records[k].name, words.split(": ", 1)[-1].split(". Give")[0] + ".", cure)
        for k, words in failed.items()
    ]
    return Check((*starts, *found.remarks), found.told, found.parameters)


def checked_at(
    problem: Problem,
    records: Sequence[Record],
    u: Float[Array, " p"],
    sigma: Any,
    at_start: Sensitivities,
) -> Check:
    """The check, with the model simulated already at the unknowns `u` where it starts."""
    listed = list(records)
    remarks = [remark for record in listed for remark in data_remarks(record)]
    remarks += rate_remarks(problem, listed)
    found = weighted_alone(problem, u, sigma, at_start)
    told, count = -1, problem.shared.size
    if bool(found.good):
        values = np.asarray(at_start.prediction.values, float)
        remarks += start_remarks(problem, values)
        remarks += horizon_remarks(problem, np.asarray(at_start.jacobian, float))
        more, told = told_remarks(problem, u, found)
        remarks += more
    else:
        words = "the model cannot be simulated from its start values."
        cure = "Choose other start values, a smaller step, or look at fit.simulate."
        remarks.append(Remark("wrong", "start", words, cure))
    order = {"wrong": 0, "doubtful": 1, "note": 2}
    return Check(tuple(sorted(remarks, key=lambda r: order[r.weight])), told, count)
