"""What was identified of a robot: values, errors, a report."""

import functools
import platform
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from .. import fit
from .._html import table
from ..fit._covariance import correlation, unidentifiable
from ._base import BaseParameters
from ._consistent import consistent
from ._mechanism import Mechanism
from ._search import Search


# Words of a combination in a table, at most.
WIDE = 76


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """The outcome of [`jaxspark.multibody.identify`][].

    - `mechanism`, `records`: of which it is.
    - `given`: the parameters of the mechanism before.
    - `base`: which combinations the base parameters are, a
        [`jaxspark.multibody.BaseParameters`][].
    - `search`: the iteration, as arrays.
    """

    mechanism: Mechanism
    records: tuple[fit.Record, ...]
    given: Mapping[str, Any]
    base: BaseParameters
    search: Search

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the `r` numbers: those that stand for base parameters, and offsets."""
        joints = _velocities(self.mechanism)
        return (*self.base.chosen, *(f"{joints[k]}.offset" for k in self.search.offsets))

    @property
    def vector(self) -> Float[np.ndarray, " r"]:
        """The estimates, in the order of `names`."""
        before = np.asarray(self.base.of(self.given))
        return np.concatenate([before, np.zeros(len(self.search.offsets))]) + self.search.change

    @property
    def values(self) -> dict[str, float]:
        """The estimates by name."""
        return dict(zip(self.names, self.vector.tolist(), strict=True))

    @property
    def covariance(self) -> Float[np.ndarray, "r r"]:
        """Of the estimates, over what the records tell."""
        return self.search.told.covariance()

    @property
    def identifiable(self) -> np.ndarray:
        """Which of the estimates the records tell, shape `(r,)`."""
        return ~unidentifiable(self.search.told)

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors by name; infinite where the records do not tell an estimate."""
        found = np.sqrt(np.maximum(np.diag(self.covariance), 0))
        found = np.where(self.identifiable, found, np.inf)
        return dict(zip(self.names, found.tolist(), strict=True))

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Confidence intervals by name.

        **Arguments:**

        - `level`: between 0 and 1.
        """
        errors = np.array(list(self.errors.values()))
        low, high = fit.intervals(self.vector, errors, self.search.freedom, level)
        return dict(zip(self.names, zip(low.tolist(), high.tolist(), strict=True), strict=True))

    @property
    def sigma(self) -> dict[str, float]:
        """Standard deviations of the noise by channel: of currents those of their torques."""
        joints = _velocities(self.mechanism)
        found = {}
        for kind, row in zip(("q", "v", "tau"), self.search.sigma, strict=True):
            found |= {f"{kind}:{x}": float(s) for x, s in zip(joints, row, strict=True)}
        return {name: value for name, value in found.items() if np.isfinite(value)}

    @functools.cached_property
    def parameters(self) -> dict[str, Any]:
        """Parameters for the mechanism that have these base parameters, as near as bodies can.

        What torques do not tell stays near what was given. Each inertia is that of a body, by the
        coordinates of [`jaxspark.fit.rigid_body`][].
        """
        return consistent(self)

    def findings(self, level: float = 0.95) -> fit.Findings:
        """All that was found, as plain numbers, for reports.

        **Arguments:**

        - `level`: the confidence level of the intervals.
        """
        from .. import __version__

        before = np.asarray(self.base.of(self.given)).tolist() + [0.0] * len(self.search.offsets)
        known, within, errors = self.identifiable, self.intervals(level), self.errors
        estimates = tuple(
            fit.Estimate(
                name, _unit(name), start, value, errors[name], *within[name],
                identifiable=bool(told),
            )
            for (name, value), start, told in zip(
                self.values.items(), before, known, strict=True
            )
        )  # fmt: skip
        return fit.Findings(
            title="Base parameters from torques",
            estimates=estimates,
            initial_states=(),
            correlation=correlation(self.covariance),
            combinations=(),
            unidentifiable=self.unidentifiable,
            warnings=self.meanings,
            level=level,
            trials=tuple(self._trials()),
            loss=(),
            converged=True,
            message=f"Converged after {self.search.iterations} iterations.",
            worst_residual=0.0,
            seconds=self.search.seconds,
            versions={
                "jaxspark": __version__, "jax": jax.__version__,
                "python": platform.python_version(),
            },
        )  # fmt: skip

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Which of the estimates the motions of the records do not tell, in sentences."""
        lost = [name for name, told in zip(self.names, self.identifiable, strict=True) if not told]
        return (f"{', '.join(lost)}: the motions of the records do not tell these",) if lost else ()

    @property
    def meanings(self) -> tuple[str, ...]:
        """What estimates stand for, and what no motion tells, in sentences."""
        base = self.base
        pairs = zip(base.chosen, base.words, strict=True)
        found = [f"{name} stands for {words}" for name, words in pairs if words != name]
        if base.without_effect:
            found.append(f"{', '.join(base.without_effect)}: no torque depends on these")
        return tuple(found)

    def report(self, folder: str | Path, level: float = 0.95) -> Path:
        """Write the report: `report.html`, `report.json`, and each figure as a PNG file.

        **Arguments:**

        - `folder`: where; made if it does not exist.
        - `level`: the confidence level of the intervals.

        **Returns:** the path of the page.
        """
        return fit.write_report(self.findings(level), folder)

    def _trials(self) -> Any:
        names = _velocities(self.mechanism)
        units = {"q": "", "v": "", "tau": ""}
        for record, motion, shown in zip(
            self.records, self.search.motions, self.search.predicted, strict=True
        ):
            channels = []
            for number, kind in enumerate(("q", "v", "tau")):
                for k, name in enumerate(names):
                    measured = motion.samples.values[:, number, k]
                    if np.all(np.isnan(measured)):
                        continue
                    predicted = shown[:, number, k]
                    channels.append(
                        fit.Channel(
                            f"{kind}:{name}", units[kind], measured, predicted,
                            float(self.search.sigma[number, k]),
                            fit.r_squared(measured, predicted),
                            fit.whiteness(measured - predicted, times=record.times),
                        )
                    )  # fmt: skip
            yield fit.Trial(record.name, record.times, tuple(channels))

    def __repr__(self) -> str:
        errors = self.errors
        lines = [f"{len(self.names)} numbers identified from {len(self.records)} records:"]
        for name, value in self.values.items():
            lines.append(f"  {name} = {value:.6g} +- {errors[name]:.2g} {_unit(name)}".rstrip())
        words = [
            textwrap.shorten(x, 4 * WIDE, placeholder=" ...")
            for x in (*self.unidentifiable, *self.meanings)
        ]
        return "\n".join([*lines, *(f"  {x}" for x in words)])

    def _repr_html_(self) -> str:
        errors = self.errors
        rows = [
            (name, f"{value:.6g}", f"{errors[name]:.2g}", _unit(name))
            for name, value in self.values.items()
        ]
        heads = ("base parameter", "estimate", "standard error", "unit")
        return table("Base parameters from torques", heads, rows)


def _velocities(mechanism: Mechanism) -> list[str]:
    out = [""] * mechanism.tree.nz
    for name, (_, at) in mechanism._at.items():
        for number, k in enumerate(at):
            out[int(k)] = name if len(at) == 1 else f"{name}:{number}"
    return out


def _unit(name: str) -> str:
    what = name.rpartition(".")[2]
    if what == "m":
        return "kg"
    if what in ("mx", "my", "mz"):
        return "kg m"
    return "kg m^2" if what[:1] == "I" else ""
