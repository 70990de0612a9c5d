"""Differentiable simulation of constrained mechanisms: SPARK methods for index-3 DAEs."""

import importlib.metadata

from ._adaptive import underlying_ode as underlying_ode
from ._bdf import (
    bdf as bdf,
    BDFSolution as BDFSolution,
    BDFStatistics as BDFStatistics,
)
from ._blocks import (
    AbstractBlockSolver as AbstractBlockSolver,
    AcyclicNullSpace as AcyclicNullSpace,
    BlockMatrix as BlockMatrix,
    KLU as KLU,
    Pattern as Pattern,
    RangeSpace as RangeSpace,
)
from ._consistent import (
    constraint_rank as constraint_rank,
    constraint_residuals as constraint_residuals,
    ConstraintRank as ConstraintRank,
    ConstraintResiduals as ConstraintResiduals,
    Multipliers as Multipliers,
    multipliers as multipliers,
    project as project,
    Projection as Projection,
)
from ._dalembert import (
    discrete_action as discrete_action,
    discrete_euler_lagrange as discrete_euler_lagrange,
    DiscreteAction as DiscreteAction,
    DiscreteEulerLagrange as DiscreteEulerLagrange,
)
from ._devices import over_devices as over_devices
from ._diagnostics import energy as energy, momentum_map as momentum_map
from ._explicit import (
    Bosh3 as Bosh3,
    DOP853 as DOP853,
    Dopri5 as Dopri5,
    Dopri8 as Dopri8,
    ExplicitMethod as ExplicitMethod,
    Tsit5 as Tsit5,
)
from ._friction import dry_friction as dry_friction, regularised_norm as regularised_norm
from ._jax_internals import (
    jax_internals as jax_internals,
    JaxInternalsWarning as JaxInternalsWarning,
)
from ._kkt import (
    AbstractLinearSolver as AbstractLinearSolver,
    DenseInverse as DenseInverse,
    DenseLU as DenseLU,
    ElementwiseInverse as ElementwiseInverse,
    KKTBlocks as KKTBlocks,
)
from ._motion import Event as Event, impact as impact, Occurrences as Occurrences
from ._results import RESULTS as RESULTS
from ._rollout import (
    EqualSteps as EqualSteps,
    explain as explain,
    GivenSteps as GivenSteps,
    Solution as Solution,
    SolveError as SolveError,
    Statistics as Statistics,
    step as step,
    StepDensity as StepDensity,
)
from ._solve import rollout as rollout, solve as solve
from ._step import (
    NewtonOptions as NewtonOptions,
    Stages as Stages,
    StepInfo as StepInfo,
)
from ._stiff import damp_start as damp_start, DampedStart as DampedStart, GGL as GGL
from ._system import (
    AbstractConstrainedSystem as AbstractConstrainedSystem,
    ConstrainedSystem as ConstrainedSystem,
    elongate as elongate,
    Elongated as Elongated,
    ForceElement as ForceElement,
    Joint as Joint,
    LagrangianSystem as LagrangianSystem,
    MechanicalSystem as MechanicalSystem,
    MultibodySystem as MultibodySystem,
    RollingJoint as RollingJoint,
    with_blocks as with_blocks,
)
from ._tableau import (
    AbstractSparkMethod as AbstractSparkMethod,
    Composition as Composition,
    Gauss as Gauss,
    Lobatto as Lobatto,
    RadauIIA as RadauIIA,
    SparkMethod as SparkMethod,
    SparkTableau as SparkTableau,
)


__version__ = importlib.metadata.version("jaxspark")
from ._windows import in_windows as in_windows
