"""The floor: DOP853 with projections in C, written by hand for four of the mechanisms.

The mathematics, the coefficients and the control of steps are those of the default of `solve`; but
the first step follows from one of Euler's method, and steps that failed are not remembered.
"""

import ctypes
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from ._mechanism import Fresh, PARAMETERS


HOME = pathlib.Path(__file__).parent / "floor"
NAMES = ("viviani", "yoke", "tricycle", "two_bodies")
COMPILER, FLAGS = "gcc", ("-O3", "-march=native", "-shared")
STAGES, ORDER = 12, 8
TOO_MANY = "The motion takes more than a million steps, or one too small."
_VECTOR = np.ctypeslib.ndpointer(dtype=float, flags="C_CONTIGUOUS")


def available() -> bool:
    """Whether there is a C compiler."""
    return shutil.which(COMPILER) is not None


class Floor:
    """One mechanism, compiled.

    **Arguments:**

    - `fresh`: a mechanism whose name is in `NAMES`.

    **Raises:** `subprocess.CalledProcessError` if the compiler fails.
    """

    def __init__(self, fresh: Fresh):
        y, z, args = fresh.start()
        self._x, self._args = np.concatenate([y, z]), np.array(args)
        self._t1 = fresh.t1
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            (home / "table.h").write_text(_table(), encoding="utf-8")
            library = home / "floor.so"
            source = str(HOME / f"{fresh.name}.c")
            paths = [f"-I{folder}", f"-I{HOME}", "-fPIC", "-o", str(library)]
            subprocess.run([COMPILER, *FLAGS, *paths, source, "-lm"], check=True)
            self._library = ctypes.CDLL(str(library))
        self._run, self._lanes = self._library.run, self._library.lanes
        self._run.restype = self._lanes.restype = ctypes.c_long
        double, whole = ctypes.c_double, ctypes.c_int
        self._run.argtypes = [_VECTOR, _VECTOR, double, double]
        self._lanes.argtypes = [_VECTOR, _VECTOR, whole, whole, double, double, _VECTOR]

    def run(self, tolerance: float) -> tuple[np.ndarray, int]:
        """The state at the end, shape `(ny + nz,)`, and the number of steps.

        **Raises:** `RuntimeError` if it does not get there.
        """
        x = self._x.copy()
        steps = self._run(x, self._args, self._t1, tolerance)
        if steps < 0:
            raise RuntimeError(TOO_MANY)
        return x, steps

    def lanes(self, args: Any, tolerance: float) -> np.ndarray:
        """The ends for each of the rows of parameters.

        **Raises:** `RuntimeError` if one does not get there.
        """
        args = np.ascontiguousarray(args, float)
        ends = np.empty((len(args), self._x.size))
        count, size = len(args), PARAMETERS
        if self._lanes(self._x, args, count, size, self._t1, tolerance, ends) < 0:
            raise RuntimeError(TOO_MANY)
        return ends


def _table() -> str:
    """The coefficients, as SciPy has them."""
    rows = {
        "A": DOP853.A[:STAGES, :STAGES], "B": DOP853.B, "NODES": DOP853.C[:STAGES],
        "FIFTH": DOP853.E5[:STAGES], "THIRD": DOP853.E3[:STAGES],
    }  # fmt: skip
    lines = [f"#define STAGES {STAGES}", f"#define ORDER {ORDER}"]
    for name, values in rows.items():
        shape = "".join(f"[{n}]" for n in values.shape)
        numbers = ", ".join(repr(float(x)) for x in values.ravel())
        lines.append(f"static const double {name}{shape} = {{{numbers}}};")
    return "\n".join(lines) + "\n"
