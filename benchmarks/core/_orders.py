"""Order slopes on the mixed problem: variable mass matrix, rheonomic constraints of both kinds."""

from collections.abc import Iterator

import jax
import numpy as np

import jaxspark

from .._figures import Figure, near
from ..problems import mixed


# Number of steps of the sweep, inside the asymptotic regime and above rounding error.
GAUSS = {1: (80, 160, 320), 2: (40, 80, 160), 3: (28, 36, 44), 4: (12, 14, 16)}
RADAU = {2: (80, 160, 320), 3: (40, 60, 90), 4: (16, 20, 24)}
ROUNDING = 1e-12
T_END = 2.0


def end_state(method, num_steps: int) -> tuple[np.ndarray, ...]:
    """`(y, z, multipliers)` at the end of the mixed problem."""
    problem = mixed()
    solution = jaxspark.rollout(
        problem.system, method, problem.y0, problem.z0, problem.args,
        t1=T_END, num_steps=num_steps, save_every=None, multipliers=True,
    )  # fmt: skip
    lam, psi = solution.multipliers.lam[-1], solution.multipliers.psi[-1]
    return np.asarray(solution.y1), np.asarray(solution.z1), np.concatenate([lam, psi])


def slopes(method, steps, reference) -> np.ndarray:
    """The slopes of log error over log step size by regression, for y, z, multipliers."""
    errors = []
    for num_steps in steps:
        pairs = zip(end_state(method, num_steps), reference, strict=True)
        errors.append([np.max(np.abs(a - b)) for a, b in pairs])
        if min(errors[-1]) < ROUNDING:
            raise RuntimeError(f"{method}, {num_steps} steps: rounding errors would decide.")
    h = np.log(T_END / np.asarray(steps))
    return np.array([np.polyfit(h, np.log(e), 1)[0] for e in np.array(errors).T])


def orders(tiny: bool) -> Iterator[Figure]:
    """The slopes against the orders."""
    reference = end_state(jaxspark.Gauss(6), 20 if tiny else 100)
    sweeps = [(jaxspark.Gauss(s), steps) for s, steps in GAUSS.items()]
    sweeps += [(jaxspark.RadauIIA(s), steps) for s, steps in RADAU.items()]
    for method, steps in sweeps[:1] if tiny else sweeps:
        measured = slopes(method, steps, reference)
        for name, slope in zip(("y", "z", "multipliers"), measured, strict=True):
            yield near(f"order of {name}, {method}", slope, method.order, 0.15)
        jax.clear_caches()
