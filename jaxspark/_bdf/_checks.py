"""Arguments that can never be right."""

from numbers import Integral
from typing import Any

import jax.core
import jax.numpy as jnp
import numpy as np

from .._system import AbstractConstrainedSystem, FlatSystem
from ._coefficients import MAX_ORDER
from ._formulations import ERROR_NORMS, FORMULATIONS, LINEAR_SOLVES


def check_choices(formulation: Any, error_norm: Any, solve: Any) -> None:
    """Raise `ValueError` unless each is one of the words it can be."""
    choices = (
        ("formulation", formulation, FORMULATIONS),
        ("error_norm", error_norm, ERROR_NORMS),
        ("solve", solve, LINEAR_SOLVES),
    )
    for name, value, words in choices:
        if not isinstance(value, str) or value not in words:
            known = ", ".join(f'"{word}"' for word in words)
            raise ValueError(f"{name} must be one of {known}; got {value!r}.")
    if solve == "reduced" and formulation in ("ggl", "ggl_star"):
        raise ValueError(
            f'formulation="{formulation}" has multipliers among its unknowns; use '
            'solve="bordered" or one of the formulations "cs", "cm_step" and "cm_true".'
        )


def check_integers(max_order: Any, max_steps: Any) -> None:
    """Raise `ValueError` unless both are integers in their range."""
    for name, value, most in (
        ("max_order", max_order, MAX_ORDER), ("max_steps", max_steps, np.inf)
    ):  # fmt: skip
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not 1 <= int(value) <= most:
            bounds = "at least 1" if most == np.inf else f"from 1 to {most}"
            raise ValueError(f"{name} must be a Python integer, {bounds}; got {value!r}.")


def check_times(t0: Any, t1: Any, first_step: Any) -> None:
    """Raise `ValueError` unless times are finite numbers, and the first step a positive one."""
    for name, value in (("t0", t0), ("t1", t1), ("first_step", first_step)):
        if jnp.ndim(value):
            raise ValueError(f"{name} must be a number; use jax.vmap for a batch of them.")
        if isinstance(value, jax.core.Tracer):
            continue
        if not np.isfinite(value):
            raise ValueError(f"{name} must be finite; got {value!r}.")
    if not isinstance(first_step, jax.core.Tracer) and not first_step > 0:
        raise ValueError(f"first_step must be positive; got {first_step!r}.")


def tolerances(rtol: Any, atol: Any, dtype: Any) -> tuple[Any, Any]:
    """Both of them with defaults, checked against the precision of the state."""
    epsilon = float(jnp.finfo(dtype).eps)
    rtol = (1e-6 if epsilon < 1e-10 else 1e-3) if rtol is None else rtol
    atol = rtol if atol is None else atol
    for name, value in (("rtol", rtol), ("atol", atol)):
        if jnp.ndim(value):
            raise ValueError(f"{name} must be a number; use jax.vmap for a batch of them.")
        if isinstance(value, jax.core.Tracer):
            continue
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a number >= 0; got {value!r}.")
    if not isinstance(atol, jax.core.Tracer) and not atol > 0:
        raise ValueError(
            "atol must be positive: errors are measured by atol + rtol |x|, and coordinates and "
            "velocities may be zero."
        )
    if all(not isinstance(x, jax.core.Tracer) and x < 10 * epsilon for x in (rtol, atol)):
        raise ValueError(
            f"rtol = {rtol:g} and atol = {atol:g} are below the rounding errors of {dtype}; at "
            f"least one must reach {10 * epsilon:.2g}."
        )
    return rtol, atol


def check_system(system: AbstractConstrainedSystem) -> None:
    """Raise `ValueError` for a system that the formulations are not made for."""
    if not isinstance(system, AbstractConstrainedSystem):
        raise TypeError(f"system must be a jaxspark system; got {system!r}.")
    if system.v is not None:
        raise ValueError(
            "jaxspark.stiff.bdf integrates systems with q' = v; this one has a function v(t, y, z, "
            "args). Use jaxspark.solve."
        )


def check_flat(system: FlatSystem) -> None:
    """Raise `ValueError` unless constraints are independent, and their forces the ideal ones."""
    if system.redundant:
        raise ValueError(
            "jaxspark.stiff.bdf is for constraints that are independent: solve a system of "
            "jaxspark.linear.redundant with jaxspark.solve."
        )
    if not system.ideal:
        raise ValueError(
            "jaxspark.stiff.bdf eliminates the constraint forces, which must be the ideal ones "
            "-G^T lam; this system has forces r, reaction or friction of its own. Use "
            "jaxspark.solve."
        )
