"""Equal steps, all of them saved: what most experiments want."""

from typing import Any

import numpy as np

from .._custom_types import Args, RealScalarLike, State
from .._rollout import check_number, EqualSteps, GivenSteps, Solution
from .._system import AbstractConstrainedSystem
from .._tableau import RolloutMethod
from ._solve import solve


def rollout(
    system: AbstractConstrainedSystem,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    method: RolloutMethod | None = None,
    t0: RealScalarLike | None = None,
    t1: RealScalarLike | None = None,
    h: RealScalarLike | None = None,
    num_steps: int | np.integer | None = None,
    ts: Any = None,
    save_every: int | np.integer | None = 1,
    **options: Any,
) -> Solution:
    r"""Integrate with steps of equal size or between given times: a short [`jaxspark.solve`][].

    It is `solve` with `steps=EqualSteps(num_steps, h)`, or `steps=GivenSteps(ts)`, which saves
    every state by default.

    **Arguments:**

    - `system`, `y0`, `z0`, `args`, `method`, `t0`: as for `solve`.
    - `t1`, `h`: final time or step size, one of them; time may run backward.
    - `num_steps`: the number of steps. With 0 the initial state is returned.
    - `ts`: in place of all these the times of all steps, that of the initial state first, shape
        `(n,)`, increasing or decreasing.
    - `save_every`: 1 saves every state, `n` every n-th, `None` only the start and the end.
    - `options`: further options of `solve`, but not `steps`.

    **Returns:** a [`jaxspark.Solution`][].

    **Raises:** as `solve`.
    """
    if "steps" in options:
        raise TypeError("rollout has num_steps or ts; for other steps use jaxspark.solve.")
    if ts is None:
        check_number("num_steps", num_steps, 0)
        steps = EqualSteps(num_steps, h)
    else:
        others = {"t0": t0, "t1": t1, "h": h, "num_steps": num_steps}
        named = [name for name, value in others.items() if value is not None]
        if named:
            raise ValueError(f"ts are the times of all steps: leave out {', '.join(named)}.")
        steps = GivenSteps(ts)
    return solve(
        system, y0, z0, args, t0=t0, t1=t1, method=method, steps=steps, save_every=save_every,
        **options,
    )  # fmt: skip
