"""What was found, as text."""

import math
import time
from typing import NamedTuple

import numpy as np

from .. import __version__
from ._identifiability import Identifiability, identifiability
from ._identify import Identification
from ._model import GRAVITY, SIGN_WIDTH
from ._statistics import Estimate, estimates, goodness


class _Label(NamedTuple):
    text: str
    unit: str
    per_si: float = 1.0


LABELS = {
    "frequency": _Label("frequency, small swing", "rad/s"),
    "friction": _Label("dry friction arm", "mm", 1e3),
    "damping": _Label("viscous damping", "1/s"),
    "gain": _Label("sensor gain", "V s/rad"),
    "bias": _Label("sensor bias", "V"),
    "angle": _Label("initial angle", "rad"),
    "rate": _Label("initial rate", "rad/s"),
}


def report(found: Identification) -> str:
    """The whole report."""
    lags = found.period_samples
    parts = [
        _heading(found),
        _parameters(estimates(found.dry, lags), lags),
        _derived(found),
        _identifiability(identifiability(found.dry)),
        _comparison(found),
        _numerics(found),
    ]
    return "\n\n".join(parts)


def summary(found: Identification) -> str:
    """The result in one line."""
    dry, viscous = goodness(found.dry), goodness(found.viscous)
    return (
        f"dry friction: R^2 {dry.r_squared:.6f}, rms {dry.rms:.6f} V; "
        f"viscous alone: R^2 {viscous.r_squared:.6f}, rms {viscous.rms:.6f} V; "
        f"{found.wall_time:.1f} s"
    )


def _heading(found: Identification) -> str:
    record = found.record
    count = record.volts.size
    return (
        f"jaxspark {__version__}: a compound pendulum on a knife edge, identified as a "
        "constrained mechanism\n"
        f"Record: {record.name}, {count} samples at {1 / record.h:.6g} Hz, "
        f"{(count - 1) * record.h:.4g} s.\n"
        f"Given, not identified: mass {found.mass:g} kg, edge to centre of mass "
        f"{found.length:g} m, gravity {GRAVITY} m/s^2."
    )


def _parameters(rows: list[Estimate], lags: int) -> str:
    lines = [
        "Parameters (model with dry and viscous friction)",
        f"  {'parameter':<24}{'unit':<9}{'estimate':>11}{'std. error':>12}"
        f"{'95 % interval':>25}{'if indep.':>11}",
    ]
    for row in rows:
        label = LABELS[row.name]
        value, error, white, low, high = (label.per_si * x for x in row[1:])
        digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 6
        interval = f"[{low:.{digits}f}, {high:.{digits}f}]"
        lines.append(
            f"  {label.text:<24}{label.unit:<9}{value:>11.{digits}f}{error:>12.{digits}f}"
            f"{interval:>25}{white:>11.2g}"
        )
    lines.append(
        f"  Standard errors allow for residuals correlated over {lags} samples, one period "
        "(Newey-West);\n  the last column is what they would be if residuals were "
        "independent, and their lower bound.\n  Intervals: Student's t."
    )
    return "\n".join(lines)


def _derived(found: Identification) -> str:
    frequency, rate = found.dry.value("frequency"), found.dry.value("rate")
    inertia = found.mass * GRAVITY * found.length / frequency**2
    amplitude = math.degrees(math.hypot(found.dry.value("angle"), rate / frequency))
    central = inertia - found.mass * found.length**2
    moment = found.dry.value("friction") * found.mass * GRAVITY
    return (
        "Derived\n"
        f"  period of small swing 2 pi/frequency {2 * math.pi / frequency:.4f} s; first "
        f"amplitude {amplitude:.1f} deg\n"
        f"  moment of inertia I = m g l/frequency^2 about the edge {inertia:.4f} kg m^2, "
        f"about the\n  centre of mass {central:.4f} kg m^2; "
        f"friction moment under the weight {1e3 * moment:.1f} N mm\n"
        "  Of m, g, l and I the record tells m g l/I only: I is as good as the mass and "
        "length given."
    )


