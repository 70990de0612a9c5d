"""What is said where something of JAX's insides is not understood, and what is done then."""

import importlib.metadata
import warnings
from collections.abc import Callable
from typing import TypeVar

from ._switch import allowed, VARIABLE


T = TypeVar("T")


class JaxInternalsWarning(UserWarning):
    """jaxspark did not understand JAX's insides and does without: results are right, but slower."""


_said: set[str] = set()


def not_understood(what: str, cost: str) -> None:
    """Warn, once for each thing in a process.

    **Arguments:**

    - `what`: was not understood; begins a sentence.
    - `cost`: a sentence on what is done instead.
    """
    if what in _said:
        return
    _said.add(what)
    versions = ", ".join(f"{name} {_version(name)}" for name in ("jax", "jaxlib", "jaxspark"))
    warnings.warn(
        f"{what} ({versions}). {cost} Results are right. A newer jaxspark may know it; "
        f"jaxspark.jax_internals(False), or {VARIABLE}=1 in the environment, does without JAX's "
        "insides and does not warn.",
        JaxInternalsWarning,
        stacklevel=2,
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def guarded(what: str, cost: str, fast: Callable[[], T], plain: Callable[[], T]) -> T:
    """`fast()`; `plain()` with a warning if that fails, and without one if the switch is off.

    **Arguments:**

    - `what`, `cost`: see `not_understood`; the error is added.
    - `fast`: calls no function of a user, whose errors are the user's.
    """
    if not allowed():
        return plain()
    try:
        return fast()
    except Exception as error:
        not_understood(f"{what} failed with {type(error).__name__}: {error}", cost)
    return plain()
