"""Starting values for the fit, from a damped sine."""

from typing import NamedTuple

import numpy as np
import scipy.optimize
from jaxtyping import Float

from ._record import Record, RecordError


AMPLITUDE = 0.25
"""First guess of the swing's amplitude (rad): the record alone hardly tells."""


class DampedSine(NamedTuple):
    """`bias + exp(-decay t) (a cos(frequency t) + b sin(frequency t))`, `t` from the start.

    - `frequency` (rad/s), `decay` (1/s), `bias`, `a`, `b` (V).
    - `fitted`: its values at the sample times (V).
    """

    frequency: float
    decay: float
    bias: float
    a: float
    b: float
    fitted: Float[np.ndarray, " n"]


def fit_damped_sine(record: Record) -> DampedSine:
    """The damped sine closest to the record.

    **Arguments:**

    - `record`: the measurement.

    **Returns:** the [`DampedSine`][]. It is linear in bias, `a` and `b`, which are
    eliminated; frequency and decay are found by least squares from the spectrum's peak.

    **Raises:** `RecordError` if the record does not oscillate or is sampled too coarsely.

    Source: G. H. Golub & V. Pereyra, *The differentiation of pseudo-inverses and nonlinear
    least squares problems whose variables separate*.
    """
    times = record.times - record.t0

    def project(shape):
        frequency, decay = shape
        envelope = np.exp(-decay * times)
        phase = frequency * times
        basis = np.stack(
            [np.ones_like(times), envelope * np.cos(phase), envelope * np.sin(phase)],
            axis=1,
        )
        coefficients = np.linalg.lstsq(basis, record.volts, rcond=None)[0]
        return coefficients, basis @ coefficients

    def residual(shape):
        return project(shape)[1] - record.volts

    shape = (_spectral_peak(record), 1 / times[-1])
    shape = scipy.optimize.least_squares(residual, shape, x_scale=shape, method="lm").x
    (bias, a, b), fitted = project(shape)
    frequency, decay = (float(x) for x in shape)
    if not 0.05 < 1 - np.var(record.volts - fitted) / np.var(record.volts):
        raise RecordError(f"{record.name}: the voltage does not look like a decaying oscillation.")
    if frequency * record.h > 0.3:
        raise RecordError(
            f"{record.name}: about {2 * np.pi / frequency / record.h:.0f} samples in a "
            "period; at least 21 are needed."
        )
    return DampedSine(frequency, decay, float(bias), float(a), float(b), fitted)


def _spectral_peak(record: Record) -> float:
    """The strongest frequency (rad/s), to a fraction of the spectrum's resolution."""
    count = record.volts.size
    window = np.hanning(count)
    centred = (record.volts - record.volts.mean()) * window
    spectrum = np.abs(np.fft.rfft(centred, 16 * count))
    peak = int(np.argmax(spectrum))
    # A window's main lobe is four bins wide: below that there is no whole oscillation.
    if peak < 2 * 16:
        raise RecordError(f"{record.name}: there are not two whole oscillations in the record.")
    return 2 * np.pi * peak / (16 * count * record.h)


def starting_values(sine: DampedSine, length: float) -> dict[str, float]:
    """Parameters of a pendulum that swings like the damped sine.

    **Arguments:**

    - `sine`: the damped sine.
    - `length`: from the knife edge to the centre of mass (m).

    **Returns:** the values by the names in `NAMES`; half of the decay comes from dry friction,
    half from viscous.
    """
    gain = float(np.hypot(sine.a, sine.b)) / (AMPLITUDE * sine.frequency)
    # From the derivative of the rate, theta'' = -w^2 theta - 2 decay theta'.
    angle = -(sine.decay * sine.a + sine.frequency * sine.b) / (gain * sine.frequency**2)
    # Dry friction takes 2 mu / l from the amplitude in each half period.
    friction = 0.5 * np.pi * sine.decay * AMPLITUDE * length / (2 * sine.frequency)
    return {
        "frequency": sine.frequency,
        "friction": friction,
        "damping": sine.decay,
        "gain": gain,
        "bias": sine.bias,
        "angle": angle,
        "rate": sine.a / gain,
        "length": length,
    }
