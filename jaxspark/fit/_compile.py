"""Compiled functions: fits run for seconds, and should not compile for longer."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from .._jax_internals import accepted


# Less optimisation, and below jaxlib 0.11 XLA's older code generator for CPUs, compile these
# programs twice as fast as XLA's defaults do, and they run no slower.
_CPU = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`equinox.filter_jit`, with options that suit the backend at hand."""
    on = functools.cache(functools.partial(_jitted, function))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any):
        return on(jax.default_backend())(*args, **kwargs)

    return call


def ahead(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The program for such arguments, which any thread may run."""
    return _jitted(function, jax.default_backend()).lower(*args).compile()


def _jitted(function: Callable[..., Any], backend: str) -> Any:
    options = accepted(_CPU) if backend == "cpu" else {}
    keywords: Any = {"compiler_options": options} if options else {}
    return eqx.filter_jit(function, **keywords)
