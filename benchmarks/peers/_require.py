"""The packages that only the comparison with other solvers needs."""

import functools
import importlib
import importlib.util
import sys
from typing import Any


def peer(name: str) -> Any:
    """The module of this name.

    **Raises:** `SystemExit` if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SystemExit('The peers are not installed: pip install ".[peers]"') from error


def available(*names: str) -> bool:
    """Whether all these packages are installed; says so, once, if one is not."""
    return all([_installed(name) for name in names])


@functools.cache
def _installed(name: str) -> bool:
    if importlib.util.find_spec(name) is not None:
        return True
    print(f'{name} is not installed and left out: pip install ".[peers]"', file=sys.stderr)
    return False
