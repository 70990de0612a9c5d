"""Compiled functions: fits run for seconds, and should not compile for longer."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax


# XLA's older code generator for CPUs and less optimisation compile these programs more than
# twice as fast as its defaults, and they run no slower (jaxlib 0.10).
_CPU = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`equinox.filter_jit`, with options that suit the backend at hand."""

    @functools.cache
    def on(backend: str):
        options: Any = {"compiler_options": _CPU} if backend == "cpu" else {}
        return eqx.filter_jit(function, **options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any):
        return on(jax.default_backend())(*args, **kwargs)

    return call
