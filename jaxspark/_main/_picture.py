"""The picture: measured and fitted, residuals, and how the swing dies away."""

from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ._identify import Identification
from ._statistics import goodness
from ._swing import Swing


FILE_NAME = "jaxspark-pendulum.png"
MEASURED, DRY, VISCOUS = "#4d4d4d", "#0072b2", "#d55e00"


def peaks(
    volts: Float[np.ndarray, " n"], crossings_of: Float[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """The largest deflection in each half period.

    **Arguments:**

    - `volts`: a swing without bias (V).
    - `crossings_of`: a smooth swing, whose zeros delimit the half periods.

    **Returns:** indices of the peaks, and their heights without sign (V). The first and the
    last half period, which are cut off, are left out.
    """
    zeros = np.flatnonzero(np.diff(np.signbit(crossings_of))) + 1
    indices = np.array(
        [low + np.abs(volts[low:high]).argmax() for low, high in zip(zeros[:-1], zeros[1:])],
        dtype=np.intp,
    )
    return indices, np.abs(volts[indices])


def draw(found: Identification, folder: Path) -> Path:
    """Draw the identification.

    **Arguments:**

    - `found`: what to draw.
    - `folder`: where to write the PNG file; made if it does not exist.

    **Returns:** the path of the file.

    **Raises:** `OSError` if it cannot be written.
    """
    figure = Figure(figsize=(9, 9.5), layout="constrained")
    FigureCanvasAgg(figure)
    swing, residual, envelope = figure.subplots(3, 1, sharex=True)
    times = found.record.times
    swing.plot(times, found.record.volts, ".", color="#bbbbbb", ms=6, label="measured")
    swing.plot(times, found.dry.fitted, color=DRY, lw=0.9, label="fitted, dry friction")
    swing.set(ylabel="gyroscope (V)", title=f"Measured and fitted: {found.record.name}")
    swing.legend(loc="upper right", ncols=2)
    _residuals(residual, found)
    _envelopes(envelope, found)
    for axes in (swing, residual, envelope):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    envelope.set_xlabel("time (s)")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    figure.savefig(path, dpi=130)
    return path


def _residuals(axes: Axes, found: Identification) -> None:
    for swing, color, name in _models(found):
        rms = goodness(swing).rms
        axes.plot(
            found.record.times, 1e3 * swing.residual,
            color=color, lw=0.7, label=f"{name}: rms {1e3 * rms:.1f} mV",
        )  # fmt: skip
    largest = 1.3e3 * np.abs(found.viscous.residual).max()
    axes.set(ylabel="fitted - measured (mV)", title="Residual", ylim=(-largest, largest))
    axes.legend(loc="upper right", ncols=2)


def _envelopes(axes: Axes, found: Identification) -> None:
    times = found.record.times
    smooth = found.dry.fitted - found.dry.value("bias")
    indices, heights = peaks(found.record.volts - found.dry.value("bias"), smooth)
    axes.plot(times[indices], heights, "o", color=MEASURED, ms=4, label="measured")
    for swing, color, name in _models(found):
        smooth = swing.fitted - swing.value("bias")
        indices, heights = peaks(smooth, smooth)
        axes.plot(times[indices], heights, color=color, lw=1.3, label=name)
    axes.set(ylabel="peak (V)", title="Envelope", ylim=(0, None))
    axes.legend(loc="upper right", ncols=3)


def _models(found: Identification) -> list[tuple[Swing, str, str]]:
    return [(found.viscous, VISCOUS, "viscous alone"), (found.dry, DRY, "dry friction")]
