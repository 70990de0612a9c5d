"""The fit of a four-bar linkage to observations of its crank, and its gradient by diffrax."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from . import _fourbar
from ._kkt import kkt_ode


END = 10.0  # s
FACTORS = np.array([1.1, 0.9, 1.05, 0.95, 1.1, 1.2])  # by which the guess is off
Form = Literal["reduced", "kkt"]
Mode = Literal["forward", "reverse"]
Function = Callable[[Any], Any]


class Fit(NamedTuple):
    """Observations of the crank's angle, and a point.

    - `times`: of the observations (s), without the start.
    - `angles`: the observations.
    - `point`: the parameters at which value and gradient are taken, shape `(6,)`.
    - `gradient`: the exact one there.
    """

    times: np.ndarray
    angles: np.ndarray
    point: np.ndarray
    gradient: np.ndarray

    def loss(self, angles: Any) -> Any:
        """The mean square of what is observed less these angles."""
        return jnp.mean((angles - self.angles) ** 2)


def fit_problem(count: int = 200, end: float = END) -> Fit:
    """Observations without noise at equal intervals; forward sensitivities at 1e-12."""
    times = np.linspace(0.0, end, count + 1)[1:]
    angles = _angles(times, "reduced", 1e-12, diffrax.ForwardMode())
    slopes = jax.jit(jax.jacfwd(_twice(angles), has_aux=True))
    _, observed = slopes(jnp.asarray(_fourbar.NOMINAL))
    point = _fourbar.NOMINAL * FACTORS
    slope, found = slopes(jnp.asarray(point))
    gradient = 2 * jnp.mean((found - observed)[:, None] * slope, 0)
    return Fit(times, np.asarray(observed), point, np.asarray(gradient))


def by_diffrax(fit: Fit, form: Form, tolerance: float, mode: Mode) -> tuple[Function, Function]:
    """Functions of the parameters: the value; the value and its gradient.

    **Arguments:**

    - `form`: the equation reduced by hand, or the KKT ODE.
    - `mode`: of differentiation; reverse is diffrax's default, with checkpoints.
    """
    forward = _angles(fit.times, form, tolerance, diffrax.ForwardMode())

    def value(p):
        return fit.loss(forward(p))

    if mode == "reverse":
        reverse = _angles(fit.times, form, tolerance, diffrax.RecursiveCheckpointAdjoint())
        return value, jax.value_and_grad(lambda p: fit.loss(reverse(p)))

    def both(p):
        gradient, found = jax.jacfwd(_twice(value), has_aux=True)(p)
        return found, gradient

    return value, both


def _twice(function: Function) -> Function:
    """The function, for `jax.jacfwd` to return its value, too."""

    def both(p):
        value = function(p)
        return value, value

    return both


def _angles(times: np.ndarray, form: Form, tolerance: float, adjoint: Any) -> Function:
    def field(t, x, p):
        if form == "kkt":
            return kkt_ode(_fourbar.FourBar(p))(t, x, None)
        return jnp.stack(_fourbar.reduced(jnp, list(x), p))

    start = _fourbar.FourBar()
    full = np.concatenate([start.q0, start.v0])
    x0 = jnp.asarray(full if form == "kkt" else full[[0, 3]])

    def angles(p):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri8(), 0.0, times[-1], None, x0, p,
            adjoint=adjoint, saveat=diffrax.SaveAt(ts=jnp.asarray(times)), max_steps=4096,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        )  # fmt: skip
        assert solution.ys is not None
        return solution.ys[:, 0]

    return angles
