"""Arms of one, two and three links that swing freely, in Cartesian coordinates of each link.

Records: MultiArm-Pendulum of dynamicslab (arXiv 2205.06231), one piece of a swing each.
"""

import csv
import pathlib
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit, forces


Law = Literal["viscous", "quadratic", "Coulomb and drag", "Coulomb, viscous and drag"]
NAMES = {1: "single", 2: "double", 3: "triple"}
# Published estimates: masses (kg), from joints to centres of mass (m), from joint to joint (m),
# inertia about the centre (kg m^2), viscous friction of joints (N m s), gravity (m/s^2).
PUBLISHED: dict[int, dict[str, Any]] = {
    1: {
        "m": [0.147755],
        "a": [0.147585],
        "L": [],
        "I": [1.09119e-4],
        "k": [2.2394e-4],
        "g": 9.81001,
    },
    2: {
        "m": [0.093844, 0.137596],
        "a": [0.108565, 0.116779],
        "L": [0.172719],
        "I": [4.37529e-4, 1.26883e-3],
        "k": [2.37143e-4, 1e-5],
        "g": 9.80858,
    },
    3: {
        "m": [0.258172, 0.279428, 0.118624],
        "a": [0.16, 0.202939, 0.183709],
        "L": [0.1728, 0.2287],
        "I": [1.00043e-4, 3.1416e-4, 1.68739e-4],
        "k": [1.4771e-3, 2.59577e-4, 1e-5],
        "g": 9.80834,
    },
}
# Length of the last link (m), along which air resists; of the others it is that to the next joint.
LAST = 0.24
# Points of Gauss and Legendre along a link, in [0, 1], and their weights.
POINTS, WEIGHTS = (np.polynomial.legendre.leggauss(6)[i] / 2 + (0.5, 0.0)[i] for i in (0, 1))
# Rate over which dry friction changes sign (rad/s).
WIDTH = 0.1


def _up(angle):
    """The direction of a link, by its angle from upright; and that across it."""
    s, c = jnp.sin(angle), jnp.cos(angle)
    return jnp.stack([s, c], -1), jnp.stack([c, -s], -1)


def _each(args, name, count):
    """The numbers of all links, in order."""
    return jnp.stack([jnp.asarray(args[f"{name}{i + 1}"]) for i in range(count)])


def _lengths(args, count, last):
    """From joint to joint; of the last link as given."""
    return jnp.stack(
        [jnp.asarray(args[f"L{i + 1}"]) for i in range(count - 1)] + [jnp.asarray(last)]
    )


def _joints(t, q, args):
    """Each link begins where the one before it ends, the first at the origin."""
    n, along = q.shape[0], _up(q[:, 2])[0]
    begin = q[:, :2] - _each(args, "a", n)[:, None] * along
    end = begin + _lengths(args, n, 0.0)[:, None] * along
    return (begin - jnp.concatenate([jnp.zeros((1, 2)), end[:-1]])).ravel()


def _mass(t, q, args):
    m, inertia = (_each(args, name, q.shape[0]) for name in "mI")
    return jnp.diag(jnp.stack([m, m, inertia], 1).ravel())


def _relative(v):
    """Rates of joints, from the second on relative."""
    return jnp.diff(v[:, 2], prepend=0.0)


def _force(t, q, v, args):
    n = q.shape[0]
    m, a, dry, viscous, strip = (_each(args, name, n) for name in ("m", "a", "c", "k", "s"))
    weight = jnp.stack([0 * m, -m * args["g"], 0 * m], 1)
    law = lambda rate: forces.friction(rate, coulomb=dry, viscous=viscous, width=WIDTH)
    total = weight + forces.generalised(_relative, v, law)
    across, lengths = _up(q[:, 2])[1], _lengths(args, n, LAST)
    # Points along each link, from its centre of mass.
    at = lengths[:, None] * POINTS[None, :] - a[:, None]
    shares = (strip * lengths)[:, None] * WEIGHTS[None, :]

    def through_air(v):
        return v[:, None, :2] + (at * v[:, 2, None])[..., None] * across[:, None, :]

    normals = jnp.broadcast_to(across[:, None, :], (*at.shape, 2))
    return total + forces.generalised(through_air, v, lambda u: forces.drag(u, shares, normals))


SYSTEM = jaxspark.MechanicalSystem(_mass, _force, holonomic=_joints)


def _observe(t, q, v, lam, psi, args):
    n = q.shape[0]
    shown = {f"angle{i + 1}": q[i, 2] + args[f"zero{i + 1}"] for i in range(n)}
    return shown | {f"rate{i + 1}": v[i, 2] for i in range(n)}


def _delays(args):
    return {key.replace("lag", "rate"): lag for key, lag in args.items() if key.startswith("lag")}


def read(folder: pathlib.Path, links: int) -> dict[int, fit.Record]:
    """The pieces of a record, by number; files of other pieces have the same columns."""
    with (folder / f"{NAMES[links]}.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = {}
    for piece in sorted({int(row["piece"]) for row in rows}):
        own = [row for row in rows if int(row["piece"]) == piece]
        columns = {key: np.array([float(row[key]) for row in own]) for key in own[0]}
        times, _ = columns.pop("time_s"), columns.pop("piece")
        found[piece] = fit.record(times, columns, name=f"piece {piece}")
    return found


def hanging(links: int) -> fit.Start:
    """Starts near the arm that hangs, by the first samples."""
    numbers = PUBLISHED[links]
    lengths = np.concatenate([[0.0], np.cumsum(numbers["L"])])
    y = np.zeros((links, 3))
    y[:, 1], y[:, 2] = -(lengths + numbers["a"]), np.pi
    return fit.Start.from_channels(y, np.zeros((links, 3)))


def model(links: int, parameters: dict[str, Any], step: float = 0.004) -> fit.Model:
    """An arm with such numbers in place of the published ones, all others zero."""
    published = {
        f"{name}{i + 1}": value
        for name, values in PUBLISHED[links].items()
        if name != "g"
        for i, value in enumerate(values)
    }
    none = {f"{name}{i + 1}": 0.0 for name in ("c", "s", "zero", "lag") for i in range(links)}
    numbers = {"g": PUBLISHED[links]["g"], **published, **none, **parameters}
    return fit.Model(SYSTEM, _observe, numbers, hanging(links), step, delays=_delays)
