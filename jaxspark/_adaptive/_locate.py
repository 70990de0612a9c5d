"""Where inside a step an event occurs."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import Args, BoolScalar, FloatScalar, State
from .._implicit import stop_gradient
from ._events import Event, value
from ._interpolation import ShorterStep


MAX_ITERATIONS = 60


class Located(eqx.Module):
    """The first event inside a step.

    - `occurred`: which it was, if there was any.
    - `t`, `y`, `z`: the time and the state of it, or those of the end of the step.
    - `found`: whether it was found to rounding error.
    - `changes`: how much the conditions changed in the step, of all events that it reached: others
        may occur at the same time.
    """

    occurred: Bool[Array, " events"]
    t: FloatScalar
    y: State
    z: State
    found: BoolScalar
    changes: Float[Array, " events"]


def locate(
    events: tuple[Event, ...],
    step: ShorterStep,
    end: tuple[State, State],
    args: Args,
    offsets: Float[Array, " events"],
) -> Located:
    """The first event inside a step.

    **Arguments:**

    - `step`: the last step, with `t0 = 0` and `t1 = 1`.
    - `end`: the state at its end.
    - `offsets`: added to the conditions.
    """
    fractions, found, changes = [], [], []
    for event, offset in zip(events, offsets, strict=True):

        def condition_at(t, state, event=event, offset=offset):
            return value(event, t, state, args) + offset

        first = condition_at(step.start, (step.y, step.z))
        last = condition_at(step.start + step.h, end)
        triggered = _crossed(event, first, last)

        def condition(fraction, condition_at=condition_at):
            return condition_at(step.start + fraction * step.h, step.evaluate(fraction))

        fraction, good = _root(condition, first, last, triggered)
        fractions.append(jnp.where(triggered, fraction, jnp.inf))
        found.append(good | ~triggered)
        changes.append(jnp.where(triggered, jnp.abs(last - first), 0))
    earliest = jnp.argmin(jnp.stack(fractions))
    fraction = jnp.stack(fractions)[earliest]
    occurred = jnp.isfinite(fraction) & (jnp.arange(len(events)) == earliest)
    any_of = jnp.any(occurred)
    fraction = jnp.clip(jnp.where(any_of, fraction, 1), 0, 1)
    there = step.evaluate(fraction)
    state = jax.tree.map(lambda a, b: jnp.where(any_of, a, b), there, end)
    changes = jax.lax.stop_gradient(jnp.stack(changes))
    t = step.start + fraction * step.h
    return Located(occurred, t, state[0], state[1], jnp.all(jnp.stack(found)), changes)


def _crossed(event: Event, first: FloatScalar, last: FloatScalar) -> BoolScalar:
    """Whether the condition changed sign, as diffrax sees it."""
    rises, falls = (first <= 0) & (last > 0), (first > 0) & (last <= 0)
    if event.direction is None:
        return jnp.sign(first) != jnp.sign(last)
    return rises if event.direction else falls


def _root(
    function: Callable[[FloatScalar], FloatScalar],
    first: FloatScalar,
    last: FloatScalar,
    wanted: BoolScalar,
) -> tuple[FloatScalar, BoolScalar]:
    """A root in `[0, 1]`, differentiable twice: the Illinois method, then two of Newton's steps.

    Source: M. Dowell & P. Jarratt, *A modified regula falsi method for computing the root of an
    equation*, BIT 11 (1971).
    """
    first, last = jax.lax.stop_gradient((first, last))
    # A start at zero, right after an event, tells a secant nothing but the side.
    nowhere = jnp.abs(first) <= 1e-6 * jnp.abs(last)
    first = jnp.where(nowhere, -last, first)
    epsilon = jnp.finfo(first.dtype).eps
    # Nothing is differentiated here but Newton's steps, at the root.
    frozen = stop_gradient(eqx.filter_closure_convert(function, first))

    def body(carry):
        (a, b), (fa, fb), side, count = carry
        slope = fb - fa
        x = jnp.where(slope != 0, b - fb * (b - a) / jnp.where(slope != 0, slope, 1), (a + b) / 2)
        inside = (x > jnp.minimum(a, b)) & (x < jnp.maximum(a, b))
        # Every third step halves the interval, whatever the function.
        x = jnp.where(inside & (count % 3 != 2), x, (a + b) / 2)
        fx = frozen(x)
        right = jnp.sign(fx) == jnp.sign(fb)
        fa = jnp.where(right, jnp.where(side == 1, fa / 2, fa), fx)
        fb = jnp.where(right, fx, jnp.where(side == -1, fb / 2, fb))
        a, b = jnp.where(right, a, x), jnp.where(right, x, b)
        return (a, b), (fa, fb), jnp.where(right, 1, -1), count + 1

    def unfinished(carry):
        (a, b), (fa, fb), _, count = carry
        wide = jnp.abs(b - a) > 4 * epsilon
        return wanted & wide & (fa != 0) & (fb != 0) & (count < MAX_ITERATIONS)

    ends = jnp.zeros_like(first), jnp.ones_like(first)
    start = (ends, (first, last), jnp.asarray(0), jnp.asarray(0))
    (a, b), (fa, fb), _, _ = jax.lax.while_loop(unfinished, body, start)
    root = jax.lax.stop_gradient(jnp.where(jnp.abs(fa) < jnp.abs(fb), a, b))

    def newton(x, _):
        f, slope = jax.jvp(function, (x,), (jnp.ones_like(x),))
        steep = wanted & (slope != 0)
        change = jnp.where(steep, f / jnp.where(steep, slope, 1), 0)
        return x - jnp.clip(change, -1, 1), None

    polished, _ = jax.lax.scan(newton, root, None, 2)
    near = jnp.abs(stop_gradient(polished) - root) <= 1e-3
    sure = (jnp.abs(b - a) <= 1e-3) | (fa == 0) | (fb == 0)
    return jnp.where(near, polished, root), near & sure
