"""Products with the small static matrices of a tableau."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float


class _Matrix:
    """A static matrix, compared by value: equations with equal ones can be merged."""

    def __init__(self, entries: np.ndarray):
        self.entries = np.asarray(entries)
        self.key = (self.entries.shape, self.entries.tobytes())

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Matrix) and self.key == other.key


def _written_out(values: Array, *, matrix: _Matrix, axis: int) -> Array:
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


mix_p = Primitive("mix")
mix_p.def_impl(jax.jit(_written_out, static_argnames=("matrix", "axis")))
mix_p.def_abstract_eval(_abstract)
mlir.register_lowering(mix_p, mlir.lower_fun(_written_out, multiple_results=False))
batching.primitive_batchers[mix_p] = _batch
ad.deflinear2(mix_p, _transpose)


def mix(coefficients: np.ndarray, values: Float[Array, " n *d"]) -> Float[Array, " m *d"]:
    """`coefficients @ values` for a small static matrix, written out elementwise.

    It fuses with its neighbours, also under `jax.vmap`, where a small matrix product would
    be a kernel of its own; zero coefficients cost nothing. A primitive, so that its
    transpose is written out in the same way.
    """
    return mix_p.bind(values, matrix=_Matrix(coefficients), axis=0)
