"""SymPy, imported when it is first needed."""

import importlib
from typing import Any


def sympy() -> Any:
    """The package `sympy`.

    **Raises:** `ModuleNotFoundError` without it.
    """
    try:
        return importlib.import_module("sympy")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "jaxspark.symbolic needs SymPy: pip install 'jaxspark[symbolic]'."
        ) from error


def mechanics() -> Any:
    """The package `sympy.physics.mechanics`."""
    sympy()
    return importlib.import_module("sympy.physics.mechanics")
