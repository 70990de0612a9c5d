"""The functions of a mechanism, of arrays of JAX instead of lists of scalars."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from ._mechanism import Mechanism


class Arrays:
    """The functions of a mechanism, as functions of arrays."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        like = [jax.ShapeDtypeStruct((n,), float) for n in (mechanism.nq, mechanism.nv)]
        time = jax.ShapeDtypeStruct((), float)
        self.has_g = jax.eval_shape(self.holonomic, time, like[0]).size > 0
        self.has_k = jax.eval_shape(self.nonholonomic, *like).size > 0

    def kin(self, q: Array, v: Array) -> Array:
        """The derivatives of the coordinates, shape `(nq,)`."""
        return v if self.mechanism.plain_kin else _vector(self.mechanism.kin(jnp, list(q), list(v)))

    def mass(self, q: Array) -> Array:
        """The mass matrix, shape `(nv, nv)`."""
        return jnp.stack([_vector(row) for row in self.mechanism.mass(jnp, list(q))])

    def momentum(self, q: Array, v: Array) -> Array:
        """The momenta `M(q) v`, shape `(nv,)`."""
        return _product(self.mechanism.mass(jnp, list(q)), v)

    def force(self, t: Array, q: Array, v: Array) -> Array:
        """The forces, shape `(nv,)`."""
        return _vector(self.mechanism.force(jnp, t, list(q), list(v)))

    def holonomic(self, t: Array, q: Array) -> Array:
        """The holonomic constraints, shape `(ng,)`."""
        return _vector(self.mechanism.holonomic(jnp, t, list(q)))

    def nonholonomic(self, q: Array, v: Array) -> Array:
        """The nonholonomic constraints `A(q) v`, shape `(nk,)`."""
        return _product(self.mechanism.nonholonomic(jnp, list(q)), v)

    def state(self) -> tuple[Array, Array]:
        """The initial coordinates and velocities."""
        return jnp.asarray(self.mechanism.q0), jnp.asarray(self.mechanism.v0)


def _vector(entries: Sequence[Any]) -> Array:
    dtype = jnp.result_type(float)
    return jnp.stack([jnp.asarray(x, dtype) for x in entries]) if entries else jnp.zeros(0, dtype)


def _product(rows: Sequence[Sequence[Any]], v: Array) -> Array:
    """The rows of a matrix times a vector, without the matrix's zeros."""

    def entry(row):
        pairs = zip(row, v, strict=True)
        return sum(a * b for a, b in pairs if not (isinstance(a, float) and a == 0))

    return _vector([entry(row) for row in rows])
