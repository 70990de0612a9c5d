"""Orientations as angles about three axes, and as quaternions."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._rotations import QUADRATIC, rotation


AXES = {"x": 0, "y": 1, "z": 2}


def quaternion_of(R: Float[Array, "*n 3 3"]) -> Float[Array, "*n 4"]:
    """The unit quaternion `(w, x, y, z)` of a rotation matrix, with a real part of at least 0.

    A row of `4 q q^T`, which is linear in `R`: that with the largest diagonal, so that nothing
    small is divided by.

    Source: S. W. Shepperd, *Quaternion from rotation matrix*, J. Guidance and Control 1 (1978).
    """
    # That of `w^2` is (1 + tr R) / 4, and the others alike: the table is its own inverse.
    table = jnp.asarray(0.5 * (QUADRATIC + np.swapaxes(QUADRATIC, 2, 3)), R.dtype)
    squares = jnp.einsum("...ab,abij->...ij", R, table) + _identity(R)
    largest = jnp.argmax(jnp.diagonal(squares, axis1=-2, axis2=-1), -1)[..., None]
    row = jnp.take_along_axis(squares, largest[..., None], -2)[..., 0, :]
    q = row / (2 * jnp.sqrt(jnp.take_along_axis(row, largest, -1)))
    return jnp.where(q[..., :1] < 0, -q, q)


def _identity(R: Float[Array, "*n 3 3"]) -> Float[Array, "*n 4 4"]:
    return jnp.broadcast_to(jnp.eye(4, dtype=R.dtype), (*R.shape[:-2], 4, 4))


def angles(orientation: Any, axes: str) -> Float[Array, "*n 3"]:
    """Angles of three turns in a row, about named axes, that give an orientation.

    Where the second angle makes the first and third axis parallel, they are not determined: the
    third is 0, and derivatives are those with it held. Along a motion angles jump by a turn;
    `jnp.unwrap(angles, axis=0)` has them continuous.

    **Arguments:**

    - `orientation`: rotation matrices, shape `(..., 3, 3)`, or quaternions `(w, x, y, z)`, shape
        `(..., 4)`.
    - `axes`: three letters: `"zyx"`, of axes of the ground, which stand still (extrinsic); or
        `"ZYX"`, of axes of the body, each as those before have turned it (intrinsic). Neighbours
        differ.

    **Returns:** angles in the order of `axes` (rad), shape `(..., 3)`: the first and third between
    -pi and pi; the second between -pi/2 and pi/2, or between 0 and pi if the first axis is the
    third, too.

    **Raises:** `ValueError` if `axes` names no such turns or `orientation` has another shape.

    Source: J. Diebel, *Representing Attitude*, section 8; letters are those of
    `scipy.spatial.transform.Rotation.as_euler`.
    """
    if len(axes) != 3 or axes not in (axes.lower(), axes.upper()):
        raise ValueError(
            f"axes must be three letters, all small or all capital, as in 'zyx'; got {axes!r}."
        )
    if set(axes.lower()) - set(AXES) or axes[0] == axes[1] or axes[1] == axes[2]:
        raise ValueError(f"axes are x, y and z, and those next to each other differ; got {axes!r}.")
    R = _matrix(jnp.asarray(orientation))
    # Turns about axes that stand still are those about axes of the body in reverse order.
    if axes.islower():
        return _intrinsic(R, [AXES[x] for x in axes[::-1]], last=False)[..., ::-1]
    return _intrinsic(R, [AXES[x] for x in axes.lower()], last=True)


def _matrix(orientation: Array) -> Array:
    if orientation.shape[-2:] == (3, 3):
        return orientation
    if orientation.shape[-1:] == (4,):
        return rotation(orientation)
    raise ValueError(
        "orientation must be rotation matrices (..., 3, 3) or quaternions (..., 4); got shape "
        f"{orientation.shape}."
    )


def _intrinsic(R: Float[Array, "*n 3 3"], order: list[int], last: bool) -> Float[Array, "*n 3"]:
    """Angles about the axes `order` of the body; `last`: whether it is the last that may be 0."""
    i, j, third = order
    k = 3 - i - j
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    if i == third:
        first = R[..., j, i], -sign * R[..., k, i]
        final = R[..., i, j], sign * R[..., i, k]
        size, held = _size(first)
        second = jnp.arctan2(size, R[..., i, i])
        alone = -sign * R[..., j, k], R[..., j, j]
    else:
        first = -sign * R[..., j, k], R[..., k, k]
        final = -sign * R[..., i, j], R[..., i, i]
        size, held = _size(first)
        second = jnp.arctan2(sign * R[..., i, k], size)
        alone = sign * R[..., j, i], R[..., j, j]
    # Of parallel axes one takes the whole turn.
    whole = (sign * R[..., k, j], R[..., j, j]), alone
    first = _angle(first, held, whole[0] if last else None)
    final = _angle(final, held, None if last else whole[1])
    return jnp.stack([first, second, final], -1)


def _size(pair: tuple[Array, Array]) -> tuple[Array, Array]:
    """The length of a pair, and whether it is rounding error."""
    square = pair[0] ** 2 + pair[1] ** 2
    held = square < (16 * jnp.finfo(square.dtype).eps) ** 2
    return jnp.where(held, 0, jnp.sqrt(jnp.where(held, 1, square))), held


def _angle(pair: tuple[Array, Array], held: Array, other: tuple[Array, Array] | None) -> Array:
    """That of a pair; where axes are parallel that of the other pair, or 0."""
    zero, one = jnp.zeros_like(pair[0]), jnp.ones_like(pair[0])
    y, x = (zero, one) if other is None else other
    return jnp.arctan2(jnp.where(held, y, pair[0]), jnp.where(held, x, pair[1]))
