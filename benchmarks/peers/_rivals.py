"""Every other solver of a mechanism that is installed, and the settings it is worth trying."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ._casadi import CasADi
from ._exudyn import Exudyn
from ._ida import IDA
from ._jax_solvers import drifting
from ._mechanism import Mechanism
from ._mujoco import MuJoCo
from ._pendulum import Pendulum
from ._reduced import by_hand, REDUCED
from ._require import available
from ._run import Solver
from ._solve_dae import SolveDAE


class Rival(NamedTuple):
    """A solver, not yet compiled.

    - `make`: compiles it.
    - `settings`: from loose to tight.
    - `words`: a setting in words.
    """

    make: Callable[[], Solver]
    settings: Sequence[float]
    words: Callable[[float], str]


def tolerance(setting: float) -> str:
    """A tolerance in words."""
    return f"tolerance {setting:.2g}"


def _powers(first: int, last: int) -> list[float]:
    return [10.0**-k for k in range(first, last + 1)]


def _counted(*counts: int) -> list[float]:
    """Step sizes as fractions of the whole time."""
    return [1 / count for count in counts]


def _steps(setting: float) -> str:
    return f"{round(1 / setting)} steps"


def rivals(mechanism: Mechanism) -> Iterator[Rival]:
    """Those that can integrate this mechanism, as its users would.

    What is not installed is left out, with a line of its own.
    """
    name = mechanism.name
    if name in REDUCED:
        yield Rival(lambda: by_hand(name, mechanism.t_end), _powers(5, 11), tolerance)
    yield Rival(lambda: drifting(mechanism), _powers(5, 11), tolerance)
    if available("sksundae", "casadi", "numba"):
        yield Rival(lambda: IDA(mechanism, "gglint"), _powers(5, 11), tolerance)
    if available("solve_dae", "casadi", "numba"):
        yield Rival(lambda: SolveDAE(mechanism, stages=5), _powers(5, 9), tolerance)
    if available("casadi"):
        yield Rival(lambda: CasADi(mechanism, "gauss"), _counted(50, 100, 200, 400), _steps)
        yield Rival(lambda: CasADi(mechanism, "idas"), _powers(8, 11), tolerance)
    if isinstance(mechanism, Pendulum):
        yield from _of_bodies(mechanism)


def _of_bodies(pendulum: Pendulum) -> Iterator[Rival]:
    """Simulators of bodies, which take no equations."""
    settings = _counted(1000, 10_000, 100_000)
    if available("exudyn"):
        yield Rival(lambda: Exudyn(pendulum, "generalized alpha"), settings, _steps)
        yield Rival(lambda: Exudyn(pendulum, "trapezoidal rule"), settings, _steps)
    if available("mujoco"):
        yield Rival(lambda: MuJoCo(pendulum), settings, _steps)
