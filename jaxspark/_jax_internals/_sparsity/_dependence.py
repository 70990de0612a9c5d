"""For every element of an array, the set of inputs that it depends on."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from ._movement import scattered


class Sets(NamedTuple):
    """A set of inputs for each element, in compressed rows: `indices[indptr[i] : indptr[i + 1]]`.

    - `columns`: the number of inputs.
    """

    indptr: Int[np.ndarray, " size1"]
    indices: Int[np.ndarray, " nnz"]
    columns: int


class Fact(NamedTuple):
    """What is known of an array: its dependence, its value, and where it can be nonzero.

    Each is `None` where there is none. Values are known of integers and booleans that depend on
    nothing but constants; zeros, of floats that depend on no input.
    """

    sets: Sets | None = None
    value: np.ndarray | None = None
    nonzero: np.ndarray | None = None


class Operand(NamedTuple):
    """An argument of a primitive."""

    shape: tuple[int, ...]
    fact: Fact

    @property
    def nonzero(self) -> np.ndarray | None:
        """Where it can be nonzero, if it is known to be zero elsewhere."""
        value = self.fact.value
        return self.fact.nonzero if value is None else np.asarray(value != 0)


Part = tuple[Sets, np.ndarray, np.ndarray]
Pairs = tuple[np.ndarray, np.ndarray]


def each_its_own(size: int) -> Sets:
    """Every element depends on the input of the same number."""
    return Sets(np.arange(size + 1), np.arange(size), size)


def _entries(sets: Sets, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    there = rows >= 0
    starts = np.where(there, sets.indptr[rows], 0)
    lengths = np.where(there, sets.indptr[rows + 1] - starts, 0)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places = np.arange(total) + np.repeat(starts - ends + lengths, lengths)
    return lengths, sets.indices[places]


def take(sets: Sets, rows: Int[np.ndarray, " new"]) -> Sets | None:
    """Element `i` of the result is element `rows[i]`; nothing where that is negative."""
    lengths, indices = _entries(sets, rows)
    if not len(indices):
        return None
    return Sets(np.append(0, np.cumsum(lengths)), indices, sets.columns)


def combine(size: int, parts: Sequence[Part]) -> Sets | None:
    """Unions: for every `(sets, targets, sources)` element `targets[i]` gets `sources[i]`'s."""
    keys = []
    for sets, targets, sources in parts:
        lengths, indices = _entries(sets, sources)
        keys.append(np.repeat(targets, lengths) * sets.columns + indices)
    if not sum(map(len, keys)):
        return None
    columns = parts[0][0].columns
    together = np.unique(np.concatenate(keys))
    indptr = np.searchsorted(together, np.arange(size + 1) * columns)
    return Sets(indptr, together % columns, columns)


def everything(size: int, operands: Sequence[Operand]) -> Sets | None:
    """Every element depends on all that any operand depends on."""
    found = [operand.fact.sets for operand in operands if operand.fact.sets is not None]
    if not found or not size:
        return None
    inputs = np.unique(np.concatenate([sets.indices for sets in found]))
    indptr = np.arange(size + 1) * len(inputs)
    return Sets(indptr, np.tile(inputs, size), found[0].columns)


def numbered(shape: Sequence[int]) -> np.ndarray:
    """The positions of the elements of an array."""
    return np.arange(math.prod(shape)).reshape(shape)


def _flat(targets: np.ndarray, sources: np.ndarray) -> Pairs:
    targets, sources = np.broadcast_arrays(targets, sources)
    return targets.ravel(), sources.ravel()


def _elementwise(params: dict, operands: Sequence[Operand], shape: tuple[int, ...]) -> list[Pairs]:
    target = numbered(shape)
    return [_flat(target, numbered(operand.shape)) for operand in operands]


def _product(params: dict, operands: Sequence[Operand], shape: tuple[int, ...]) -> list[Pairs]:
    pairs = _elementwise(params, operands, shape)
    for i, j in ((0, 1), (1, 0)):
        nonzero = operands[j].nonzero
        if nonzero is not None:
            kept = np.broadcast_to(nonzero, shape).ravel()
            pairs[i] = pairs[i][0][kept], pairs[i][1][kept]
    return pairs


def _reduction(params: dict, operands: Sequence[Operand], shape: tuple[int, ...]) -> list[Pairs]:
    axes = params["axes"]
    kept = [1 if i in axes else length for i, length in enumerate(operands[0].shape)]
    return [_flat(numbered(shape).reshape(kept), numbered(operands[0].shape))]


def _cumulative(params: dict, operands: Sequence[Operand], shape: tuple[int, ...]) -> list[Pairs]:
    along = np.moveaxis(numbered(shape), params["axis"], 0)
    later, earlier = np.tril_indices(len(along))
    if params["reverse"]:
        later, earlier = earlier, later
    return [_flat(along[later], along[earlier])]


