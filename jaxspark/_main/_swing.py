"""A fitted model of the swing, and what of it is reported."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .. import fit
from ._model import arm, NAMES


class Swing(NamedTuple):
    """A fitted model, as plain numbers.

    - `free`: which of the parameters were fitted, in the order of `NAMES`.
    - `values`: of the parameters.
    - `measured`: what they were fitted to (V).
    - `residual`: predicted minus measured (V).
    - `jacobian`: its derivative by all parameters, those held included.
    - `white_errors`: standard errors for independent residuals; of those held next to nothing.
    - `iterations`: how many the fit took.
    - `worst_residual`: of the constraint (m/s).
    - `drift`: how far the body's point on the knife edge is from it at the end (m).
    - `newton_iterations`: in all steps together.
    """

    free: Bool[np.ndarray, " 8"]
    values: Float[np.ndarray, " 8"]
    measured: Float[np.ndarray, " n"]
    residual: Float[np.ndarray, " n"]
    jacobian: Float[np.ndarray, "n 8"]
    white_errors: Float[np.ndarray, " 8"]
    iterations: int
    worst_residual: float
    drift: float
    newton_iterations: int

    @property
    def fitted(self) -> Float[np.ndarray, " n"]:
        """The model's voltage (V)."""
        return self.measured + self.residual

    def value(self, name: str) -> float:
        """One of the parameters."""
        return float(self.values[NAMES.index(name)])


def swing(found: fit.Fit, held: tuple[str, ...]) -> Swing:
    """What is reported of a fit.

    **Arguments:**

    - `found`: a fit of the pendulum.
    - `held`: the parameters whose priors hold them.
    """
    order = [found.names.index(name) for name in NAMES]
    sigma = found.sigma["gyro_volt"]
    # Each parameter depends on its own coordinate alone.
    jacobian = sigma * found.rows.J / np.diag(found.uncertainty.dphysical)
    x, y, angle = np.asarray(found.prediction.y1)[0]
    centre = arm(angle, found.values["length"])
    return Swing(
        free=np.array([name not in held for name in NAMES]),
        values=found.vector[order],
        measured=found.records[0].channels["gyro_volt"],
        residual=sigma * found.rows.r,
        jacobian=jacobian[:, order],
        white_errors=found.uncertainty.errors[order],
        iterations=int(found.state.iteration),
        worst_residual=float(found.state.found.worst),
        drift=float(np.hypot(x - centre[0], y - centre[1])),
        newton_iterations=int(np.sum(found.prediction.newton_iterations)),
    )
