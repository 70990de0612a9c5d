"""A bicycle whose wheels roll without slip: the full nonlinear model of Whipple.

Coordinates: contact point of the rear wheel `x`, `y` (m), yaw, lean, pitch, steer, and angles of
rear and front wheel (rad); `z` points down, the bicycle goes along `x`. Names of parameters and the
benchmark are those of J. P. Meijaard, J. M. Papadopoulos, A. Ruina & A. L. Schwab, *Linearized
dynamics equations for the balance and steer of a bicycle* (2007).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import jaxspark


# Table 1 of Meijaard et al. (2007); lengths in m, masses in kg, inertias in kg m^2.
BENCHMARK = {
    "w": 1.02, "c": 0.08, "lam": np.pi / 10, "g": 9.81,
    "rR": 0.3, "mR": 2.0, "IRxx": 0.0603, "IRyy": 0.12,
    "xB": 0.3, "zB": -0.9, "mB": 85.0, "IBxx": 9.2, "IByy": 11.0, "IBzz": 2.8, "IBxz": 2.4,
    "xH": 0.9, "zH": -0.7, "mH": 4.0, "IHxx": 0.05892, "IHyy": 0.06, "IHzz": 0.00708,
    "IHxz": -0.00756, "rF": 0.35, "mF": 3.0, "IFxx": 0.1405, "IFyy": 0.28,
}  # fmt: skip
# Table 2 there: eigenvalues of weave, capsize and castering at 5 m/s (1/s).
AT_5 = [-14.07838969279822, -0.775341882195845 + 4.464867713788229j, -0.322866429004087]
COUNT = 8


def _about(axis, angle):
    """The matrix of a turn about a coordinate axis."""
    s, c = jnp.sin(angle), jnp.cos(angle)
    one, zero = jnp.ones_like(s), jnp.zeros_like(s)
    rows = {
        0: [[one, zero, zero], [zero, c, -s], [zero, s, c]],
        1: [[c, zero, s], [zero, one, zero], [-s, zero, c]],
        2: [[c, -s, zero], [s, c, zero], [zero, zero, one]],
    }[axis]
    return jnp.stack([jnp.stack(row) for row in rows])


def _vector(*x):
    return jnp.stack([jnp.asarray(each, float) for each in x])


class _Moving(NamedTuple):
    """Frames, and places and velocities of what has mass, along `x`, `y` and down (m, m/s).

    Of rear wheel's plane, rear and front frame the matrices `turns` and the angular velocities in
    the frame itself, `rates` (1/s); of rear wheel, body, fork and front wheel `places`, `moves`.
    """

    turns: tuple[Array, Array, Array]
    rates: tuple[Array, Array, Array]
    places: tuple[Array, Array, Array, Array]
    moves: tuple[Array, Array, Array, Array]


def _moving(q, v, args) -> _Moving:
    yaw, lean, pitch = _about(2, q[2]), _about(0, q[3]), _about(1, q[4])
    plane = yaw @ lean
    rear = plane @ pitch
    # About the steering axis, which leans back by `lam`.
    tilt = _about(1, jnp.asarray(args["lam"]))
    steer = tilt @ _about(2, q[5]) @ tilt.T
    front = rear @ steer
    of_plane = lean.T @ _vector(0.0, 0.0, v[2]) + _vector(v[3], 0.0, 0.0)
    of_rear = pitch.T @ of_plane + _vector(0.0, v[4], 0.0)
    of_front = steer.T @ of_rear + v[5] * tilt[:, 2]

    def carried(origin, turn, rates, arm):
        return origin[0] + turn @ arm, origin[1] + turn @ jnp.cross(rates, arm)

    ground = _vector(q[0], q[1], 0.0), _vector(v[0], v[1], 0.0)
    up = _vector(0.0, 0.0, -args["rR"])
    hub = carried(ground, plane, of_plane, up)
    # From the rear contact of the bicycle at rest, upright, to where the steering axis is.
    axis = _vector(args["w"] + args["c"], 0.0, 0.0)
    body = carried(hub, rear, of_rear, _vector(args["xB"], 0.0, args["zB"]) - up)
    crown = carried(hub, rear, of_rear, axis - up)
    fork = carried(crown, front, of_front, _vector(args["xH"], 0.0, args["zH"]) - axis)
    wheel = carried(crown, front, of_front, _vector(args["w"], 0.0, -args["rF"]) - axis)
    places, moves = zip(hub, body, fork, wheel, strict=True)
    return _Moving((plane, rear, front), (of_plane, of_rear, of_front), places, moves)


def _spinning(rates, spin):
    """A wheel's angular velocity in its frame, whose second axis is its axle."""
    return rates + jnp.stack([0 * spin, spin, 0 * spin])


