"""What is tried to find a step's stages, in which order, and what that shows of rounding errors."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, IntScalar
from .._implicit import signs
from ._newton import allowing, floor_of, NewtonOptions, Sizes, sizes_of
from ._stages import Stages


# What a trip does: iterate from the guess, from constant values, from where it got stuck; or one
# iteration there, and on both sides of it.
GUESS, CONSTANT, ON, CENTRE, ABOVE, BELOW = range(6)
# So often rounding errors are measured in a step.
MEASUREMENTS = 2


class Flags(eqx.Module):
    """Where a search is.

    - `trip`: the kind of a trip: of the last one, or of the next where that was prepared.
    - `constant`: whether constant values were tried.
    - `explained`: whether rounding errors explain the updates.
    - `measured`: how often these were measured.
    - `stuck`: whether the last trip ended where updates are small, but do not shrink.
    """

    trip: IntScalar
    constant: BoolScalar
    explained: BoolScalar
    measured: IntScalar
    stuck: BoolScalar

    @property
    def probe(self) -> BoolScalar:
        """Whether a trip is of a single iteration."""
        return self.trip >= CENTRE

    def packed(self) -> Int[Array, "5"]:
        """In one array."""
        return jnp.stack([jnp.asarray(x, jnp.int32) for x in jax.tree.leaves(self)])


def flags(packed: Int[Array, "5"]) -> Flags:
    """The inverse of `packed`."""
    trip, constant, explained, measured, stuck = packed
    return Flags(trip, constant == 1, explained == 1, measured, stuck == 1)


class Search(eqx.Module):
    """What is known between two trips, in two arrays: a loop copies each that it carries.

    - `values`: in its rows stages, those where the last trip ended or the next one starts; those
        where the iteration got stuck; and the difference of the ends of iterations from both
        sides of them and twice the end of that from there. In their last 4 entries, of no
        meaning in the first row, by how much an iteration changes what got stuck, and rounding
        errors.
    - `flags`: packed.
    """

    values: Float[Array, "3 n4"]
    flags: Int[Array, "5"]

    def noise(self) -> Sizes:
        """Rounding errors, as far as they were measured."""
        return _sizes(self.values[2, -4:])


def begun(guess: Stages) -> Search:
    """Before the first trip."""
    flat = jax.flatten_util.ravel_pytree(guess)[0]
    return Search(jnp.zeros((3, flat.size + 4), flat.dtype), jnp.zeros(5, jnp.int32))


def ended(search: Search, ends: Stages, flags: Flags) -> Search:
    """After a trip that ended somewhere."""
    flat = jax.flatten_util.ravel_pytree(ends)[0]
    return Search(search.values.at[0, :-4].set(flat), flags.packed())


def _sizes(four: Float[Array, "4"]) -> Sizes:
    return Sizes(four[0], four[1], four[2], four[3])


def prepared(
    search: Search,
    units: Callable[[Stages], Sizes],
    constant: Stages,
    options: NewtonOptions,
) -> Search:
    """What the last trip has shown, and what the next one is to do.

    **Arguments:**

    - `units`: of updates, by the stages where an iteration starts.
    - `constant`: stages that are the state itself.
    """
    known, unravel = flags(search.flags), jax.flatten_util.ravel_pytree(constant)[1]
    last, ends = known.trip, search.values[0, :-4]
    centre, measured = last == CENTRE, last == BELOW

    def packed(x):
        return jnp.stack(jax.tree.leaves(sizes_of(unravel(x))))

    base = jnp.where(known.probe, search.values[1, :-4], ends)
    difference = jnp.where(centre, -2 * ends, search.values[2, :-4] + ends)
    update = jnp.where(centre, packed(base - ends), search.values[1, -4:])
    noise = search.values[2, -4:]
    noise = jnp.where(measured, jnp.maximum(packed(difference) / 6**0.5, noise), noise)
    allowed = allowing(_sizes(noise), units(unravel(base)), options)
    explained = measured & (allowed.norms(_sizes(update))[0] <= floor_of(options, ends.dtype))

    trip = jnp.where(known.stuck, CENTRE, CONSTANT)
    trip = jnp.where(known.probe, jnp.where(measured, ON, last + 1), trip)
    side = jnp.where(trip == ABOVE, 1.0, 0.0) - jnp.where(trip == BELOW, 1.0, 0.0)
    start = _aside(unravel(base), _sizes(side.astype(ends.dtype) * update))
    start = jax.tree.map(lambda a, b: jnp.where(trip == CONSTANT, a, b), constant, start)
    start = jax.flatten_util.ravel_pytree(start)[0]
    rows = [(start, update), (base, update), (difference, noise)]
    values = jnp.stack([jnp.concatenate(row) for row in rows])
    tried, count = known.constant | (trip == CONSTANT), known.measured + measured.astype(jnp.int32)
    return Search(values, Flags(trip, tried, explained, count, known.stuck).packed())


def _aside(base: Stages, d: Sizes) -> Stages:
    """Stages at some distance, in a direction without a pattern."""
    in_z = jnp.where(jnp.abs(d.z_end) > jnp.abs(d.z_stages), d.z_end, d.z_stages)
    distances = Stages(
        jnp.full_like(base.y, d.y),
        jnp.full_like(base.z, in_z),
        jnp.full_like(base.lam, d.impulse),
        jnp.full_like(base.psi, d.impulse),
    )
    return jax.tree.map(lambda x, d: x + signs(x) * d, base, distances)
