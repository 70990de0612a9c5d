"""Rotations and inertias as files have them, in double precision whatever JAX's is."""

from typing import Any

import numpy as np


def matrix(q: Any) -> np.ndarray:
    """The matrix of a quaternion, which is normalised."""
    w, x, y, z = np.asarray(q, float) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def of_angles(rpy: np.ndarray) -> np.ndarray:
    """The matrix of turns about the fixed axes x, y and z, one after the other."""
    (a, b, c), (s, t, u) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [c * b, c * t * s - u * a, c * t * a + u * s],
            [u * b, u * t * s + c * a, u * t * a - c * s],
            [-t, b * s, b * a],
        ]
    )


def angles(R: np.ndarray) -> np.ndarray:
    """Angles (rad) of `of_angles`; of the possible ones where the second is a right angle, one."""
    b = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-9:
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), b, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), b, np.arctan2(R[1, 0], R[0, 0])])


def second_moments(mass: Any, com: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """The pseudo-inertia about the frame's origin, `(4, 4)`."""
    point = np.append(com, 1.0)
    out = float(mass) * np.outer(point, point)
    out[:3, :3] += 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return out


def parts(P: np.ndarray) -> dict[str, Any]:
    """Mass, centre and inertia about it, of a pseudo-inertia."""
    mass = P[3, 3]
    com = P[:3, 3] / mass if mass else np.zeros(3)
    second = P[:3, :3] - mass * np.outer(com, com)
    return {"mass": mass, "com": com, "inertia": np.trace(second) * np.eye(3) - second}
