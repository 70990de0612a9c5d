"""A solution drawn over time."""

from typing import Any

import jax
import numpy as np

from .._consistent import constraint_residuals
from .._custom_types import Args, Function
from .._diagnostics import energy
from .._rollout import Solution
from .._system import AbstractConstrainedSystem
from ._columns import groups, known


# More lines than these have no names beside them.
NAMED = 8
TITLES = {
    "y": "coordinates y",
    "z": "velocities z",
    "lam": "multipliers of holonomic constraints",
    "psi": "multipliers of nonholonomic constraints",
}


def plot(
    solution: Any,
    system: AbstractConstrainedSystem | None = None,
    args: Args = None,
    *,
    phase: tuple[str, str] | None = None,
    potential: Function | None = None,
    labels: dict[str, str] | None = None,
) -> Any:
    """Draw the saved states of a solution, or of a batch of solutions, over time.

    There is a panel each for coordinates, velocities, and multipliers where they were saved. With
    the system, a panel each for constraint residuals and, where the potential energy is known, for
    the change of energy.

    **Arguments:**

    - `solution`: what [`jaxspark.solve`][] returned, with at least two saved states; or a batch.
    - `system`, `args`: what was solved, for residuals and energy. Not for batches.
    - `phase`: the names of two entries, `("y[0]", "z[0]")`, for a panel with one over the other.
    - `potential`: `U(t, y, args)`, as for [`jaxspark.diagnostics.energy`][], of a system without
        a Lagrangian.
    - `labels`: names to show in place of some of `y[0]`, `lam[0]`, ..., with units for instance.

    **Returns:** a `matplotlib.figure.Figure`, open: `matplotlib.pyplot.show()` shows it.

    **Raises:** `TypeError` if `solution` is not a solution; `ValueError` if fewer than two states
    are saved, while a program is traced, for names that are not there, or a batch with a system.
    """
    import matplotlib.pyplot as plt

    solution = known(solution)
    if system is not None and solution.ts.ndim > 1:
        raise ValueError("Residuals and energy are drawn of one motion, not of a batch.")
    columns = {name: group for name, group in groups(solution).items() if group}
    entries = {name: x for group in columns.values() for name, x in group.items()}
    names = {name: name for name in entries} | _known_names(labels or {}, entries)
    ts = np.asarray(solution.ts)
    panels = [(TITLES[name], ts, group) for name, group in columns.items()]
    if system is not None:
        panels += _of_system(system, solution, args, potential)
    count = len(panels) + (phase is not None)
    figure, axes = plt.subplots(
        count, 1, figsize=(7, 1 + 1.9 * count), squeeze=False, layout="constrained"
    )
    axes = axes[:, 0]
    for axis, (title, times, group) in zip(axes, panels, strict=False):
        _lines(axis, times, group, names)
        axis.set_title(title, loc="left", fontsize="medium")
        axis.set_xlabel("t")
    if phase is not None:
        _known_names(dict.fromkeys(phase, ""), entries)
        for x, y in zip(*(np.atleast_2d(entries[name]) for name in phase), strict=True):
            axes[-1].plot(x, y)
        axes[-1].set(xlabel=names[phase[0]], ylabel=names[phase[1]])
    return figure


def _known_names(given: dict[str, str], entries: dict[str, np.ndarray]) -> dict[str, str]:
    unknown = set(given) - set(entries)
    if unknown:
        raise ValueError(f"{sorted(unknown)} are not among the entries {sorted(entries)}.")
    return given


def _of_system(
    system: AbstractConstrainedSystem, solution: Solution, args: Args, potential: Function | None
) -> list[tuple[str, np.ndarray, dict[str, np.ndarray]]]:
    ts = np.asarray(solution.ts)
    states = solution.ts, solution.ys, solution.zs, args
    residuals = constraint_residuals(system, *states)
    sizes = {}
    for name in ("g", "gdot", "k"):
        leaves = jax.tree.leaves(getattr(residuals, name))
        if any(leaf.size for leaf in leaves):
            sizes[f"largest |{name}|"] = np.max(
                [np.max(np.abs(leaf).reshape(len(ts), -1), axis=1) for leaf in leaves if leaf.size],
                axis=0,
            )
    panels = [("constraint residuals", ts, sizes)] if sizes else []
    try:
        total = np.asarray(energy(system, *states, potential=potential))
    except ValueError:
        if potential is not None:
            raise
        return panels
    return [*panels, ("energy less that at the start (J)", ts, {"energy": total - total[0]})]


def _lines(axis: Any, ts: np.ndarray, group: dict[str, np.ndarray], names: dict[str, str]) -> None:
    for number, (name, values) in enumerate(group.items()):
        lanes = np.atleast_2d(values)
        style = {"color": f"C{number % 10}", "linewidth": 1.3 if len(lanes) == 1 else 0.6}
        for times, lane in zip(np.atleast_2d(ts), lanes, strict=True):
            (line,) = axis.plot(times, lane, **style)
        line.set_label(names.get(name, name))
    if len(group) <= NAMED:
        axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
