"""What a test problem is, and where its reference values come from."""

import functools
import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jaxspark


@dataclass(frozen=True)
class Problem:
    """An initial value problem of a constrained system, in SI units.

    - `name`: that of the problem, and of its reference file if there is one.
    - `system`: the equations, functions of `(t, q, v, args)`.
    - `t0`, `t_end`: the time interval (s).
    - `y0`, `z0`: consistent initial coordinates, shape `(ny,)`, and velocities, `(nz,)`; with
        `jaxspark.stiff.Elongated`, pairs of such.
    - `args`: the physical parameters, a dictionary of floats or of arrays.
    - `reference`: loads the reference values as a dictionary, or `None`.
    """

    name: str
    system: jaxspark.AbstractConstrainedSystem
    t0: float
    t_end: float
    y0: Any
    z0: Any
    args: dict[str, Any]
    reference: Callable[[], dict[str, Any]] | None


def _path(name: str) -> pathlib.Path:
    return pathlib.Path(__file__).parent / "reference" / f"{name}.json"


def load_reference(name: str) -> dict[str, Any]:
    """The reference values `reference/<name>.json`; see the README there."""
    return json.loads(_path(name).read_text())


def reference_loader(name: str) -> Callable[[], dict[str, Any]]:
    """`load_reference` with the name filled in."""
    return functools.partial(load_reference, name)


def reference_if_any(name: str) -> Callable[[], dict[str, Any]] | None:
    """`reference_loader` where there is a file of that name: not for every stiffness."""
    return reference_loader(name) if _path(name).exists() else None


def brief(number: float) -> str:
    """A number as the names of the reference files have it, for instance `1e-4`."""
    digits, power = f"{number:e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
