"""The packages that only the comparison with other solvers needs."""

import importlib
from typing import Any


def peer(name: str) -> Any:
    """The module of this name.

    **Raises:** `SystemExit` if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SystemExit('The peers are not installed: pip install ".[peers]"') from error
