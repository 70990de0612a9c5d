"""What data can tell of the parameters of a problem, from differences of its reduced equations."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ._problem import FitProblem


class Identifiability(NamedTuple):
    """At the truth, with unknown starts.

    - `condition`: of the Jacobian by relative changes of parameters, its rows divided by the
        standard deviations of the channels; starts change by 1.
    - `errors`: relative standard error of each parameter.
    - `jacobian`: parameters first, in the order of `guess`, then the starts of each trial.
    """

    condition: float
    errors: dict[str, float]
    jacobian: Float[np.ndarray, "n p"]


def identifiability(
    problem: FitProblem, noise: float = 0.01, step: float = 1e-4
) -> Identifiability:
    """Of the parameters that are numbers, those in `guess`.

    **Arguments:**

    - `problem`: what to look at.
    - `noise`: as a share of the standard deviation of each channel.
    - `step`: of the central differences, relative for parameters.
    """
    names = list(problem.guess)
    sizes = problem.sigmas(1.0)

    def rows(trial, start, args):
        channels = problem.reduced(trial, start, args)
        return np.concatenate([channels[name] / sizes[name] for name in sizes])

    blocks = []
    own = problem.trials[0].start.size
    for at, trial in enumerate(problem.trials):
        block = np.zeros((trial.times.size * len(sizes), len(names) + own * len(problem.trials)))
        for column, name in enumerate(names):
            value = problem.truth[name]
            up, down = (
                rows(trial, trial.start, {**problem.truth, name: value * (1 + s)})
                for s in (step, -step)
            )
            block[:, column] = (up - down) / (2 * step)
        for entry in range(own):
            change = step * np.eye(own)[entry]
            up, down = (rows(trial, trial.start + s * change, problem.truth) for s in (1, -1))
            block[:, len(names) + own * at + entry] = (up - down) / (2 * step)
        blocks.append(block)
    jacobian = np.concatenate(blocks)
    singular = np.linalg.svd(jacobian, compute_uv=False)
    covariance = noise**2 * np.linalg.inv(jacobian.T @ jacobian)
    errors = dict(zip(names, np.sqrt(np.diag(covariance)).tolist()))
    return Identifiability(float(singular[0] / singular[-1]), errors, jacobian)
