"""The model at some parameters: what it predicts, and the derivatives of that."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .. import RESULTS
from .._custom_types import BoolScalar, FloatScalar, IntScalar
from ._model import arm, Parameters, simulate
from ._record import Record


NAMES = Parameters._fields
"""The parameters in the order in which they form a vector."""


class Data(eqx.Module):
    """What the model is compared with: voltages (V), times (s), the body's mass (kg)."""

    volts: Float[Array, " n"]
    t0: FloatScalar
    h: FloatScalar
    mass: FloatScalar


class Evaluation(eqx.Module):
    """The model at some parameters.

    - `values`: the parameters, in the order of `NAMES`.
    - `residual`: predicted minus measured (V).
    - `jacobian`: its derivative with respect to all parameters, those held included.
    - `max_k`: the worst residual of the constraint (m/s).
    - `pivot_drift`: how far the body's point on the knife edge went from it (m).
    - `newton_iterations`: in all steps together.
    - `good`: whether the simulation succeeded.
    """

    values: Float[Array, " 8"]
    residual: Float[Array, " n"]
    jacobian: Float[Array, "n 8"]
    max_k: FloatScalar
    pivot_drift: FloatScalar
    newton_iterations: IntScalar
    good: BoolScalar


def as_data(record: Record, mass: float) -> Data:
    """The record and the mass (kg) as arrays of double precision, which must be enabled."""
    values = (record.volts, record.t0, record.h, mass)
    return Data(*(jnp.asarray(value, jnp.float64) for value in values))


@eqx.filter_jit
def evaluate(values: Float[Array, " 8"], data: Data) -> Evaluation:
    """Simulate the swing and differentiate it, forward, in one pass.

    **Arguments:**

    - `values`: the parameters.
    - `data`: the measurement.

    **Returns:** the [`Evaluation`][].
    """

    def residual(values):
        parameters = Parameters(*values)
        steps = data.volts.shape[0] - 1
        solution = simulate(parameters, data.mass, data.t0, data.h, steps)
        q, v = solution.ys, solution.zs
        x, y = arm(q[:, 2], parameters.length)
        drift = jnp.sqrt(jnp.max((q[:, 0] - x) ** 2 + (q[:, 1] - y) ** 2))
        difference = parameters.bias + parameters.gain * v[:, 2] - data.volts
        stats, good = solution.stats, solution.result == RESULTS.successful
        return difference, (difference, stats.max_k, drift, stats.newton_iterations, good)

    jacobian, (difference, *diagnostics) = jax.jacfwd(residual, has_aux=True)(values)
    return Evaluation(values, difference, jacobian, *diagnostics)
