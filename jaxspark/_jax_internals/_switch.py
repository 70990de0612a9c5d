"""The switch that turns all use of JAX's insides off."""

import os
from types import TracebackType


VARIABLE = "JAXSPARK_PLAIN"

_state = {"allowed": os.environ.get(VARIABLE, "").strip().lower() in ("", "0", "false", "no")}


class jax_internals:
    """Say whether jaxspark may use what is not JAX's public API; by default it may.

    `jax_internals(False)` turns all of that off, for a release of JAX in which it misbehaves, or
    to see what it gains; results are the same to rounding error, but slower. It holds for the whole
    process from the call on, or inside of a `with` statement. `JAXSPARK_PLAIN=1` in the
    environment does the same from the start. What was traced before stays as it was traced: call
    this first, or `jax.clear_caches()` after it.

    **Arguments:**

    - `allowed`: `True` if jaxspark may use it, `False` if not.

    **Raises:** `TypeError` if `allowed` is not a boolean.
    """

    def __init__(self, allowed: bool):
        if not isinstance(allowed, bool):
            raise TypeError(f"jax_internals takes True or False; got {allowed!r}.")
        self._allowed, self._before = allowed, _state["allowed"]
        _state["allowed"] = allowed

    def __enter__(self) -> None:
        _state["allowed"] = self._allowed

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
        _state["allowed"] = self._before


def allowed() -> bool:
    """Whether JAX's insides may be used."""
    return _state["allowed"]
