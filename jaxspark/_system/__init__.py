"""Constrained systems: the general class, its two builders, and their flat form."""

from ._check import (
    as_args as as_args,
    as_state as as_state,
    check_like as check_like,
    constraint_shapes as constraint_shapes,
)
from ._constrained import (
    AbstractConstrainedSystem as AbstractConstrainedSystem,
    ConstrainedSystem as ConstrainedSystem,
    require_callable as require_callable,
)
from ._elongated import elongate as elongate, Elongated as Elongated
from ._flat import FlatSystem as FlatSystem, flatten as flatten
from ._jacobian import value_and_jacobian as value_and_jacobian
from ._joints import (
    ForceElement as ForceElement,
    Joint as Joint,
    RollingJoint as RollingJoint,
)
from ._lagrangian import LagrangianSystem as LagrangianSystem
from ._mechanical import MechanicalSystem as MechanicalSystem
from ._multibody import MultibodySystem as MultibodySystem
from ._redundant import redundant as redundant
from ._structured import (
    AbstractMasses as AbstractMasses,
    AbstractStructuredSystem as AbstractStructuredSystem,
    Accelerations as Accelerations,
)
from ._times import over_times as over_times
from ._with_blocks import (
    innermost as innermost,
    with_blocks as with_blocks,
    WithBlocks as WithBlocks,
)
