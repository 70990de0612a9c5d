"""Consistent values: constraint residuals and rank, projection, multipliers."""

from ._faults import faults as faults
from ._mass import describe_mass as describe_mass, sound_mass as sound_mass
from ._multipliers import (
    flat_multipliers as flat_multipliers,
    Multipliers as Multipliers,
    multipliers as multipliers,
)
from ._nearby import project_nearby as project_nearby
from ._nearest import nearest as nearest
from ._project import (
    flat_project as flat_project,
    mass_metric as mass_metric,
    project as project,
    Projection as Projection,
)
from ._residuals import (
    constraint_jacobian as constraint_jacobian,
    constraint_rank as constraint_rank,
    constraint_residuals as constraint_residuals,
    ConstraintRank as ConstraintRank,
    ConstraintResiduals as ConstraintResiduals,
    flat_residuals as flat_residuals,
    velocity_constraints as velocity_constraints,
)
from ._singular import describe_singular as describe_singular
from ._words import describe as describe, describe_rank as describe_rank