def _identifiability(analysis: Identifiability) -> str:
    weakest = sorted(zip(analysis.names, analysis.directions[0]), key=lambda x: -abs(x[1]))
    composition = ", ".join(f"{name} {part:+.2f}" for name, part in weakest if abs(part) > 0.2)
    held = [pair for pair in analysis.pairs if not pair.separable]
    weak = [pair for pair in analysis.pairs if pair.separable]
    lines = [
        "What the record cannot tell apart (Fisher information with the length free; "
        "relative errors)",
        f"  Weakest eigenvector: {composition}; known to {_percent(analysis.errors[0])}, "
        f"the strongest one to {_percent(analysis.errors[-1])}.",
        f"  {'':<18}{'parameters':<18}{'correlation':>12}{'each alone':>20}   known instead",
    ]
    for title, pairs in (("not identifiable", held), ("hardly separate", weak)):
        for pair in pairs:
            alone = ", ".join(_percent(error) for error in pair.errors)
            names = f"{pair.first}, {pair.second}"
            lines.append(
                f"  {title:<18}{names:<18}{pair.correlation:>12.4f}{alone:>20}   "
                f"{pair.combination} to {_percent(pair.combination_error)}"
            )
    lines.append(
        "  The length is therefore held. The mass has no influence at all. Gain, angle and "
        "rate are\n  told apart only by the dependence of the period on the amplitude."
    )
    return "\n".join(lines)


def _percent(ratio: float) -> str:
    if ratio > 10:
        return "> 1000 %"
    return f"{100 * ratio:.2g} %" if ratio < 1 else f"{100 * ratio:.0f} %"


def _comparison(found: Identification) -> str:
    lines = [
        "Models",
        f"  {'model':<26}{'free':>5}{'R^2':>11}{'rms (V)':>11}{'AIC':>11}{'BIC':>11}",
    ]
    volts = found.record.volts
    misfit = found.sine.fitted - volts
    explained = 1 - float(np.var(misfit) / np.var(volts))
    rms = float(np.sqrt(np.mean(misfit**2)))
    lines.append(f"  {'damped sine, no pendulum':<26}{5:>5}{explained:>11.6f}{rms:>11.6f}")
    dry, viscous = goodness(found.dry), goodness(found.viscous)
    rows = (
        ("viscous friction alone", found.viscous, viscous),
        ("dry and viscous", found.dry, dry),
    )
    for name, model, good in rows:
        lines.append(
            f"  {name:<26}{int(model.free.sum()):>5}{good.r_squared:>11.6f}"
            f"{good.rms:>11.6f}{good.aic:>11.0f}{good.bic:>11.0f}"
        )
    better = "dry friction" if dry.bic < viscous.bic else "viscous friction alone"
    lines.append(
        f"  Preferred: {better}, by {abs(viscous.bic - dry.bic):.0f} in BIC. Residuals of "
        f"neighbouring samples correlate\n  by {dry.autocorrelation:.2f} with dry "
        f"friction, by {viscous.autocorrelation:.2f} without."
    )
    return "\n".join(lines)


def _numerics(found: Identification) -> str:
    dry, viscous = found.dry, found.viscous
    steps = dry.residual.size - 1
    return (
        "Numerics\n"
        f"  SPARK method Gauss(2), order 4: {steps} steps of {1e3 * found.record.h:.4g} "
        f"ms, {dry.newton_iterations / steps:.1f} Newton iterations a step\n"
        f"  worst constraint residual, velocity at the edge {dry.worst_residual:.1e} m/s; "
        f"drift from the edge at the end {dry.drift:.1e} m\n"
        f"  dry friction changes sign over {SIGN_WIDTH} rad/s; Levenberg-Marquardt "
        f"iterations: {dry.iterations} with it, {viscous.iterations} without\n"
        f"  wall time of the identification {found.wall_time:.1f} s, compilation included; "
        f"CPU time of the program {time.process_time():.1f} s"
    )
