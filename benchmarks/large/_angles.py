"""The planar chain as an ordinary differential equation in its angles: the reference."""

import functools

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import solve_banded

from ._chains import GRAVITY


def acceleration(theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Of the angles, by forces of the joints from a block tridiagonal matrix.

    A rod begins at `c - h e` and ends at `c + h e`, whose accelerations, of two neighbours
    where they meet, are equal; `e = (cos, sin)`, and `h` is half of the length.
    """
    n = theta.size
    mass, half = 1 / n, 0.5 / n
    inertia = mass * (2 * half) ** 2 / 12
    along = np.stack([np.cos(theta), np.sin(theta)], 1)
    across = np.stack([-along[:, 1], along[:, 0]], 1)
    turned = across[:, :, None] * across[:, None, :] * (half**2 / inertia)
    moved = np.eye(2) / mass
    diagonal = moved + turned
    diagonal[1:] += moved + turned[:-1]
    beside = turned[:-1] - moved
    pull = half * (omega**2)[:, None] * along
    rhs = -pull
    rhs[1:] -= pull[:-1]
    rhs[0, 1] += GRAVITY
    bands = np.zeros((7, 2 * n))
    for i in range(2):
        for k in range(2):
            bands[3 + i - k, k::2] = diagonal[:, i, k]
            bands[1 + i - k, 2 + k :: 2] = beside[:, i, k]
            bands[5 + i - k, k : 2 * n - 2 : 2] = beside[:, k, i]
    force = solve_banded((3, 3), bands, rhs.ravel(), check_finite=False).reshape(n, 2)
    both = force + np.concatenate([force[1:], np.zeros((1, 2))])
    return -half / inertia * np.sum(across * both, 1)


@functools.cache
def angles(n: int, angle: float = -np.pi / 4, t_end: float = 1.0) -> np.ndarray:
    """Where the rods are at the end, released straight and at rest."""

    def rate(_, state):
        return np.concatenate([state[n:], acceleration(state[:n], state[n:])])

    start = np.concatenate([np.full(n, angle), np.zeros(n)])
    solution = solve_ivp(rate, (0.0, t_end), start, method="DOP853", rtol=1e-10, atol=1e-10)
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.y[:n, -1]
