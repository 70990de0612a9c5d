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


def _written_out(values: Array, *, matrix: _Matrix) -> Array:
    zero = jnp.zeros(values.shape[1:], values.dtype)
    rows = []
    for row in matrix.entries:
        terms = [
            jnp.asarray(a, values.dtype) * values[j] for j, a in enumerate(row) if a != 0
        ]
        rows.append(sum(terms[1:], terms[0]) if terms else zero)
    return jnp.stack(rows)


def _abstract(aval, *, matrix):
    return aval.update(shape=(matrix.entries.shape[0], *aval.shape[1:]))


def _batch(args, dims, *, matrix):
    values = jnp.moveaxis(args[0], dims[0], 1)
    return mix_p.bind(values, matrix=matrix), 1


def _transpose(cotangent, _, *, matrix):
    return [mix_p.bind(cotangent, matrix=_Matrix(matrix.entries.T))]


mix_p = Primitive("mix")
mix_p.def_impl(jax.jit(_written_out, static_argnames="matrix"))
mix_p.def_abstract_eval(_abstract)
mlir.register_lowering(mix_p, mlir.lower_fun(_written_out, multiple_results=False))
batching.primitive_batchers[mix_p] = _batch
ad.deflinear2(mix_p, _transpose)


def mix(coefficients: np.ndarray, values: Float[Array, "n d"]) -> Float[Array, "m d"]:
    """`coefficients @ values` for a small static matrix, written out elementwise.

    It fuses with its neighbours, also under `jax.vmap`, where a small matrix product would
    be a kernel of its own; zero coefficients cost nothing. A primitive, so that its
    transpose is written out in the same way.
    """
    return mix_p.bind(values, matrix=_Matrix(coefficients))
