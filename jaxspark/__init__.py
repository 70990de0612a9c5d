"""Differentiable simulation of constrained mechanisms: SPARK methods for index-3 DAEs.

What most programs need is here; the rest is in rooms: `methods`, `linear`, `forces`,
`diagnostics`, `stiff`, `batch`, `pictures`, `multibody`, `symbolic`, `fit` and, to be imported by
name, `diffrax`.
"""

import importlib
from typing import Any, TYPE_CHECKING

from . import forces as forces, linear as linear, methods as methods
from ._adaptive import underlying_ode as underlying_ode
from ._consistent import multipliers as multipliers, project as project
from ._explicit import DOP853 as DOP853, Tsit5 as Tsit5
from ._forces import dry_friction as dry_friction, regularised_norm as regularised_norm
from ._jax_internals import (
    jax_internals as jax_internals,
    JaxInternalsWarning as JaxInternalsWarning,
)
from ._motion import Event as Event, impact as impact, Occurrences as Occurrences
from ._results import RESULTS as RESULTS
from ._rollout import (
    EqualSteps as EqualSteps,
    GivenSteps as GivenSteps,
    Solution as Solution,
    SolveError as SolveError,
    Statistics as Statistics,
    step as step,
    StepDensity as StepDensity,
)
from ._solve import rollout as rollout, solve as solve
from ._step import NewtonOptions as NewtonOptions
from ._stiff import GGL as GGL
from ._system import (
    AbstractConstrainedSystem as AbstractConstrainedSystem,
    ConstrainedSystem as ConstrainedSystem,
    ForceElement as ForceElement,
    Joint as Joint,
    LagrangianSystem as LagrangianSystem,
    MechanicalSystem as MechanicalSystem,
    MultibodySystem as MultibodySystem,
    RollingJoint as RollingJoint,
)
from ._tableau import (
    Composition as Composition,
    Gauss as Gauss,
    Lobatto as Lobatto,
    RadauIIA as RadauIIA,
)


if TYPE_CHECKING:
    from . import (
        batch as batch,
        diagnostics as diagnostics,
        fit as fit,
        multibody as multibody,
        pictures as pictures,
        stiff as stiff,
        symbolic as symbolic,
    )

    __version__: str

# Loaded when they are first named: most programs need none of these.
_LATER = ("batch", "diagnostics", "fit", "multibody", "pictures", "stiff", "symbolic")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        metadata = importlib.import_module("importlib.metadata")
        try:
            return metadata.version("jaxspark")
        except metadata.PackageNotFoundError:
            # The source is on the path without having been installed.
            return "not installed"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, "__version__"})
