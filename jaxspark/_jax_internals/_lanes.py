"""Loops of a bounded number of trips that stop early, in a batch, too."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ._primitive import ad, batching, mlir, moved_to_front, OwnPrimitive, zero_tangent
from ._understood import not_understood


T = TypeVar("T")


def any_lane(condition: Bool[Array, ""]) -> Bool[Array, ""]:
    """Whether a condition holds in any lane of a batch: the same for all of them.

    A `jax.lax.cond` of it stays one under `jax.vmap`; of a condition of each lane it would compute
    both branches. Only where `lanes_usable`.
    """
    return any_p.bind(condition)


def kept_lane(condition: Bool[Array, ""], new: T, old: T) -> T:
    """`new` in the lanes of a batch where the condition holds, `old` in the others.

    What is no batch is `new`, whatever the condition: for the body of a loop that goes on while
    `any_lane(condition)`. Only where `lanes_usable`.
    """
    return jax.tree.map(lambda a, b: kept_p.bind(condition, a, b), new, old)


def lanes_usable() -> bool:
    """Whether `any_lane` and `kept_lane` may be called."""
    return any_p.usable() and kept_p.usable()


def loop_of(adjoint: Any, **arguments: Any) -> Callable[[], Any] | None:
    """diffrax's loop over steps, which takes the loops that it is to use, with its arguments.

    `None` where it is not there, or takes others.
    """
    if not lanes_usable():
        return None
    try:
        found = adjoint._loop
        inspect.signature(found).bind(**arguments)
    except (AttributeError, TypeError, ValueError) as error:
        not_understood(f"`_loop` of diffrax.AbstractAdjoint is another one: {error}", COST)
        return None
    return functools.partial(found, **arguments)


def _any_batch(operands, axes):
    (condition,), (axis,) = operands, axes
    return any_p.bind(jnp.any(condition, axis)), None


def _register_any(primitive: Any) -> None:
    primitive.def_impl(lambda condition: condition)
    primitive.def_abstract_eval(lambda condition: condition)
    mlir.register_lowering(primitive, lambda _, condition: [condition])
    batching.primitive_batchers[primitive] = _any_batch
    # What it takes and gives has no derivative.
    ad.primitive_jvps[primitive] = lambda primals, _: (
        any_p.bind(*primals),
        zero_tangent(primals[0]),
    )


def _new(condition, new, old):
    del condition, old
    return new


def _kept_batch(operands, axes):
    if axes[0] is None:
        _, moved = moved_to_front(operands, axes)
        if axes[1] is None:
            moved[1] = jnp.broadcast_to(moved[1], moved[2].shape)
        return kept_p.bind(moved[0], moved[1], jnp.broadcast_to(moved[2], moved[1].shape)), 0
    # Where only the condition is batched, the others need lanes, too.
    size, moved = moved_to_front(operands, axes)
    full = [
        x if axis is not None else jnp.broadcast_to(x, (size, *x.shape))
        for x, axis in zip(moved[1:], axes[1:], strict=True)
    ]
    # Outer levels of a batch find an operation of JAX, which needs no rule of ours.
    return jax.vmap(jax.lax.select)(moved[0], *full), 0


def _kept_jvp(primals, tangents):
    condition, new, old = primals
    output = kept_p.bind(condition, new, old)
    if all(type(tangent) is ad.Zero for tangent in tangents[1:]):
        return output, tangents[1]
    return output, kept_p.bind(condition, *(ad.instantiate_zeros(x) for x in tangents[1:]))


def _kept_transpose(cotangent, condition, new, old):
    # Still by the condition: programs are transposed before they are batched.
    if type(cotangent) is ad.Zero:
        return [None, None, None]
    zero = jnp.zeros(cotangent.shape, cotangent.dtype)
    to_new = kept_p.bind(condition, cotangent, zero) if ad.is_undefined_primal(new) else None
    to_old = kept_p.bind(condition, zero, cotangent) if ad.is_undefined_primal(old) else None
    return [None, to_new, to_old]


def _register_kept(primitive: Any) -> None:
    primitive.def_impl(_new)
    primitive.def_abstract_eval(_new)
    mlir.register_lowering(primitive, lambda _, condition, new, old: [new])
    batching.primitive_batchers[primitive] = _kept_batch
    ad.primitive_jvps[primitive] = _kept_jvp
    ad.primitive_transposes[primitive] = _kept_transpose


def _trial() -> bool:
    """Powers with as many factors as lanes ask for, and their derivatives."""

    def power(x, count):
        def trip(carry, _):
            done, value = carry
            on = done < count
            new = done + 1, value * x
            step = lambda carry: kept_lane(on, new, carry)
            return jax.lax.cond(any_lane(on), step, lambda carry: carry, carry), None

        return jax.lax.scan(trip, (0, jnp.ones_like(x)), None, length=4)[0][1]

    x, counts = jnp.array([1.0, 2.0, 3.0]), jnp.array([1, 2, 3])
    slopes = jax.jit(jax.vmap(jax.grad(power)))(x, counts)
    return bool(jnp.allclose(slopes, jnp.array([1.0, 4.0, 27.0])))


COST = "Gradients of adaptive solves repeat iterations."
any_p = OwnPrimitive("any_lane", _register_any, _trial, COST)
kept_p = OwnPrimitive("kept_lane", _register_kept, _trial, COST)