def _dot(params: dict, operands: Sequence[Operand], shape: tuple[int, ...]) -> list[Pairs]:
    sides = [_arranged(params, operands, i) for i in (0, 1)]
    swapped = np.sum(sides[1][1]) < np.sum(sides[0][1])
    (first, first_there), (second, second_there) = sides[::-1] if swapped else sides
    batch, i, k = np.nonzero(first_there)
    entry, j = np.nonzero(second_there[batch, :, k])
    batch, i, k = batch[entry], i[entry], k[entry]
    rows, columns = (j, i) if swapped else (i, j)
    target = (batch * sides[0][0].shape[1] + rows) * sides[1][0].shape[1] + columns
    pairs = [(target, first[batch, i, k]), (target, second[batch, j, k])]
    return pairs[::-1] if swapped else pairs


def _arranged(params: dict, operands: Sequence[Operand], side: int) -> tuple[Any, Any]:
    """A factor's positions and where it can be nonzero: batches, its own axes, summed ones."""
    contracted, batch = (axes[side] for axes in params["dimension_numbers"])
    shape, nonzero = operands[side].shape, operands[side].nonzero
    free = [i for i in range(len(shape)) if i not in (*contracted, *batch)]
    order = (*batch, *free, *contracted)
    lengths = [math.prod(shape[i] for i in axes) for axes in (batch, free, contracted)]
    there = np.ones(shape, bool) if nonzero is None else nonzero
    positions = numbered(shape).transpose(order).reshape(lengths)
    return positions, there.transpose(order).reshape(lengths)


def _scatter_add(params: dict, operands: Sequence[Operand], shape: tuple[int, ...]) -> Any:
    indices, updates = operands[1].fact.value, operands[2].shape
    if indices is None:
        return None
    there = scattered(params, shape, updates, indices).ravel()
    written = there >= 0
    own = numbered(shape).ravel()
    new = numbered(updates).ravel()
    return [(own, own), (own[:0], own[:0]), (there[written], new[written])]


def _triangular(params: dict, operands: Sequence[Operand], shape: tuple[int, ...]) -> Any:
    if operands[0].fact.sets is not None:
        return None
    axis = -2 if params["left_side"] else -1
    at = np.moveaxis(numbered(shape), axis, -1)
    return [(at[:0].ravel(), at[:0].ravel()), _flat(at[..., None], at[..., None, :])]


Rule = Callable[[dict, Sequence[Operand], tuple[int, ...]], list[Pairs] | None]

# These act on tangents, and so all are linear in what depends on the inputs; primitives that
# are not here are taken to let everything depend on everything.
RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "add",
            "add_any",
            "complex",
            "conj",
            "convert_element_type",
            "copy_p",
            "div",
            "imag",
            "name",
            "neg",
            "real",
            "reduce_precision",
            "select_n",
            "stop_gradient",
            "sub",
        ),
        _elementwise,
    ),
    **dict.fromkeys(("cumsum", "cummax", "cummin", "cumprod", "cumlogsumexp"), _cumulative),
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"), _reduction),
    **dict.fromkeys(("scatter-add", "scatter-sub", "scatter-mul"), _scatter_add),
    "dot_general": _dot,
    "mul": _product,
    "triangular_solve": _triangular,
}

# Zero where their operand is.
ODD = {"abs", "asin", "asinh", "atan", "atanh", "cbrt", "copy", "expm1", "floor", "integer_pow"}
ODD |= {"log1p", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"}

# Zero operands, or none, do not mean that the result is zero.
NOT_ADDITIVE = {"cumlogsumexp", "cumprod", "reduce_max", "reduce_min", "reduce_prod"}


def can_be_nonzero(name: str, params: dict, operands: Sequence[Operand], out: Any) -> Any:
    """Where the result can be nonzero, of a primitive without dependence; `None`: anywhere."""
    masks = [operand.nonzero for operand in operands]
    if all(mask is None for mask in masks):
        return None
    if name in ODD:
        return None if name == "integer_pow" and params["y"] <= 0 else masks[0]
    if name not in RULES or name in NOT_ADDITIVE:
        return None
    pairs = RULES[name](params, operands, tuple(out.aval.shape))
    if pairs is None:
        return None
    result = np.zeros(out.aval.size, bool)
    relevant = {"select_n": slice(1, None), "div": slice(0, 1)}.get(name, slice(None))
    for mask, (targets, sources) in list(zip(masks, pairs, strict=True))[relevant]:
        result[targets if mask is None else targets[mask.ravel()[sources]]] = True
    return result.reshape(out.aval.shape)
