"""What other tools need for an iteration of Gauss-Newton and for a gradient: four-bar linkage.

The unknowns are a vector: the parameters in the order of `GUESS`, then angle and rate of the
crank at the start of each trial. Residuals are predicted minus measured, over the standard
deviation of the noise: of each trial first those of the crank, then those of the rocker.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..large._splu import least_seconds
from ._fourbar import GUESS, KNOWN
from ._problem import FitProblem, Trial


NOISE = 0.01
Vector = Float[np.ndarray, " p"]
Residuals = Float[np.ndarray, " n"]
Jacobian = Float[np.ndarray, "n p"]
OWN = 2  # unknowns of each trial


class Rival(NamedTuple):
    """A way to evaluate residuals and their derivatives.

    - `name`: of the tool and how it is used; `setting`: its tolerance, for instance.
    - `residuals`, `iteration`, `gradient`: functions of the unknowns, that return residuals;
        residuals and Jacobian; half the sum of squares and its gradient.
    """

    name: str
    setting: str
    residuals: Callable[[Vector], Residuals]
    iteration: Callable[[Vector], tuple[Residuals, Jacobian]]
    gradient: Callable[[Vector], tuple[float, Vector]]


class Reference(NamedTuple):
    """Residuals and Jacobian from the reduced equation at 1e-11, by SciPy and differences."""

    at: Vector
    residuals: Residuals
    jacobian: Jacobian


class Cost(NamedTuple):
    """Of a rival.

    - `residuals_ms`, `iteration_ms`, `gradient_ms`: CPU time (ms), the least of several calls.
    - `error`: largest error of a prediction, as a multiple of its channel's standard deviation.
    - `jacobian_error`: largest of any column, relative to the column's norm.
    - `gradient_error`: relative, by norms.

    NaN where the gradient fails.
    """

    name: str
    setting: str
    residuals_ms: float
    iteration_ms: float
    gradient_ms: float
    error: float
    jacobian_error: float
    gradient_error: float


class Measured(NamedTuple):
    """What residuals of a trial are made of: times (s), channels over deviations, deviations."""

    times: Float[np.ndarray, " n"]
    channels: Float[np.ndarray, "2 n"]
    sigmas: Float[np.ndarray, " 2"]


def point(problem: FitProblem) -> Vector:
    """The unknowns where a fit starts."""
    return np.concatenate([list(GUESS.values()), *(trial.guess for trial in problem.trials)])


def measured(problem: FitProblem, seed: int = 0) -> list[Measured]:
    """Of every trial."""
    sigmas = problem.sigmas(NOISE)
    deviations = np.array(list(sigmas.values()))
    return [
        Measured(
            record.times,
            np.stack([record.channels[name] / sigmas[name] for name in sigmas]),
            deviations,
        )
        for record in problem.data(seed, NOISE)
    ]


def parameters(shared: Any) -> dict[str, Any]:
    """Names for the parameters, and what is known."""
    return {**KNOWN, **{name: shared[at] for at, name in enumerate(GUESS)}}


def of_trial(x: Vector, trial: int) -> Vector:
    """The parameters and the start of one trial."""
    shared = len(GUESS)
    return np.concatenate([x[:shared], x[shared + OWN * trial : shared + OWN * (trial + 1)]])


def assembled(
    blocks: list[tuple[Residuals, Jacobian]],
) -> tuple[Residuals, Jacobian]:
    """All residuals and their Jacobian from those of each trial by its own unknowns."""
    shared, rows = len(GUESS), [block[0].size for block in blocks]
    jacobian = np.zeros((sum(rows), shared + OWN * len(blocks)))
    first = 0
    for trial, (residuals, part) in enumerate(blocks):
        own = shared + OWN * trial
        jacobian[first : first + residuals.size, :shared] = part[:, :shared]
        jacobian[first : first + residuals.size, own : own + OWN] = part[:, shared:]
        first += residuals.size
    return np.concatenate([block[0] for block in blocks]), jacobian


def added(blocks: list[tuple[float, Vector]]) -> tuple[float, Vector]:
    """The half sum of squares and its gradient from those of each trial."""
    shared = len(GUESS)
    own = [gradient[shared:] for _, gradient in blocks]
    gradient = np.concatenate([sum(gradient[:shared] for _, gradient in blocks), *own])
    return sum(value for value, _ in blocks), gradient


def finite_differences(
    residuals: Callable[[Vector], Residuals], x: Vector, steps: Vector
) -> tuple[Residuals, Jacobian]:
    """Residuals, and their Jacobian by central differences: two evaluations for each unknown.

    **Arguments:**

    - `residuals`: a function of the unknowns.
    - `x`: the unknowns; `steps`: half the distance of the two points, for each of them.
    """
    columns = []
    for entry, step in enumerate(steps):
        change = np.zeros_like(x)
        change[entry] = step
        up, down = (np.asarray(residuals(x + s * change)) for s in (1, -1))
        columns.append((up - down) / (2 * step))
    return np.asarray(residuals(x)), np.stack(columns, 1)


def by_differences(
    name: str, residuals: Callable[[Vector], Residuals], relative: float = 1e-5
) -> Rival:
    """Central differences over a solver, for instance over `rollout`.

    **Arguments:**

    - `name`: of the solver.
    - `residuals`: a function of the unknowns.
    - `relative`: size of the steps, as a multiple of 1 or of the unknown, if it is larger.
    """

    def iteration(x):
        return finite_differences(residuals, x, relative * np.maximum(1, abs(x)))

    def gradient(x):
        r, jacobian = iteration(x)
        return 0.5 * float(r @ r), jacobian.T @ r

    return Rival(f"{name}, central differences", f"{relative:g}", residuals, iteration, gradient)


def reference(problem: FitProblem, x: Vector) -> Reference:
    """Residuals by SciPy's DOP853 at 1e-11, and their Jacobian by differences of order four."""
    data = measured(problem)

    def one(trial: Trial, values: Measured, own: Vector) -> Residuals:
        channels = problem.reduced(trial, own[-OWN:], parameters(own))
        predicted = np.stack(list(channels.values())) / values.sigmas[:, None]
        return (predicted - values.channels).ravel()

    blocks = []
    for at, (trial, values) in enumerate(zip(problem.trials, data, strict=True)):
        own = of_trial(x, at)
        columns = []
        for entry, size in enumerate(np.maximum(0.1, abs(own))):
            change = 1e-3 * size * np.eye(own.size)[entry]
            r = {k: one(trial, values, own + k * change) for k in (-2, -1, 1, 2)}
            columns.append((8 * (r[1] - r[-1]) - (r[2] - r[-2])) / (12e-3 * size))
        blocks.append((one(trial, values, own), np.stack(columns, 1)))
    return Reference(x, *assembled(blocks))


