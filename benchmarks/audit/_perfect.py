"""Steps against the fewest that a perfect controller would need for the same error."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import Figure, note
from ._mechanism import Mechanism, Start
from ._members import MECHANISMS
from ._methods import Method, METHODS
from ._reference import Reference, relative


NAMES = ("pendulum", "snakeboard", "slider_crank", "kepler", "rattleback", "heavy_top")
TOLERANCE, MAX_STEPS = 1e-7, 4096
NOISE = 2e-15  # local errors below it are those of rounding


def perfect(tiny: bool) -> Iterator[Figure]:
    """Accepted and rejected steps at 1e-7 over the fewest that do, method by method."""
    names, methods = (NAMES[:1], list(METHODS.values())[:1]) if tiny else (NAMES, METHODS.values())
    ratios: dict[str, list[float]] = {method.name: [] for method in methods}
    for name in names:
        mechanism = MECHANISMS[name]
        reference, start = Reference(mechanism), mechanism.seeded(0)
        for method in methods:
            states, rejected = _steps(mechanism, method, start, 1e-4 if tiny else TOLERANCE)
            accepted = len(states) - 1
            local = _local_errors(reference, start, states)
            least = fewest(local, method.order)
            ratios[method.name].append((accepted + rejected) / least)
            words = f"{accepted}+{rejected} over {least:.1f}: {ratios[method.name][-1]:.2f}"
            yield note(f"{name}, {method.name}: steps over the fewest", words)
        jax.clear_caches()
    for method, own in ratios.items():
        mean = float(np.exp(np.mean(np.log(own))))
        yield note(f"{method}: steps over the fewest, geometric mean", f"{mean:.2f}")


def fewest(local: np.ndarray, order: int) -> float:
    r"""The fewest steps with the same sum of local errors.

    With `l = C(t) h^(p+1)`, `C` constant within a step, `sum C_n h_n^(p+1)` is least for a number
    of steps if all local errors are equal. So

        N = (sum h_n C_n^(1/(p+1)))^((p+1)/p) / (sum l_n)^(1/p),  h_n C_n^(1/(p+1)) = l_n^(1/(p+1)).

    **Arguments:**

    - `local`: the local errors `l_n`, shape `(n,)`.
    - `order`: `p`.
    """
    p = order
    local = np.where(local > NOISE, local, 0.0)
    return float(np.sum(local ** (1 / (p + 1))) ** ((p + 1) / p) / np.sum(local) ** (1 / p))


def _local_errors(reference: Reference, start: Start, states: list[Any]) -> np.ndarray:
    """Of each step, from where it began, as the greatest entry of `|x - ref| / (1 + |ref|)`."""
    errors = []
    for (t0, y0, z0), (t1, y1, z1) in zip(states, states[1:]):
        exact = reference.once(Start(y0, z0, start.args), t1, t0)
        errors.append(relative(np.concatenate([y1, z1]), exact))
    return np.array(errors)


def _steps(mechanism: Mechanism, method: Method, start: Start, tolerance: float):
    """Times and states after every accepted step, `(t, y, z)`, and how many were rejected.

    **Raises:** `RuntimeError` if the run fails.
    """
    ts, ys, zs, rejected, good = _solved(mechanism, method.method, start, jnp.asarray(tolerance))
    if not bool(good):
        raise RuntimeError(f"{mechanism.name} by {method.name} failed.")
    ts, ys, zs = (np.asarray(x) for x in (ts, ys, zs))
    kept = np.isfinite(ts) & np.concatenate([[True], np.diff(ts) > 0])
    return list(zip(ts[kept].tolist(), ys[kept], zs[kept])), int(rejected)


def _solved(mechanism: Mechanism, method: Any, start: Start, tolerance: Any):
    solution = jaxspark.solve(
        mechanism.system, jnp.asarray(start.y), jnp.asarray(start.z), start.args, method=method,
        t1=mechanism.t1, rtol=tolerance, save_every=1, max_steps=MAX_STEPS, throw=False,
    )  # fmt: skip
    rejected = solution.stats.num_rejected_steps + solution.stats.num_failed_steps
    return solution.ts, solution.ys, solution.zs, rejected, solution.successful
