"""Why a model cannot be fitted from where the search starts, and what cannot be fitted at all."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ._check import DataError
from ._predict import predict
from ._problem import Problem
from ._record import Record


def check_whole(name: str, value: Any) -> None:
    """A whole number that is at least 1.

    **Raises:** `ValueError` otherwise.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise ValueError(f"{name} must be a whole number, at least 1; got {value!r}.")


def check_unknowns(problem: Problem, known: Sequence[bool]) -> None:
    """There is something to estimate, and the samples suffice to estimate the noise too.

    **Arguments:**

    - `known`: which channels' noise is known.

    **Raises:** `ValueError` if all is given; `DataError` if there are too few samples.
    """
    shared, unknowns = problem.shared, problem.num_independent
    if not problem.size:
        listed = ", ".join(shared.roots) or "nothing at all"
        raise ValueError(
            f"There is nothing to estimate: the parameters are {listed}, all constant, and the "
            "start is known. Give at least one parameter as fit.real, fit.positive, fit.bounded, "
            "fit.rigid_body, fit.planar_body or fit.free, or look at fit.simulate."
        )
    samples = int(np.sum(np.asarray(problem.data.present)))
    priors = jax.eval_shape(shared.prior_residuals, shared.start).size
    if all(known) or samples + priors > unknowns:
        return
    starts = unknowns - shared.size
    raise DataError(
        f"There are {samples} samples for {unknowns} unknowns ({shared.size} of parameters and "
        f"{starts} of starts): nothing is left to estimate the noise from. Give longer records, "
        "the noise of the channels, or hold parameters by fit.fixed."
    )


def why_not(problem: Problem, u: Any, records: Sequence[Record]) -> str:
    """Why the residuals, or their derivatives, have no value at these unknowns."""
    found = predict(problem, u)
    values, data = np.asarray(found.values), problem.data
    for k, owner in enumerate(problem.owners):
        name = records[owner].name
        if not bool(found.good[k]):
            return (
                f'The model cannot be simulated from the start, in record "{name}": choose other '
                "start values or a smaller step; fit.simulate(model, record) says where it fails."
            )
        wrong = np.argwhere(~np.isfinite(values[k]) & np.asarray(data.present[k]))
        if wrong.size:
            row, column = map(int, wrong[0])
            t = float(data.ts[k, data.at[k, row]])
            return (
                f"observe has no value at the start values: the channel "
                f"{problem.channels[column]} is {values[k, row, column]} at t = {t:g} s of record "
                f'"{name}", where the simulation succeeded. Correct it, or choose other start '
                "values."
            )
    return (
        "The model can be simulated from the start, but derivatives by the unknowns are not "
        "finite. A norm or a square root of zero has none, nor has what jnp.where leaves out: "
        "avoid both, or choose other start values."
    )
