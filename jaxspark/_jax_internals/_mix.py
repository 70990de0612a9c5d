"""Products with the small static matrices of a tableau."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._primitive import ad, batching, mlir, OwnPrimitive


class _Matrix:
    """A static matrix, compared by value: equations with equal ones can be merged."""

    def __init__(self, entries: np.ndarray):
        self.entries = np.asarray(entries)
        self.key = (self.entries.shape, self.entries.tobytes())

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Matrix) and self.key == other.key


def _sums(values: Array, *, matrix: _Matrix, axis: int) -> Array:
    parts = [jax.lax.index_in_dim(values, j, axis, False) for j in range(values.shape[axis])]
    rows = []
    for row in matrix.entries:
        terms = [jnp.asarray(a, values.dtype) * parts[j] for j, a in enumerate(row) if a != 0]
        rows.append(sum(terms[1:], terms[0]) if terms else jnp.zeros_like(parts[0]))
    return jnp.stack(rows, axis)


def _abstract(aval, *, matrix, axis):
    rows = matrix.entries.shape[0]
    return aval.update(shape=(*aval.shape[:axis], rows, *aval.shape[axis + 1 :]))


def _batch(args, dims, *, matrix, axis):
    (values,), (dim,) = args, dims
    return mix_p.bind(values, matrix=matrix, axis=axis + (dim <= axis)), dim


def _transpose(cotangent, _, *, matrix, axis):
    return [mix_p.bind(cotangent, matrix=_Matrix(matrix.entries.T), axis=axis)]


def mix(coefficients: np.ndarray, values: Float[Array, " n *d"]) -> Float[Array, " m *d"]:
    """`coefficients @ values` for a small static matrix, written out elementwise.

    It fuses with its neighbours, also under `jax.vmap`, where a small matrix product would
    be a kernel of its own; zero coefficients cost nothing. A primitive, so that its
    transpose is written out in the same way; without it the transpose is JAX's, which is no
    less exact.
    """
    if not mix_p.usable():
        return _sums(jnp.asarray(values), matrix=_Matrix(coefficients), axis=0)
    return mix_p.bind(values, matrix=_Matrix(coefficients), axis=0)


def _register(primitive: Any) -> None:
    primitive.def_impl(jax.jit(_sums, static_argnames=("matrix", "axis")))
    primitive.def_abstract_eval(_abstract)
    mlir.register_lowering(primitive, mlir.lower_fun(_sums, multiple_results=False))
    batching.primitive_batchers[primitive] = _batch
    ad.deflinear2(primitive, _transpose)


def _trial() -> bool:
    matrix, values = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]), jnp.arange(12.0).reshape(2, 3, 2)
    batched = jax.vmap(lambda x: mix(matrix, x))
    value, slopes = jax.jit(jax.value_and_grad(lambda x: jnp.sum(batched(x) ** 2)))(values)
    exact = jnp.einsum("ij,bjk->bik", matrix, values)
    back = 2 * jnp.einsum("ij,bik->bjk", matrix, exact)
    return bool(jnp.allclose(value, jnp.sum(exact**2))) and bool(jnp.allclose(slopes, back))


mix_p = OwnPrimitive(
    "mix", _register, _trial, "Gradients of large systems cost up to twice as much."
)
