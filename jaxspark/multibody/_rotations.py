"""Rotations and homogeneous transforms, for single ones and batches of them.

Quaternions are `(w, x, y, z)`. A transform is a matrix `[[R, p], [0, 1]]` that takes the
coordinates of a point in one frame to those in another.

Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, section 2.8; A. Mueller, *Screw and Lie
group theory in multibody dynamics*, for the exponential of an axis.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


# `skew(w) = sum_k w_k SKEW[k]`.
SKEW = np.array(
    [
        [[0.0, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[0, 0, 1], [0, 0, 0], [-1, 0, 0]],
        [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
    ]
)


def skew(w: Float[Array, "*n 3"]) -> Float[Array, "*n 3 3"]:
    """The matrix of the cross product with `w`."""
    constants = jnp.asarray(SKEW, w.dtype).reshape((1,) * (w.ndim - 1) + (3, 3, 3))
    return jnp.sum(w[..., :, None, None] * constants, -3)


def cross(a: Float[Array, "*n 3"], b: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    """The cross product."""
    return jnp.sum(skew(a) * b[..., None, :], -1)


def _quadratic() -> np.ndarray:
    """`R(q)_ab = sum_ij q_i q_j T_abij`."""
    table = np.zeros((3, 3, 4, 4))
    for i in range(3):
        for j in range(3):
            # 2 (u u^T) + 2 s skew(u), and (s^2 - u.u) on the diagonal.
            table[i, j, 1 + i, 1 + j] += 2.0
        table[i, i, 0, 0] += 1.0
        for k in range(3):
            table[i, i, 1 + k, 1 + k] -= 1.0
    for k in range(3):
        table[:, :, 0, 1 + k] += 2.0 * SKEW[k]
    return table


QUADRATIC = _quadratic()


def rotation(q: Float[Array, "*n 4"]) -> Float[Array, "*n 3 3"]:
    """The matrix of a quaternion, which is normalised."""
    squares = q[..., :, None] * q[..., None, :]
    squares = squares / jnp.sum(q * q, -1)[..., None, None]
    constants = jnp.asarray(QUADRATIC, q.dtype).reshape((1,) * (q.ndim - 1) + (3, 3, 4, 4))
    return jnp.sum(squares[..., None, None, :, :] * constants, (-1, -2))


def quaternion_rate(q: Float[Array, "*n 4"], w: Float[Array, "*n 3"]) -> Float[Array, "*n 4"]:
    """`q' = q (0, w) / 2`, for an angular velocity in the axes of the body."""
    s, u = q[..., :1], q[..., 1:]
    first = -jnp.sum(u * w, -1, keepdims=True)
    return 0.5 * jnp.concatenate([first, s * w + cross(u, w)], -1)


def transform(R: Float[Array, "*n 3 3"], p: Float[Array, "*n 3"]) -> Float[Array, "*n 4 4"]:
    """`[[R, p], [0, 1]]`."""
    top = jnp.concatenate([R, p[..., None]], -1)
    last = jnp.broadcast_to(jnp.asarray([0, 0, 0, 1], R.dtype), (*R.shape[:-2], 1, 4))
    return jnp.concatenate([top, last], -2)


def inverse(T: Float[Array, "*n 4 4"]) -> Float[Array, "*n 4 4"]:
    """The inverse of a transform."""
    R = jnp.swapaxes(T[..., :3, :3], -1, -2)
    return transform(R, -jnp.sum(R * T[..., None, :3, 3], -1))


def products(a: Any, b: Any) -> Any:
    """`a @ b` of small matrices, as a sum: many times faster in a loop on a CPU."""
    return jnp.sum(a[..., :, :, None] * b[..., None, :, :], -2)
