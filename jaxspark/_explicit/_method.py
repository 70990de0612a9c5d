"""Explicit methods for a system, as the driver wants them."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from .._kkt import saddle_solve
from .._system import FlatSystem
from ._field import Field, Parameters
from ._step import ExplicitStep
from ._tableau import ExplicitTableau


def without_reactions(system: FlatSystem) -> FlatSystem:
    """The system without the forces of its constraints, which the saddle-point problem knows."""
    return eqx.tree_at(
        lambda s: (s.r, s.reaction), system, (None, None), is_leaf=lambda x: x is None
    )


def parameters_of(system: FlatSystem) -> Parameters:
    """The arrays of a system: those that are differentiated, and the others."""
    return eqx.partition(eqx.filter(system, eqx.is_array), eqx.is_inexact_array)


def method_of(system: FlatSystem, tableau: ExplicitTableau) -> tuple[ExplicitStep, ExplicitStep]:
    """Steps on a system, and the same by operations that JAX can differentiate."""
    static = eqx.filter(system, eqx.is_array, inverse=True)
    return (
        ExplicitStep(Field(static), tableau),
        ExplicitStep(Field(static, _differentiable_solve), tableau),
    )


def _differentiable_solve(M: Any, C: Any, rhs: Any) -> tuple[Any, Any]:
    nz = C.shape[1]
    solution = jnp.concatenate(saddle_solve(M, C, rhs[:nz], rhs[nz:]))
    return solution, jnp.all(jnp.isfinite(solution))
