"""A bicycle whose wheels roll without slip: the full nonlinear model of Whipple.

Coordinates: contact point of the rear wheel `x`, `y` (m), yaw, lean, pitch, steer, and angles of
rear and front wheel (rad); `z` points down, the bicycle goes along `x`. Names of parameters and the
benchmark are those of J. P. Meijaard, J. M. Papadopoulos, A. Ruina & A. L. Schwab, *Linearized
dynamics equations for the balance and steer of a bicycle* (2007).
"""

import jax
import jax.numpy as jnp
import numpy as np

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


def _turns(q, args):
    """Matrices of the rear wheel's plane, the rear frame and the front frame."""
    plane = _about(2, q[2]) @ _about(0, q[3])
    rear = plane @ _about(1, q[4])
    # About the steering axis, which leans back by `lam`.
    tilt = _about(1, jnp.asarray(args["lam"]))
    return plane, rear, rear @ tilt @ _about(2, q[5]) @ tilt.T


def _places(q, args):
    """Centres of rear wheel, rear frame, front frame and front wheel (m)."""
    plane, rear, front = _turns(q, args)
    ground = jnp.stack([q[0], q[1], jnp.zeros_like(q[0])])
    vector = lambda *x: jnp.stack([jnp.asarray(each, q.dtype) for each in x])
    hub = ground + plane @ vector(0.0, 0.0, -args["rR"])
    # From the rear contact of the bicycle at rest, upright, to where the steering axis is.
    axis = vector(args["w"] + args["c"], 0.0, 0.0)
    from_hub = lambda x, z: vector(x, 0.0, z) - vector(0.0, 0.0, -args["rR"])
    crown = hub + rear @ (axis - vector(0.0, 0.0, -args["rR"]))
    body = hub + rear @ from_hub(args["xB"], args["zB"])
    fork = crown + front @ (vector(args["xH"], 0.0, args["zH"]) - axis)
    wheel = crown + front @ (vector(args["w"], 0.0, -args["rF"]) - axis)
    return hub, body, fork, wheel


def _rates(turn, q, v, args):
    """Angular velocity in the frame of a body, from the rate of its matrix."""
    R, dR = jax.jvp(lambda q: turn(q, args), (q,), (v,))
    skew = R.T @ dR
    return jnp.stack([skew[2, 1], skew[0, 2], skew[1, 0]])


def _spinning(rates, spin):
    """A wheel's angular velocity in its frame, whose second axis is its axle."""
    return rates + jnp.stack([0 * spin, spin, 0 * spin])


def _inertia(args, name):
    xx, yy, zz, xz = (args[f"I{name}{k}"] for k in ("xx", "yy", "zz", "xz"))
    rows = [[xx, 0.0, xz], [0.0, yy, 0.0], [xz, 0.0, zz]]
    return jnp.stack([jnp.stack([jnp.asarray(x) for x in row]) for row in rows])


def _lagrangian(t, q, v, args):
    where, moves = jax.jvp(lambda q: jnp.stack(_places(q, args)), (q,), (v,))
    m = jnp.stack([jnp.asarray(args[name]) for name in ("mR", "mB", "mH", "mF")])
    energy = 0.5 * jnp.sum(m[:, None] * moves**2) + args["g"] * jnp.sum(m * where[:, 2])
    rear, front = (_rates(lambda q, a, k=k: _turns(q, a)[k], q, v, args) for k in (1, 2))
    for rates, name in ((rear, "B"), (front, "H")):
        energy = energy + 0.5 * rates @ _inertia(args, name) @ rates
    for rates, spin, name in ((rear, v[6], "R"), (front, v[7], "F")):
        wheel = _spinning(rates, spin)
        across = args[f"I{name}xx"] * (wheel[0] ** 2 + wheel[2] ** 2)
        energy = energy + 0.5 * (across + args[f"I{name}yy"] * wheel[1] ** 2)
    return energy


def _touching(q, args):
    """From the centre of the front wheel to its lowest point (m)."""
    axle = _turns(q, args)[2][:, 1]
    down = jnp.array([0.0, 0.0, 1.0])
    across = down - axle[2] * axle
    return args["rF"] * across / jnp.sqrt(jnp.sum(across**2))


def _on_ground(t, q, args):
    return (_places(q, args)[3] + _touching(q, args))[2:]


def _rolling(t, q, v, args):
    """What touches the ground does not slip."""
    _, moves = jax.jvp(lambda q: jnp.stack(_places(q, args)), (q,), (v,))
    plane, rear, front = _turns(q, args)
    at_rear = plane @ jnp.stack([0 * q[0], 0 * q[0], args["rR"] + 0 * q[0]])
    slips = []
    for k, R, at, spin, hub in ((1, rear, at_rear, v[6], 0), (2, front, _touching(q, args), v[7], 3)):
        rates = _spinning(_rates(lambda q, a, k=k: _turns(q, a)[k], q, v, args), spin)
        slips.append((moves[hub] + jnp.cross(R @ rates, at))[:2])
    return jnp.concatenate(slips)


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
