"""All methods of `solve`, what their coefficients are made of, and what a step tells."""

from ._explicit import (
    Bosh3 as Bosh3,
    DOP853 as DOP853,
    Dopri5 as Dopri5,
    Dopri8 as Dopri8,
    ExplicitMethod as ExplicitMethod,
    Tsit5 as Tsit5,
)
from ._step import Stages as Stages, StepInfo as StepInfo
from ._stiff import GGL as GGL
from ._tableau import (
    AbstractSparkMethod as AbstractSparkMethod,
    Composition as Composition,
    Gauss as Gauss,
    Lobatto as Lobatto,
    RadauIIA as RadauIIA,
    SparkMethod as SparkMethod,
    SparkTableau as SparkTableau,
)
