"""The identification: a model with dry friction, one without, and a mere damped sine."""

import time
from typing import NamedTuple

from .. import fit
from ._model import GRAVITY, model, NAMES
from ._record import Record
from ._start import DampedSine, fit_damped_sine, starting_values
from ._swing import Swing, swing


MASS = 3.22
"""Of the fork (kg), to 0.02 kg: `mH` in BrowserinsMeasured.txt of BicycleParameters."""

LENGTH = 0.478
"""From the fork's wheel axle, where it hangs, to its centre of mass (m): the square root of
`(xH - w)^2 + (zH + rF)^2`, from BrowserinsBenchmark.txt of BicycleParameters."""


class Identification(NamedTuple):
    """All that was found.

    - `record`: the measurement.
    - `mass` (kg), `length` (m): what was given.
    - `sine`: the damped sine that the fits start from.
    - `dry`, `viscous`: the pendulum with and without dry friction.
    - `wall_time`: that the identification took, compilation included (s).
    """

    record: Record
    mass: float
    length: float
    sine: DampedSine
    dry: Swing
    viscous: Swing
    wall_time: float

    @property
    def period_samples(self) -> int:
        """Samples in a period."""
        return round(6.283185307179586 / (self.dry.value("frequency") * self.record.h))


def identify(
    record: Record, mass: float = MASS, length: float = LENGTH, quiet: bool = False
) -> Identification:
    """Identify the pendulum from its record.

    **Arguments:**

    - `record`: the measurement.
    - `mass`: of the body (kg). It has no influence on the motion, only on the forces.
    - `length`: from the knife edge to the centre of mass (m). The record does not tell it.
    - `quiet`: whether to do without progress bars.

    **Returns:** the [`Identification`][].

    **Raises:** `RecordError` if the record does not oscillate, `jaxspark.fit.FitError` if a
        fit fails.
    """
    begin = time.perf_counter()
    sine = fit_damped_sine(record)
    longest = GRAVITY / sine.frequency**2
    if length >= longest:
        raise fit.FitError(
            f"A pendulum of this frequency, {sine.frequency:.4g} rad/s, must have its "
            f"centre of mass less than {longest:.4g} m from the knife edge, or its moment "
            f"of inertia would be negative; the length given is {length:.4g} m."
        )
    measured = fit.record(record.times - record.t0, {"gyro_volt": record.volts}, name=record.name)

    def fitted(start: dict[str, float], *held: str) -> Swing:
        dry = "friction" not in held
        described = model(start, mass, record.h, dry)
        try:
            return swing(fit.estimate(described, measured, progress=not quiet), held)
        except fit.FitError as error:
            name = "dry friction" if dry else "viscous friction alone"
            raise fit.FitError(
                f"The model with {name} does not fit. Is this the record of a pendulum?", error.fit
            ) from error

    dry = fitted(starting_values(sine, length), "length")
    start = dict(zip(NAMES, dry.values.tolist(), strict=True))
    viscous = fitted(start | {"friction": 0.0, "damping": 2 * sine.decay}, "length", "friction")
    elapsed = time.perf_counter() - begin
    return Identification(record, mass, length, sine, dry, viscous, elapsed)
