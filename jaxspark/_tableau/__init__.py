"""Quadrature nodes, collocation coefficients, SPARK tableaux and the methods built on them."""

from ._methods import (
    AbstractSparkMethod as AbstractSparkMethod,
    Gauss as Gauss,
    Lobatto as Lobatto,
    RadauIIA as RadauIIA,
    SparkMethod as SparkMethod,
)
from ._spark import SparkTableau as SparkTableau
