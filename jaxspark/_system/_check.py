"""The functions of a system checked against what they should return, by name."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._custom_types import Args, FloatScalar, Function, State
from ._constrained import AbstractConstrainedSystem


def as_state(name: str, state: State) -> State:
    """The state with array leaves, checked to be real floating point of one dtype.

    **Raises:** `TypeError` for other dtypes, `ValueError` if there is no array in it.
    """
    leaves = jax.tree.leaves(state)
    if not leaves:
        raise ValueError(f"{name} has no array in it.")
    for leaf in leaves:
        if not isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float, complex)):
            raise TypeError(f"{name} must consist of arrays; there is {leaf!r} in it.")
    dtypes = {jnp.result_type(leaf) for leaf in leaves}
    for dtype in dtypes:
        if not jnp.issubdtype(dtype, jnp.floating):
            raise TypeError(
                f"{name} has dtype {dtype}; the state must be real floating point. For "
                f"instance jnp.asarray({name}, float)."
            )
    if len(dtypes) > 1:
        names = sorted(str(dtype) for dtype in dtypes)
        raise TypeError(f"{name} mixes the dtypes {', '.join(names)}; use one.")
    # With their dtype, so that those that JAX took from Python numbers are no other program.
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf)), state)


def as_args(args: Args, dtype: np.dtype) -> Args:
    """The args with Python floats as arrays, so that a new value needs no compilation.

    So are arrays that JAX made from Python floats, whose dtype is weak.
    """

    def python_float(x: Any) -> bool:
        if isinstance(x, jax.Array):
            return x.weak_type and jnp.issubdtype(x.dtype, jnp.floating)
        return isinstance(x, float)

    return jax.tree.map(lambda x: jnp.asarray(x, dtype) if python_float(x) else x, args)


def _shapes(name: str, function: Function, *operands: Any) -> Any:
    """What `function` returns, by shape; an error inside it says which one it was."""
    try:
        return jax.eval_shape(function, *operands)
    except Exception as error:
        error.add_note(f"This happened while tracing the function {name} of the system.")
        raise


def _check_dtype(name: str, out: Any, dtype: np.dtype) -> None:
    for leaf in jax.tree.leaves(out):
        floating = jnp.issubdtype(leaf.dtype, jnp.floating)
        if floating and (leaf.weak_type or leaf.dtype == dtype):
            continue
        raise TypeError(
            f"{name} returns dtype {leaf.dtype}, but the state has dtype {dtype}. Build its "
            "constants with the dtype of its inputs."
        )


def check_like(name: str, out: Any, like: Any, like_name: str) -> None:
    """Raise `ValueError`, naming the function, if what it returns is structured otherwise."""

    def shapes(tree):
        return jax.tree.map(jnp.shape, tree)

    def leaves(tree):
        return [jnp.shape(leaf) for leaf in jax.tree.leaves(tree)]

    # Not the trees of shapes: nodes need not be comparable.
    same_tree = jax.tree.structure(out) == jax.tree.structure(like)
    if not same_tree or leaves(out) != leaves(like):
        raise ValueError(
            f"{name} must return the structure and shapes of {like_name}, "
            f"{shapes(like)}; it returns {shapes(out)}."
        )


def constraint_shapes(
    system: AbstractConstrainedSystem, t: FloatScalar, y: State, z: State, args: Args
) -> tuple[Any, Any]:
    """Zeros in the structure of what `g` and `k` return; empty vectors where absent.

    **Raises:** `TypeError`, naming the function, for a wrong dtype.
    """
    g, k = system.g, system.k
    dtype = jnp.result_type(*jax.tree.leaves(y))

    def zeros(name, function, *operands):
        out = _shapes(name, function, *operands)
        _check_dtype(name, out, dtype)
        return jax.tree.map(lambda leaf: np.zeros(leaf.shape, dtype), out)

    lam = psi = np.zeros(0, dtype)
    if g is not None:
        lam = zeros("g (holonomic)", lambda t, y: g(t, y, args), t, y)
    if k is not None:
        psi = zeros("k (nonholonomic)", lambda t, y, z: k(t, y, z, args), t, y, z)
    return lam, psi


def check_functions(
    system: AbstractConstrainedSystem,
    t: FloatScalar,
    y: State,
    z: State,
    lam: Any,
    psi: Any,
    args: Args,
) -> None:
    """Check what the functions of a system return, those of the constraints apart.

    **Raises:** `ValueError` or `TypeError`, naming the function.
    """
    dtype = jnp.result_type(*jax.tree.leaves(y))
    sizes = [sum(leaf.size for leaf in jax.tree.leaves(tree)) for tree in (y, z)]
    if system.v is None and sizes[0] != sizes[1]:
        raise ValueError(
            f"y has {sizes[0]} entries and z has {sizes[1]}; they can differ only if the "
            "system has a function v(t, y, z, args)."
        )
    for part in system.parts(y, z, lam, psi):
        function = part.function
        assert function is not None
        # args, which may hold anything, are closed over: only arrays can be traced.
        out = _shapes(
            part.name,
            lambda t, *rest, function=function: function(t, *rest, args),
            t,
            *part.operands,
        )
        check_like(part.name, out, part.like, part.like_name)
        _check_dtype(part.name, out, dtype)
