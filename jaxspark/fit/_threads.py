"""Lanes of a batch shared among the cores of a CPU, which XLA does one after the other."""

import os
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._compile import ahead


T = TypeVar("T")
# So many parts a core has to do, at most: enough to share the work evenly.
PARTS = 32
# Programs that are kept, of the fits used last.
KEPT = 16
_programs: OrderedDict[Any, Callable[..., Any]] = OrderedDict()


def num_cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def shared_by_cores(function: Callable[..., T], lanes: int, cores: int, *operands: Any) -> T:
    """`function(count, first, *operands)` of all lanes, in parts that threads do.

    Each thread waits for XLA without holding Python's lock. All parts are the same program.

    **Arguments:**

    - `function`: of `count` lanes, an integer, from number `first`, an array; its results have a
        lane for each along their first axis.
    - `lanes`: how many there are in all; `cores`: how many threads.
    """
    count = -(-lanes // (PARTS * cores))
    # The last part begins earlier, if it must, and repeats lanes.
    firsts = [min(first, lanes - count) for first in range(0, lanes, count)]
    begin = lambda first: jnp.asarray(first, jnp.int32)
    program = _program(function, count, begin(0), *operands)
    # Contexts of JAX, of its precision for instance, are those of one thread.
    double = bool(jax.config.jax_enable_x64)

    def call(first):
        with jax.enable_x64(double):
            return jax.block_until_ready(program(count, first, *operands))

    with ThreadPoolExecutor(cores) as threads:
        parts = list(threads.map(call, map(begin, firsts)))
    new = [k * count - first for k, first in enumerate(firsts)]

    def joined(*leaves):
        cut = [np.asarray(leaf)[skip:] for leaf, skip in zip(leaves, new, strict=True)]
        return jnp.asarray(np.concatenate(cut))

    return jax.tree.map(joined, *parts)


def _program(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The function compiled for such arguments: by one thread, for all of them."""
    arrays, rest = eqx.partition(args, eqx.is_array)
    leaves, structure = jax.tree.flatten(rest)
    of_arrays, where = jax.tree.flatten(arrays)
    # Arrays of NumPy have neither.
    own = lambda x: (getattr(x, "weak_type", False), getattr(x, "sharding", None))
    kinds = tuple((x.shape, x.dtype, *own(x)) for x in of_arrays)
    key = (function, structure, where, tuple(leaves), kinds)
    if key not in _programs:
        _programs[key] = ahead(function, *args)
        while len(_programs) > KEPT:
            _programs.popitem(last=False)
    _programs.move_to_end(key)
    return _programs[key]
