"""Events as the loop over steps sees them: functions of vectors."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import flat_project
from .._custom_types import Args, BoolScalar, FloatScalar, IntScalar
from .._driver import AbstractEvents, Happening
from .._system import FlatSystem
from ._events import Event, Occurrences, reset_state, value


class FlatEvents(AbstractEvents):
    """Several events of a system.

    **Arguments:**

    - `static`: the flat system, conditions and resets, as functions of `(t, y, z)`, without their
        arrays, which come as `parameters`.
    - `events`: what is known of them without arrays.
    - `most`: how many may occur after which the motion goes on.
    """

    def __init__(self, static: Any, events: tuple[Event, ...], most: int):
        self.static, self.most = static, most
        self.directions = tuple(
            None if event.direction is None else bool(event.direction) for event in events
        )
        self.jumps = tuple(event.reset is not None for event in events)

    def _at(self, parameters: Any, x: Float[Array, " n"]) -> tuple[FlatSystem, Any, Any, Any]:
        flat, conditions, resets = eqx.combine(*parameters, self.static)
        state = (flat.unravel_y(x[: flat.ny]), flat.unravel_z(x[flat.ny :]))
        return flat, conditions, resets, state

    def conditions(
        self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]
    ) -> Float[Array, " events"]:
        """Their values."""
        _, conditions, _, state = self._at(parameters, x)
        return jnp.stack([condition(t, *state).astype(x.dtype) for condition in conditions])

    def jump(
        self, parameters: Any, which: IntScalar, t: FloatScalar, x: Float[Array, " n"]
    ) -> tuple[Float[Array, " n"], BoolScalar]:
        """The state after the `reset`, on the constraints again."""
        flat, _, resets, state = self._at(parameters, x)
        for number, reset in enumerate(resets):
            if reset is not None:
                new = reset(t, *state)
                x = jnp.where(which == number, _vector(new, x.dtype), x)
        y, z, good = flat_project(flat, t, x[: flat.ny], x[flat.ny :])
        return jnp.concatenate([y, z]), good


def _vector(state: Any, dtype: Any) -> Float[Array, " n"]:
    parts = [jax.flatten_util.ravel_pytree(part)[0] for part in state]
    return jnp.concatenate(parts).astype(dtype)


def flat_events(
    events: tuple[Event, ...], flat: FlatSystem, t: FloatScalar, x: Any, args: Args, most: int
) -> tuple[FlatEvents, Any]:
    """Events for a system, and their parameters: arrays that are differentiated, and others.

    What conditions and resets close over, which may be traced, is among them.

    **Arguments:**

    - `t`, `x`: a time and a state, of which shapes matter.
    - `args`: which they are given.
    """
    state = (flat.unravel_y(x[: flat.ny]), flat.unravel_z(x[flat.ny :]))

    def closed(function: Callable[..., Any]) -> Any:
        return eqx.filter_closure_convert(function, t, *state)

    conditions = [
        closed(lambda t, y, z, event=event: value(event, t, (y, z), args)) for event in events
    ]
    resets = [
        None
        if event.reset is None
        else closed(lambda t, y, z, event=event: reset_state(event, t, y, z, args))
        for event in events
    ]
    arrays, static = eqx.partition((flat, conditions, resets), eqx.is_array)
    parameters = eqx.partition(arrays, eqx.is_inexact_array)
    return FlatEvents(static, events, most), parameters


def occurrences(happened: Happening, unravel: Callable[[Any], Any]) -> Occurrences:
    """What occurred, as states of the user."""
    rows = slice(0, happened.ts.size - 1)
    ys, zs = jax.vmap(unravel)(happened.xs[rows])
    ys_after, zs_after = jax.vmap(unravel)(happened.after[rows])
    return Occurrences(
        happened.number, happened.ts[rows], happened.kinds[rows], ys, zs, ys_after, zs_after
    )