def cost(rival: Rival, truth: Reference, repeats: int = 5) -> Cost:
    """Measure a rival: compile first, then the CPU time of single calls.

    **Arguments:**

    - `rival`: what is measured.
    - `truth`: where, and what is right there.
    - `repeats`: of every measurement, of which the least counts.
    """
    x = truth.at
    residuals, (again, jacobian) = rival.residuals(x), rival.iteration(x)
    functions = [rival.residuals, rival.iteration]
    try:
        gradient = rival.gradient(x)[1]
        functions.append(rival.gradient)
    except RuntimeError:  # of CasADi: the backward integration gave up
        gradient = np.full_like(x, np.nan)
    error = max(np.max(abs(r - truth.residuals)) for r in (residuals, again))
    columns = np.linalg.norm(jacobian - truth.jacobian, axis=0)
    right = truth.jacobian.T @ truth.residuals
    seconds = [
        least_seconds(lambda function=function: function(x), repeats) for function in functions
    ]
    seconds += (3 - len(seconds)) * [np.nan]
    return Cost(
        rival.name,
        rival.setting,
        *(1e3 * second for second in seconds),
        error=NOISE * float(error),
        jacobian_error=float(np.max(columns / np.linalg.norm(truth.jacobian, axis=0))),
        gradient_error=float(np.linalg.norm(gradient - right) / np.linalg.norm(right)),
    )


def accurate(
    make: Callable[[Any], Rival], settings: list[Any], truth: Reference, target: float = 1e-6
) -> Rival | None:
    """The rival with the first of its settings, the cheapest first, that is accurate enough.

    **Arguments:**

    - `make`: a rival of a setting.
    - `settings`: the cheapest first.
    - `truth`: where, and what is right there.
    - `target`: largest error of a prediction, as a multiple of its channel's deviation.

    **Returns:** the [`Rival`][], or `None` if none is.
    """
    for setting in settings:
        rival = make(setting)
        try:
            error = NOISE * np.max(abs(rival.residuals(truth.at) - truth.residuals))
        except RuntimeError:  # of CasADi: the integrator gave up
            continue
        if error <= target:
            return rival
    return None