def _inertia(args, name):
    xx, yy, zz, xz = (args[f"I{name}{k}"] for k in ("xx", "yy", "zz", "xz"))
    rows = [[xx, 0.0, xz], [0.0, yy, 0.0], [xz, 0.0, zz]]
    return jnp.stack([jnp.stack([jnp.asarray(x) for x in row]) for row in rows])


def _lagrangian(t, q, v, args):
    at = _moving(q, v, args)
    energy = 0.0
    for name, place, move in zip(("mR", "mB", "mH", "mF"), at.places, at.moves, strict=True):
        energy = energy + args[name] * (0.5 * move @ move + args["g"] * place[2])
    _, rear, front = at.rates
    for rates, name in ((rear, "B"), (front, "H")):
        energy = energy + 0.5 * rates @ _inertia(args, name) @ rates
    for rates, spin, name in ((rear, v[6], "R"), (front, v[7], "F")):
        wheel = _spinning(rates, spin)
        across = args[f"I{name}xx"] * (wheel[0] ** 2 + wheel[2] ** 2)
        energy = energy + 0.5 * (across + args[f"I{name}yy"] * wheel[1] ** 2)
    return energy


def _touching(front, args):
    """From the centre of the front wheel to its lowest point (m)."""
    axle = front[:, 1]
    across = _vector(0.0, 0.0, 1.0) - axle[2] * axle
    return args["rF"] * across / jnp.sqrt(jnp.sum(across**2))


def _on_ground(t, q, args):
    at = _moving(q, jnp.zeros_like(q), args)
    return (at.places[3] + _touching(at.turns[2], args))[2:]


def _rolling(t, q, v, args):
    """What touches the ground does not slip."""
    at = _moving(q, v, args)
    plane, rear, front = at.turns
    below = plane @ _vector(0.0, 0.0, args["rR"])
    first = at.moves[0] + jnp.cross(rear @ _spinning(at.rates[1], v[6]), below)
    last = at.moves[3] + jnp.cross(front @ _spinning(at.rates[2], v[7]), _touching(front, args))
    return jnp.concatenate([first[:2], last[:2]])


def _steering(t, q, v, args):
    """The torque of a controller by the rate of lean, `args["gain"]` (N m s)."""
    return jnp.zeros(COUNT).at[5].set(args["gain"] * v[3])


SYSTEM = jaxspark.LagrangianSystem(
    _lagrangian, holonomic=_on_ground, nonholonomic=_rolling, force=_steering
)


def upright(args, speed):
    """Coordinates and velocities of the bicycle that goes straight on (m/s)."""
    spin = jnp.zeros(COUNT).at[0].set(speed)
    return jnp.zeros(COUNT), spin.at[6].set(-speed / args["rR"]).at[7].set(-speed / args["rF"])


@jax.jit
def _linearised(args, speed):
    """The derivative of the vector field where the bicycle goes straight on."""
    y, z = upright(args, speed)

    def field(x):
        return jnp.concatenate(
            [x[COUNT:], jaxspark.multipliers(SYSTEM, 0.0, x[:COUNT], x[COUNT:], args).zdot]
        )

    return jax.jacfwd(field)(jnp.concatenate([y, z]))


def eigenvalues(args, speed):
    """Of the linearised motion about going straight on (1/s), those that are not zero."""
    numbers = {name: jnp.asarray(float(value)) for name, value in args.items()}
    found = np.linalg.eigvals(np.asarray(_linearised(numbers, jnp.asarray(float(speed)))))
    return found[np.argsort(-np.abs(found))][:4]
