"""Compile options that the XLA at hand knows."""

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ._switch import allowed


def accepted(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some compile options of XLA that `jax.jit` accepts: others would be errors.

    **Arguments:**

    - `options`: for `compiler_options` of `jax.jit`, by name.
    """
    return {name: value for name, value in options.items() if allowed() and _accepts(name, value)}


@functools.cache
def _accepts(name: str, value: Any) -> bool:
    """By compiling something small with it."""
    try:
        with jax.ensure_compile_time_eval():
            jax.jit(lambda x: x + 1, compiler_options={name: value})(jnp.zeros(()))
    except Exception:
        return False
    return True
