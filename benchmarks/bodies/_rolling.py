"""Rolling: bodies against closed forms, constants of motion and equations written by hand."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import jaxspark
from jaxspark import multibody

from .._figures import at_most, Figure
from ._bicycle import bicycle, eigenvalues, published, SPEED, straight


ERROR, TIGHT = 1e-9, {"rtol": 1e-12, "atol": 1e-12, "max_steps": 100_000}


def rolling(tiny: bool) -> Iterator[Figure]:
    """A sphere, a disk, a rattleback and a bicycle."""
    yield at_most("sphere on a slope, 2 s: place, forces", _sphere(), ERROR)
    yield at_most("disk in a circle, one turn: tilt, place", _disk(), ERROR)
    if tiny:
        return
    places, energy = _rattleback()
    yield at_most("rattleback, 2 s: vertical against equations by hand", places, ERROR)
    yield at_most("rattleback, 2 s: energy, relative", energy, ERROR)
    yield from _bicycle()


def _ends(mechanism: Any, y: Any, z: Any, t1: float) -> Any:
    return jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=t1, **TIGHT)


def _sphere() -> float:
    """With 5/7 of the acceleration of a sphere that slides, and 2/7 of its weight as friction."""
    slope, radius, mass = 0.3, 0.25, 2.0
    g = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    mechanism = multibody.Mechanism(
        [multibody.Body("ball", mass, inertia=0.4 * mass * radius**2)],
        [multibody.Free("free", "ground", "ball")], gravity=g,
        constraints=[
            multibody.Rolling("rolls", "ground", "ball", multibody.Sphere(radius))
        ],
        guess={"free": [0, 0, radius, 1, 0, 0, 0]},
    )  # fmt: skip
    end = _ends(mechanism, *mechanism.state(), 2.0)
    far = 5 / 7 * g[0] * 2.0
    of = jaxspark.multipliers(mechanism.system, 2.0, end.y1, end.z1, mechanism.parameters)
    wrong = np.asarray(end.y1[:3]) - [far, 0, radius]
    along = float(np.linalg.norm(of.psi)) - 2 / 7 * mass * g[0]
    return float(np.max(np.abs([*wrong, float(of.lam[0]) - mass * g[2], along])))


def steady_disk() -> tuple[Any, dict[str, Any], float, float]:
    """A disk that rolls in a circle, its steady velocities, its tilt and its rate of turn.

    Source: J. I. Neimark & N. A. Fufaev, *Dynamics of Nonholonomic Systems*, chapter II, section 5.
    """
    mass, radius, tilt, turn = 1.3, 0.4, 1.1, 2.0
    A, C = mass * radius**2 / 4, mass * radius**2 / 2
    mechanism = multibody.Mechanism(
        [multibody.Body("disk", mass, inertia=(A, A, C))],
        [multibody.Free("free", "ground", "disk")],
        constraints=[multibody.Rolling("rolls", "ground", "disk", multibody.Disk(radius))],
        guess={"free": [0, 0, radius * np.sin(tilt), np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]},
    )  # fmt: skip
    s, c = np.sin(tilt), np.cos(tilt)
    spin = (A * turn**2 * s * c - mass * 9.81 * radius * c) / ((C + mass * radius**2) * turn * s)
    # In the axes of the disk the vertical is (0, s, c), and the lowest point is (0, -radius, 0).
    w = np.array([0.0, turn * s, spin])
    R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    return mechanism, {"free": [*(R @ np.cross(w, [0, radius, 0])), *w]}, tilt, turn


def _disk() -> float:
    mechanism, velocities, tilt, turn = steady_disk()
    y, z = mechanism.state({}, velocities)
    end = _ends(mechanism, y, z, 2 * np.pi / turn)
    leans = float(mechanism.pose("disk", end.y1)[2, 2]) - np.cos(tilt)
    return max(abs(leans), float(jnp.max(jnp.abs(end.y1[:3] - y[:3]))))


def rattleback() -> tuple[Any, dict[str, Any]]:
    """Half an ellipsoid, with principal axes of inertia that are not those of the shape."""
    angle, moments = 0.15, np.array([2e-4, 1.6e-3, 1.7e-3])
    s, c = np.sin(angle), np.cos(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    shape = {
        "mass": 1.0, "inertia": turn @ np.diag(moments) @ turn.T, "com": np.array([0, 0, -0.005]),
        "semiaxes": np.array([0.2, 0.03, 0.02]),
    }  # fmt: skip
    mechanism = multibody.Mechanism(
        [multibody.Body("stone", 1.0, inertia=shape["inertia"], com=shape["com"])],
        [multibody.Free("free", "ground", "stone")],
        constraints=[
            multibody.Rolling(
                "rolls", "ground", "stone", multibody.Ellipsoid(shape["semiaxes"])
            )
        ],
        guess={"free": [0, 0, 0.02, 1, 0, 0, 0]},
    )  # fmt: skip
    return mechanism, shape


def by_hand(t: float, state: np.ndarray, shape: dict[str, Any]) -> np.ndarray:
    """The rates of the vertical and the angular velocity, in the axes of the body.

    With `r` from the centre of mass to the contact, whose point is at rest, `v = r x w`.

    Source: A. Garcia & M. Hubbard, *Spin reversal of the rattleback*, Proc. R. Soc. A 418 (1988).
    """
    del t
    up, w, m, J = state[:3], state[3:], shape["mass"], shape["inertia"]
    squares = shape["semiaxes"] ** 2
    size = np.sqrt(np.sum(squares * up**2))
    r = -squares * up / size - shape["com"]
    dup = np.cross(up, w)
    dr = -squares * dup / size + squares * up * np.sum(squares * up * dup) / size**3
    v = np.cross(r, w)
    wrong = m * np.cross(r, np.cross(dr, w) + np.cross(w, v) + 9.81 * up) - np.cross(w, J @ w)
    matrix = J - m * np.stack([np.cross(r, np.cross(r, e)) for e in np.eye(3)], 1)
    return np.concatenate([dup, np.linalg.solve(matrix, wrong)])


def _rattleback() -> tuple[float, float]:
    mechanism, shape = rattleback()
    w = np.array([0.01, 0.02, -3.0])
    y, z = mechanism.state({}, {"free": [*np.cross(w, [0, 0, 0.02]), *w]})
    up = np.asarray(mechanism.pose("stone", y))[2, :3]
    end = _ends(mechanism, y, z, 2.0)
    other = solve_ivp(
        by_hand, (0, 2.0), [*up, *w], args=(shape,), method="DOP853", rtol=1e-13, atol=1e-13
    ).y[:, -1]
    wrong = float(np.max(np.abs(np.asarray(mechanism.pose("stone", end.y1))[2, :3] - other[:3])))
    first, last = (float(sum(mechanism.energy(*x))) for x in ((y, z), (end.y1, end.z1)))
    return wrong, abs(last / first - 1)


def _bicycle() -> Iterator[Figure]:
    mechanism = bicycle()
    wrong = float(np.max(np.abs(eigenvalues(mechanism) - published())))
    yield at_most(f"bicycle at {SPEED:g} m/s: eigenvalues against those published", wrong, ERROR)
    y, z = mechanism.state({}, {"rear wheel": SPEED / 0.3, "free": straight()})
    # A push to the side, after which it rides on by itself.
    z = z.at[mechanism.velocities(np.arange(z.size))["free"][3]].add(0.5)
    z = jaxspark.project(mechanism.system, 0.0, y, z, mechanism.parameters).z
    end = _ends(mechanism, y, z, 3.0)
    first, last = (float(sum(mechanism.energy(*x))) for x in ((y, z), (end.y1, end.z1)))
    yield at_most("bicycle after a push, 3 s: energy, relative", abs(last / first - 1), ERROR)
    yield at_most("bicycle: contact of both wheels (m)", float(end.stats.max_g), ERROR)
