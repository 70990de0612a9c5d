"""A loop that writes rows, whose lanes in a batch go on together until the last of them is done.

`jax.vmap` of a `while_loop` selects, in every trip, between what the body made and what a lane that
is done has carried since: all of it, rows included, which are far larger than all else. Here only
the state is selected. A trip of a lane that is done must write its rows where nothing counts.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._custom_types import BoolScalar


def loop_with_rows(
    going: Callable[[Any, Any], BoolScalar],
    trip: Callable[[Any, Any, Any], tuple[Any, Any]],
    given: Any,
    state: Any,
    rows: Any,
) -> tuple[Any, Any]:
    """The state and the rows when the loop ends.

    **Arguments:**

    - `going`: `going(given, state)`, whether there is a further trip.
    - `trip`: `trip(given, state, rows)` makes the state and the rows after it. In a batch it is
        called with states that are not going, too, many times: the states that it then returns are
        dropped, but its rows are kept, so that it may change only rows that do not count, to any
        numbers or NaN. Neither function closes over anything traced.
    - `given`, `state`, `rows`: PyTrees of arrays.
    """

    @jax.custom_batching.custom_vmap
    def loop(given, state, rows):
        return jax.lax.while_loop(
            lambda carry: going(given, carry[0]), lambda carry: trip(given, *carry), (state, rows)
        )

    @loop.def_vmap
    def _(lanes, batched, given, state, rows):
        axes = jax.tree.map(lambda b: 0 if b else None, batched[0])
        all_going = jax.vmap(going, (axes, 0))
        all_trips = jax.vmap(trip, (axes, 0, 0))

        def some_going(given, state):
            return jnp.any(all_going(given, state))

        def trip_of_all(given, state, rows):
            after, rows = all_trips(given, state, rows)
            on = all_going(given, state)
            choose = jax.vmap(lambda on, a, b: jax.tree.map(lambda a, b: jnp.where(on, a, b), a, b))
            return choose(on, after, state), rows

        full = jax.tree.map(
            lambda x, b: x if b else jnp.broadcast_to(x, (lanes, *jnp.shape(x))),
            (state, rows),
            tuple(batched[1:]),
        )
        out = loop_with_rows(some_going, trip_of_all, given, *full)
        return out, jax.tree.map(lambda _: True, out)

    return loop(given, state, rows)
