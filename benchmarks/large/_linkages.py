"""Linkages of parallel cranks, which have one degree of freedom, and that motion on its own.

Rods have length 1 m and mass 1 kg. All cranks stay parallel, and couplers are only displaced.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import jaxspark

from ._chains import GRAVITY, half_rod, masses_of, Model, rod_mass, rod_weight


# The two bodies of a hinge, -1 for the ground, where on each it is, in half rods from the
# centre, and, on the ground, where it is.
Hinge = tuple[int, int, float, float, float]


@dataclass(frozen=True)
class Linkage:
    """A linkage of cranks that turn about `(x, 0)` and couplers with centres above `(x, 0)`.

    - `model`: released with the cranks at an angle (rad) and a speed (rad/s).
    - `places`: the `x` of all bodies; `couplers`: which of them are couplers.
    - `start`: angle and speed.
    """

    model: Model
    places: np.ndarray
    couplers: np.ndarray
    start: tuple[float, float]

    def motion(self, t_end: float) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of all bodies at the end, from the angle alone."""
        # A crank's inertia about its pivot is 1/3, and its centre is at half its length.
        shares = np.where(self.couplers, 1.0, 0.5)
        inertia = np.sum(np.where(self.couplers, 1.0, 1 / 3))
        rate = GRAVITY * np.sum(shares) / inertia
        solution = solve_ivp(
            lambda _, x: [x[1], -rate * np.cos(x[0])], (0, t_end), self.start,
            method="DOP853", rtol=1e-12, atol=1e-12,
        )  # fmt: skip
        return state(self.places, self.couplers, *solution.y[:, -1])


def state(
    places: np.ndarray, couplers: np.ndarray, phi: float, speed: float
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of all bodies."""
    share = np.where(couplers, 1.0, 0.5)
    c, s = np.cos(phi), np.sin(phi)
    own = np.where(couplers, 0.0, 1.0)
    y = np.stack([places + share * c, share * s, own * phi], 1)
    return y, speed * np.stack([-share * s, share * c, own], 1)


def potential(t, y, args):
    """Of gravity (J)."""
    del t
    return args["gravity"] * jnp.sum(args["masses"] * y[:, 1])


def _linkage(
    name: str,
    places: np.ndarray,
    couplers: np.ndarray,
    hinges: list[Hinge],
    start: tuple[float, float],
) -> Linkage:
    along = np.array([hinge[2:4] for hinge in hinges])
    anchors = np.array([[hinge[4], 0.0] for hinge in hinges])

    def hinge(t, a, b, own, args):
        del t
        (first, second), anchor = own
        ends = a[:2] + first * half_rod(a[2], args), b[:2] + second * half_rod(b[2], args)
        return ends[0] - ends[1] - anchor

    joint = jaxspark.Joint(
        hinge,
        [hinge[:2] for hinge in hinges],
        own=lambda args: (jnp.asarray(along), jnp.asarray(anchors)),
        name="hinge",
    )
    system = jaxspark.MultibodySystem(rod_mass, rod_weight, joint, own=masses_of)
    args = {"masses": np.ones(len(places)), "length": 1.0, "gravity": GRAVITY}
    y0, z0 = state(places, couplers, *start)
    return Linkage(Model(name, system, y0, z0, args), places, couplers, start)


def four_bars(n: int, speed: float = -0.2) -> Linkage:
    """`n` parallelograms side by side, `n + 1` upright cranks, pushed sideways."""
    hinges: list[Hinge] = [(0, -1, -1, 0, 0.0)]
    for i in range(n):
        left, coupler, right = 2 * i, 2 * i + 1, 2 * i + 2
        hinges += [
            (coupler, left, -1, 1, 0.0), (right, -1, -1, 0, i + 1.0), (right, coupler, 1, 1, 0.0)
        ]  # fmt: skip
    places = np.arange(2 * n + 1) / 2
    couplers = np.arange(2 * n + 1) % 2 == 1
    return _linkage(f"four-bar linkages, N = {n}", places, couplers, hinges, (np.pi / 2, speed))


def three_cranks(angle: float = -0.9) -> Linkage:
    """A parallelogram and one crank more, whose constraints depend on the others; at rest.

    The coupler is as long as two rods, and the third crank is at its centre.
    """
    hinges: list[Hinge] = [(i, -1, -1, 0, float(i)) for i in range(3)]
    hinges += [(i, 3, 1, 2.0 * (i - 1), 0.0) for i in range(3)]
    places, couplers = np.array([0.0, 1.0, 2.0, 1.0]), np.arange(4) == 3
    return _linkage("parallelogram with a third crank", places, couplers, hinges, (angle, 0.0))
