"""The underlying ODE of a mechanism, as anyone would write it down in JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from ._arrays import Arrays
from ._mechanism import Mechanism


def kkt_ode(mechanism: Mechanism) -> Callable[[Array, Array, Any], Array]:
    """The vector field of `x = (q, v)`; its solutions drift from the constraints.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    arrays = Arrays(mechanism)

    def rate(t, q, v):
        """The constraints on the velocities."""
        parts = []
        if arrays.has_g:
            along = (jnp.ones_like(t), arrays.kin(q, v))
            parts.append(jax.jvp(arrays.holonomic, (t, q), along)[1])
        if arrays.has_k:
            parts.append(arrays.nonholonomic(q, v))
        return jnp.concatenate(parts)

    def field(t, x, args):
        del args
        t, q, v = jnp.asarray(t, x.dtype), x[: mechanism.nq], x[mechanism.nq :]
        qdot = arrays.kin(q, v)
        rows = jax.jacfwd(rate, 2)(t, q, v)
        bias = jax.jvp(lambda t, q: rate(t, q, v), (t, q), (jnp.ones_like(t), qdot))[1]
        corner = jnp.zeros((len(rows), len(rows)), x.dtype)
        matrix = jnp.block([[arrays.mass(q), rows.T], [rows, corner]])
        rhs = jnp.concatenate([arrays.force(t, q, v), -bias])
        return jnp.concatenate([qdot, jnp.linalg.solve(matrix, rhs)[: mechanism.nv]])

    return field
