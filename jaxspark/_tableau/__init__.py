"""Quadrature nodes, collocation coefficients, SPARK tableaux and the methods built on them."""

from ._composition import (
    Composition as Composition,
    composition_fractions as composition_fractions,
    RolloutMethod as RolloutMethod,
)
from ._methods import (
    AbstractSparkMethod as AbstractSparkMethod,
    Gauss as Gauss,
    Lobatto as Lobatto,
    RadauIIA as RadauIIA,
    SparkMethod as SparkMethod,
)
from ._spark import SparkTableau as SparkTableau
