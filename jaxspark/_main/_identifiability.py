"""Which parameters the record tells apart, and which only in combination."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ._model import NAMES
from ._swing import Swing


CORRELATED = 0.9
"""Correlation from which two parameters are looked at as a pair."""

GAINED = 0.6
"""Their combination must be known this much better than the worse known of the two."""

UNIDENTIFIABLE = 0.5
"""Relative error of a parameter that the record does not tell."""


class Pair(NamedTuple):
    """Two parameters that can hardly be told apart.

    - `first`, `second`: their names.
    - `correlation`: of their relative errors.
    - `errors`: the relative standard error of each of them alone.
    - `combination`: their ratio or product, the one that is known better.
    - `combination_error`: its relative standard error.
    """

    first: str
    second: str
    correlation: float
    errors: tuple[float, float]
    combination: str
    combination_error: float

    @property
    def separable(self) -> bool:
        """Whether each of the two alone has some meaning."""
        return max(self.errors) < UNIDENTIFIABLE


class Identifiability(NamedTuple):
    """What the Fisher information says about all parameters, held ones included.

    Errors are relative to the parameters' values, and those of independent residuals.
    Bias, angle and rate are left out where they may be zero, within three standard errors.

    - `names`: the parameters.
    - `errors`: relative standard error along each eigenvector, largest first.
    - `directions`: the eigenvectors, as rows.
    - `pairs`: what can hardly be told apart, worst first.
    """

    names: tuple[str, ...]
    errors: Float[np.ndarray, " m"]
    directions: Float[np.ndarray, "m m"]
    pairs: list[Pair]


def identifiability(swing: Swing) -> Identifiability:
    """Analyse the Fisher information at the best parameters.

    The parameters are the fitted ones and the length, which is held in the fit: at the same
    frequency it acts on the motion only through dry friction, by the ratio of the friction
    arm to it, and by the centrifugal part of the force at the edge.

    **Arguments:**

    - `swing`: the fitted model.

    **Returns:** the [`Identifiability`][], in relative units, so that an eigenvector with
    entries +1 and -1 stands for two parameters of which only the product is known.

    Source: S. Vajda, H. Rabitz, E. Walter & Y. Lecourtier, *Qualitative and quantitative
    identifiability analysis of nonlinear chemical kinetic models*.
    """
    chosen = _chosen(swing)
    names = tuple(name for name, keep in zip(NAMES, chosen) if keep)
    relative = (swing.jacobian * swing.values)[:, chosen]
    residual = swing.residual
    noise = np.sqrt(residual @ residual / (residual.size - len(names)))
    # The information matrix would square the condition number, of about 1e6.
    _, singular, directions = np.linalg.svd(relative / noise, full_matrices=False)
    errors, directions = 1 / np.maximum(singular[::-1], 1e-9), directions[::-1]
    signs = np.sign(directions[np.arange(len(names)), np.abs(directions).argmax(1)])
    pairs = _pairs(names, directions.T * errors)
    return Identifiability(names, errors, directions * signs[:, None], pairs)


def _chosen(swing: Swing) -> Bool[np.ndarray, " 8"]:
    """The parameters that have a relative error."""
    may_vanish = np.array([name in ("bias", "angle", "rate") for name in NAMES])
    vanishing = may_vanish & (np.abs(swing.values) < 3 * swing.white_errors)
    return (swing.free | (np.array(NAMES) == "length")) & ~vanishing


def _pairs(names: tuple[str, ...], factor: Float[np.ndarray, "m m"]) -> list[Pair]:
    """The pairs, from a factor of the covariance matrix, `factor factor^T`."""
    errors = np.linalg.norm(factor, axis=1)
    correlation = (factor @ factor.T) / np.outer(errors, errors)
    pairs = []
    for i in range(len(names)):
        for j in range(i):
            rho = float(correlation[i, j])
            if abs(rho) < CORRELATED:
                continue
            second, first = names[i], names[j]
            # The error of the difference, or sum, of the two relative changes.
            known = float(np.linalg.norm(factor[i] - np.sign(rho) * factor[j]))
            if known > GAINED * max(errors[i], errors[j]):
                continue
            combination = f"{first} / {second}" if rho > 0 else f"{first} * {second}"
            alone = (float(errors[j]), float(errors[i]))
            pairs.append(Pair(first, second, rho, alone, combination, known))
    return sorted(pairs, key=lambda pair: -max(pair.errors))
