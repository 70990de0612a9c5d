"""A run as a function of one vector of parameters, with its derivatives."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import Args
from .._rollout import Solution


# Changes of a parameter, as parts of it, for central differences.
STEPS = 0.02 * 4.0 ** -np.arange(8)

Results = Float[np.ndarray, " n"]
Direction = Float[np.ndarray, " p"]


def is_parameter(leaf: Any) -> bool:
    """Whether it is an array of finite real numbers.

    **Raises:** `ValueError` for complex ones.
    """
    if isinstance(leaf, (jax.Array, np.ndarray)) and jnp.iscomplexobj(leaf):
        raise ValueError("A parameter in args is complex: give its real and imaginary parts.")
    return eqx.is_inexact_array(leaf) and bool(jnp.all(jnp.isfinite(leaf)))


class Program:
    """The run as a function of one vector, with its derivatives.

    - `x`, `at`: the parameters and the results there, flat; `out` what `run` returns there.
    - `groups`: of each result the number of the array in which it is.
    """

    def __init__(self, run: Callable[[Args], Any], varied: Any, rest: Any):
        self.x, unravel = _vector(varied), _undone(varied)
        self._flat = jax.jit(lambda x: _vector(unravel(x)))

        def results(x):
            out = run(eqx.combine(unravel(x), rest))
            good = jnp.all(out.successful) if isinstance(out, Solution) else jnp.asarray(True)
            return _vector(_results(out)), good

        def values(x):
            return results(x)[0]

        self._results = jax.jit(results)
        self._tangent = jax.jit(lambda x, d: jax.jvp(values, (x,), (d,))[1])
        self._cotangent = jax.jit(lambda x, w: jax.vjp(values, x)[1](w)[0])
        self.out = run(eqx.combine(varied, rest))
        arrays = jax.tree.leaves(_results(self.out))
        sizes = [leaf.size for leaf in arrays]
        if not sum(sizes):
            raise ValueError("run returns no real array.")
        if any(jnp.iscomplexobj(leaf) for leaf in arrays):
            raise ValueError("A result is complex: return its real and imaginary parts.")
        self.groups = np.repeat(np.arange(len(sizes)), sizes)
        self.at = np.asarray(self._results(self.x)[0])
        lowest = [leaf.dtype for leaf in (*arrays, *jax.tree.leaves(varied))]
        self.epsilon = max(float(jnp.finfo(dtype).eps) for dtype in lowest)

    def gradient(self, weights: Results) -> Direction:
        """Of the weighted sum of results, by reverse mode."""
        return np.asarray(self._cotangent(self.x, jnp.asarray(weights, self.at.dtype)), float)

    def forward(self, direction: Direction) -> Results | None:
        """Of all results along a direction; `None` if a function has no rule for that."""
        try:
            return np.asarray(self._tangent(self.x, jnp.asarray(direction, self.x.dtype)), float)
        except TypeError as error:
            if "forward-mode" in str(error):
                return None
            raise

    def quotients(self, direction: Direction) -> tuple[Float[np.ndarray, "k n"], str]:
        """Central differences by each of `STEPS`, and the reason why there are none."""
        found = []
        for h in STEPS:
            d = jnp.asarray(h * direction, self.x.dtype)
            try:
                (above, good), (below, also) = self._results(self.x + d), self._results(self.x - d)
                above, below = np.asarray(above, float), np.asarray(below, float)
            except Exception as error:  # An error that `run` raises while it runs.
                return np.zeros((0, self.at.size)), str(error).strip().split("\n")[-1]
            if not (bool(good) and bool(also)):
                return np.zeros((0, self.at.size)), "print the solution for changed parameters"
            # As parameters of low precision were really changed.
            change = np.asarray(self._flat(self.x + d) - self._flat(self.x - d), float)
            found.append((above - below) / (change @ direction / (direction @ direction)))
        return np.stack(found), ""

    def where(self, index: int) -> str:
        """The result with this number, in words; of a solution the first time."""
        return _where(self.out, index)


def _vector(tree: Any) -> Array:
    """All arrays of a PyTree as one, of the highest precision: parts of it may be of lower."""
    leaves = jax.tree.leaves(tree)
    dtype = np.result_type(np.float32, *[leaf.dtype for leaf in leaves])
    return jnp.concatenate([jnp.zeros(0, dtype), *[jnp.ravel(x).astype(dtype) for x in leaves]])


def _undone(tree: Any) -> Callable[[Array], Any]:
    """From such a vector back to the PyTree."""
    leaves, structure = jax.tree.flatten(tree)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def unravel(x: Array) -> Any:
        parts = zip(jnp.split(x, ends), leaves, strict=True)
        return jax.tree.unflatten(
            structure, [part.reshape(leaf.shape).astype(leaf.dtype) for part, leaf in parts]
        )

    return unravel


def _results(out: Any) -> Any:
    if isinstance(out, Solution):
        return out.ys, out.zs
    return eqx.filter(out, eqx.is_inexact_array)


def _where(out: Any, index: int) -> str:
    """The result with this number, in words; of a solution the first time."""
    if isinstance(out, Solution):
        rows = len(out)
        sizes = [np.size(leaf) for leaf in jax.tree.leaves((out.ys, out.zs))]
        start = int(np.cumsum([0, *sizes])[np.searchsorted(np.cumsum(sizes), index, "right")])
        own = sizes[int(np.searchsorted(np.cumsum(sizes), index, "right"))]
        return f" from t = {float(out.ts[(index - start) // (own // rows)]):.9g} on"
    start = 0
    for path, leaf in jax.tree_util.tree_flatten_with_path(_results(out))[0]:
        if index < start + leaf.size:
            place = [int(i) for i in np.unravel_index(index - start, leaf.shape)]
            return f", first of result{jax.tree_util.keystr(path)}{place or ''}"
        start += leaf.size
    return ""
