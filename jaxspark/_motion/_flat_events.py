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

    - `static`: events, flat system and args without their arrays, which come as `parameters`.
    - `events`: the same, for what is known of them without arrays.
    - `most`: how many may occur after which the motion goes on.
    """

    def __init__(self, static: Any, events: tuple[Event, ...], most: int):
        self.static, self.most = static, most
        self.directions = tuple(
            None if event.direction is None else bool(event.direction) for event in events
        )
        self.jumps = tuple(event.reset is not None for event in events)

    def _at(self, parameters: Any, x: Float[Array, " n"]) -> tuple[Any, FlatSystem, Any, Args]:
        events, flat, args = eqx.combine(*parameters, self.static)
        return events, flat, (flat.unravel_y(x[: flat.ny]), flat.unravel_z(x[flat.ny :])), args

    def conditions(
        self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]
    ) -> Float[Array, " events"]:
        """Their values."""
        events, _, state, args = self._at(parameters, x)
        return jnp.stack([value(event, t, state, args).astype(x.dtype) for event in events])

    def jump(
        self, parameters: Any, which: IntScalar, t: FloatScalar, x: Float[Array, " n"]
    ) -> tuple[Float[Array, " n"], BoolScalar]:
        """The state after the `reset`, on the constraints again."""
        events, flat, state, args = self._at(parameters, x)
        occurred = jnp.arange(len(events), dtype=jnp.int32) == which
        new = reset_state(events, occurred, t, state[0], state[1], args)
        y, z = (jax.flatten_util.ravel_pytree(part)[0].astype(x.dtype) for part in new)
        y, z, good = flat_project(flat, t, y, z)
        return jnp.concatenate([y, z]), good


def flat_events(
    events: tuple[Event, ...], flat: FlatSystem, args: Args, most: int
) -> tuple[FlatEvents, Any]:
    """Events for a system, and their parameters: arrays that are differentiated, and others."""
    arrays, static = eqx.partition((events, flat, args), eqx.is_array)
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
