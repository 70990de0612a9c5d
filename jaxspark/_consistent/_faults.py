"""What is not a number, in a system at a state: by the names that its user gave."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._custom_types import Args, State
from .._system import AbstractConstrainedSystem


# Beyond this a derivative in one direction stands for all.
LARGEST = 64
# Where a motion is looked at ahead of its last state, whose next steps are tiny: parts of the time
# that is left.
AHEAD = 2.0 ** np.arange(-30, -7)


class Faults(NamedTuple):
    """What is NaN or infinite, in sentences.

    - `values`: what explains a failure: in the state, or in what functions return there or a little
        later; of `args`, if they return such values.
    - `derivatives`: of functions, whose values are finite: what may explain it.
    """

    values: list[str]
    derivatives: list[str]


def faults(
    system: AbstractConstrainedSystem, t: Any, y: State, z: State, args: Args, t_end: Any
) -> Faults:
    """What is NaN or infinite at a state, or on the straight way ahead of it.

    **Arguments:**

    - `system`, `t`, `y`, `z`, `args`: where, with known values.
    - `t_end`: up to where the motion was to go.
    """
    given = {"t": t, "y": y, "z": z}
    if found := [f"{x}." for name, tree in given.items() for x in _not_finite(name, tree)]:
        return Faults(found, [])
    in_args = [f"{text}." for text in _not_finite("args", args)]
    functions = list(_functions(system, y, z, args))
    where = f"at t = {float(t):.9g}, where what goes into it is finite"
    for name, function, operands in functions:
        found += [f"{text} {where}." for text in _not_finite(name, function(t, *operands))]
    if found:
        return Faults(in_args or found, [])
    derivatives = []
    for name, function, operands in functions:
        derivatives += [
            f"{text} {where}. A norm, a square root, a power or an angle may have no derivative "
            "there; jaxspark.regularised_norm has one."
            for text in _of_derivatives(name, function, t, operands)
        ]
    if ahead := _ahead(system, t, y, z, args, t_end):
        return Faults(in_args or ahead, derivatives)
    return Faults([], derivatives)


def _ahead(
    system: AbstractConstrainedSystem, t: Any, y: State, z: State, args: Args, t_end: Any
) -> list[str]:
    left = float(t_end) - float(t)
    if system.v is not None or not np.isfinite(left):
        return []
    for part in AHEAD:
        later = jnp.asarray(float(t) + part * left, jnp.result_type(t))
        leaves = zip(jax.tree.leaves(y), jax.tree.leaves(z), strict=True)
        moved = [a + part * left * b.reshape(a.shape) for a, b in leaves]
        there = jax.tree.unflatten(jax.tree.structure(y), moved)
        for name, function, operands in _functions(system, there, z, args):
            for text in _not_finite(name, function(later, *operands)):
                return [
                    f"{text} a little later, about t = {float(later):.9g}, if the motion goes "
                    "straight on: it leaves the domain of that function."
                ]
    return []


def _functions(
    system: AbstractConstrainedSystem, y: State, z: State, args: Args
) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """The user's functions but for `args`, with their names and what they are called with."""
    g, k = system.g, system.k
    lam = psi = jnp.zeros(0)
    if g is not None:
        lam = _zeros(jax.eval_shape(lambda: g(jnp.zeros(()), y, args)))
        called: Any = lambda t, y: g(t, y, args)
        called.__wrapped__ = g
        yield "holonomic (g)", called, (y,)
    if k is not None:
        psi = _zeros(jax.eval_shape(lambda: k(jnp.zeros(()), y, z, args)))
        called = lambda t, y, z: k(t, y, z, args)
        called.__wrapped__ = k
        yield "nonholonomic (k)", called, (y, z)
    for part in system.parts(y, z, lam, psi):
        function = part.function
        assert function is not None
        called = lambda t, *rest, function=function: function(t, *rest, args)
        called.__wrapped__ = function
        yield part.name, called, part.operands


def _zeros(shapes: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def _of_derivatives(
    name: str, function: Callable[..., Any], t: Any, operands: tuple[Any, ...]
) -> list[str]:
    """Of the first operand by which a derivative is not finite; of a number, second ones too."""
    for i, operand in enumerate(operands):

        def of_one(x, i=i):
            return function(t, *operands[:i], x, *operands[i + 1 :])

        text = f"The derivative of {name} by {_argument(function, i)}: entry "
        if sum(leaf.size for leaf in jax.tree.leaves(operand)) > LARGEST:
            direction = jax.tree.map(jnp.ones_like, operand)
            found = _not_finite(text, jax.jvp(of_one, (operand,), (direction,))[1])
        else:
            found = _not_finite(text, jax.jacfwd(of_one)(operand))
        leaves = jax.tree.leaves(jax.eval_shape(of_one, operand))
        if not found and len(leaves) == 1 and leaves[0].shape == ():
            text = f"The second derivative of {name} by {_argument(function, i)}: entry "
            found = _not_finite(text, jax.jacfwd(jax.grad(of_one))(operand))
        if found:
            return found[:1]
    return []


def _argument(function: Callable[..., Any], i: int) -> str:
    """What the user calls the operand with this number."""
    names = list(inspect.signature(inspect.unwrap(function)).parameters)
    return names[i + 1] if len(names) > i + 1 else f"argument {i + 1}"


def _not_finite(name: str, tree: Any) -> list[str]:
    """Of each array in which something is not finite, the first entry, and how many there are."""
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if not isinstance(leaf, (float, np.ndarray, np.generic, jax.Array)):
            continue
        if not jnp.issubdtype(jnp.result_type(leaf), jnp.inexact):
            continue
        values = np.asarray(leaf)
        bad = np.argwhere(~np.isfinite(values))
        if not len(bad):
            continue
        first = tuple(int(i) for i in bad[0])
        index = str(list(first)) if first else ""
        others = f" ({len(bad)} of {values.size} entries are not finite)" if values.size > 1 else ""
        found.append(f"{name}{jax.tree_util.keystr(path)}{index} is {values[first]}{others}")
    return found
