"""Levenberg-Marquardt on exact derivatives, with a progress bar."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array, Bool, Float
from tqdm import tqdm

from .._custom_types import FloatScalar
from ._evaluate import Data, evaluate, Evaluation, NAMES
from ._model import Parameters


MAX_ITERATIONS = 100
# A change by 1e-5 is a thousandth of a standard error. Far smaller steps bring less than
# the rounding error of the sum of squares: the solver would reject them one by one.
SOLVER = optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5)
# Options and tags of the solver's interface: none.
NOTHING = ({}, frozenset())
GAIN = NAMES.index("gain")
PER_GAIN = np.array([name in ("friction", "angle", "rate") for name in NAMES])


class FitError(RuntimeError):
    """The fit failed; the message says how."""


class Fit(NamedTuple):
    """A fitted model.

    - `name`: of the model.
    - `free`: which of the parameters were fitted.
    - `measured`: what it was fitted to (V).
    - `iterations`: how many it took.
    - the others: the [`Evaluation`][] at the best parameters, outside JAX.
    """

    name: str
    free: Bool[np.ndarray, " 8"]
    measured: Float[np.ndarray, " n"]
    iterations: int
    values: Float[np.ndarray, " 8"]
    residual: Float[np.ndarray, " n"]
    jacobian: Float[np.ndarray, "n 8"]
    max_k: float
    pivot_drift: float
    newton_iterations: int

    @property
    def fitted(self) -> Float[np.ndarray, " n"]:
        """The model's voltage (V)."""
        return self.measured + self.residual

    def value(self, name: str) -> float:
        """One of the parameters."""
        return float(self.values[NAMES.index(name)])


class _Trial(eqx.Module):
    """The model at a trial point, and how the solver sees it.

    The residual counts in multiples of `unit`. A coordinate with `scale` 0 is held, so that
    one compiled function serves every model.
    """

    evaluation: Evaluation
    start: Float[Array, " 8"]
    scale: Float[Array, " 8"]
    unit: FloatScalar


def _parameters(
    u: Float[Array, " 8"], start: Float[Array, " 8"], scale: Float[Array, " 8"]
) -> Float[Array, " 8"]:
    """The parameters at a point of the solver's coordinates.

    These are changes of the parameters, or of angle, rate and friction times the gain, and
    the logarithm of the gain. A small swing tells only those products: in the parameters
    themselves the solver would have to follow a curved valley.
    """
    change = jnp.exp(u[GAIN] * scale[GAIN])
    values = start + u * scale
    values = jnp.where(PER_GAIN, values / change, values)
    return values.at[GAIN].set(start[GAIN] * change)


def _residual(u: Float[Array, " 8"], trial: _Trial) -> tuple[Float[Array, " n"], Evaluation]:
    """The residual at the trial point, the only point where the solver asks for it.

    Its derivative is the Jacobian at hand: the simulation, which has been compiled and run
    before, is neither traced nor differentiated again by the solver.
    """
    found = trial.evaluation
    values = _parameters(u, trial.start, trial.scale)
    change = (found.jacobian * (values - found.values)[None, :]).sum(1)
    residual = (found.residual + change) / trial.unit
    # A point where the simulation fails is one that the solver must not accept.
    return jnp.where(found.good, residual, jnp.inf), found


@eqx.filter_jit
def _step(u: Float[Array, " 8"], state: Any, trial: _Trial):
    options, tags = NOTHING
    u, state, _ = SOLVER.step(_residual, u, trial, options, state, tags)
    done, _ = SOLVER.terminate(_residual, u, trial, options, state, tags)
    following = _parameters(state.y_eval, trial.start, trial.scale)
    return u, state, following, done


def _initial_state(u: Float[Array, " 8"], trial: _Trial) -> Any:
    residual, found = eqx.filter_eval_shape(_residual, u, trial)
    options, tags = NOTHING
    return SOLVER.init(_residual, u, trial, options, residual, found, tags)


def _scale(start: Float[Array, " 8"]) -> Float[Array, " 8"]:
    """The sizes by which the solver measures changes; none vanishes with its parameter."""
    by = Parameters(*start)
    amplitude = jnp.hypot(by.angle, by.rate / by.frequency)
    scale = Parameters(
        frequency=by.frequency,
        friction=0.01 * amplitude * by.length,
        damping=0.01 * by.frequency,
        gain=jnp.ones_like(by.gain),  # of its logarithm
        bias=by.gain * by.frequency * amplitude,
        angle=amplitude,
        rate=amplitude * by.frequency,
        length=by.length,
    )
    return jnp.stack(scale)


def _as_fit(
    name: str,
    is_free: Bool[np.ndarray, " 8"],
    data: Data,
    iterations: int,
    best: Evaluation,
) -> Fit:
    return Fit(
        name=name,
        free=is_free,
        measured=np.asarray(data.volts),
        iterations=iterations,
        values=np.asarray(best.values),
        residual=np.asarray(best.residual),
        jacobian=np.asarray(best.jacobian),
        max_k=float(best.max_k),
        pivot_drift=float(best.pivot_drift),
        newton_iterations=int(best.newton_iterations),
    )


def fit(
    name: str,
    start: Float[np.ndarray, " 8"],
    free: tuple[str, ...],
    data: Data,
    quiet: bool = False,
) -> Fit:
    """Find the parameters with the least sum of squared residuals.

    **Arguments:**

    - `name`: of the model, for the progress bar.
    - `start`: starting values of all parameters, in the order of `NAMES`.
    - `free`: names of those to fit; the others are held.
    - `data`: the measurement.
    - `quiet`: whether to do without the progress bar.

    **Returns:** a [`Fit`][].

    **Raises:** `FitError` if the model cannot be simulated from the starting values, or the
    iteration does not converge.

    Source: K. Levenberg, *A method for the solution of certain non-linear problems in least
    squares*; D. W. Marquardt, *An algorithm for least-squares estimation of nonlinear
    parameters*.
    """
    is_free = np.array([parameter in free for parameter in NAMES])
    origin, unit = jnp.asarray(start), 0.01 * data.volts.std()
    scale = jnp.where(is_free, _scale(origin), 0)
    u, values, state = jnp.zeros_like(origin), origin, None
    with tqdm(total=MAX_ITERATIONS, desc=f"{name:>16}", unit="it", disable=quiet) as bar:
        bar.set_postfix_str("compiling, on first use")
        for iteration in range(1, MAX_ITERATIONS + 1):
            found = evaluate(values, data)
            trial = _Trial(found, origin, scale, unit)
            if state is None:
                if not found.good:
                    raise FitError(f"The {name} model cannot be simulated from its start.")
                state = _initial_state(u, trial)
            u, state, values, done = _step(u, state, trial)
            rms = float(jnp.sqrt(jnp.mean(state.aux.residual**2)))
            bar.update()
            bar.set_postfix_str(f"rms residual {rms:.6f} V")
            if done:
                bar.total = bar.n
                bar.refresh()
                return _as_fit(name, is_free, data, iteration, state.aux)
    raise FitError(
        f"The {name} model did not converge within {MAX_ITERATIONS} iterations; the rms "
        f"residual is {rms:.3g} V. Is this the record of a pendulum?"
    )
