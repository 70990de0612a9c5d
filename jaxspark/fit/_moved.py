"""The motion of one trial, by the method of a model."""

from typing import Any

import jax.numpy as jnp

from .._custom_types import State
from .._explicit import ExplicitMethod
from .._rollout import Checkpoint, Solution
from .._solve import rollout, solve
from ._model import Model


# Of tolerances: what is identified is smooth in the parameters to that only.
RTOL = {"float32": 1e-5, "float64": 1e-8}
# Steps for each time that is wanted, and at least: beyond these a motion fails.
STEPS, LEAST = 8, 4096


def moved(
    model: Model,
    start: tuple[State, State],
    args: Any,
    ts: Any,
    checkpoint: Checkpoint = "stages",
    throw: bool = False,
) -> Solution:
    """States at these times: at each the end of a step, but of an explicit method an interpolation.

    **Arguments:**

    - `start`: coordinates and velocities.
    - `args`: what the system's functions get.
    - `ts`: times, shape `(n,)`; equal ones at the end are those of no step.
    - `checkpoint`: as for [`jaxspark.solve`][].
    - `throw`: whether to raise an error on failure.
    """
    method, options = model.method, {"throw": throw, "consistency_tol": None}
    if not isinstance(method, ExplicitMethod):
        return rollout(
            model.system, *start, args, method=method, ts=ts, checkpoint=checkpoint, **options
        )
    rtol = model.rtol
    if rtol is None:
        rtol = RTOL[jnp.asarray(ts).dtype.name]
    return solve(
        model.system, *start, args, method=method, t0=ts[0], t1=ts[-1], ts=ts, rtol=rtol,
        max_steps=max(LEAST, STEPS * len(ts)), **options,
    )  # fmt: skip
