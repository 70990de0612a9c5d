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


# Of each axis the matrix of the cross product.
_CROSS = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _CROSS[_i, _k, _j], _CROSS[_i, _j, _k] = 1.0, -1.0


def _times(a, b):
    """The product of small matrices, as a sum: on CPUs a tenth of the time of `a @ b`."""
    return jnp.sum(a[..., :, :, None] * b[..., None, :, :], -2)


def _vector(*x):
    return jnp.stack([jnp.asarray(each, float) for each in x])


def _about(axis, angle):
    """The matrix of a turn about an axis, a unit vector (Rodrigues)."""
    cross = jnp.sum(axis[:, None, None] * _CROSS, 0)
    return np.eye(3) + jnp.sin(angle) * cross + (1.0 - jnp.cos(angle)) * _times(cross, cross)


def _poses(q, args):
    """Turns and places of rear wheel, body, fork and front wheel, (4, 3, 4).

    The first three columns turn the body's frame, parallel to all others when the bicycle stands
    upright; the last is the centre of mass. Down is positive.
    """
    x, y, z = np.eye(3)
    centre, ahead = -args["rR"], args["w"] + args["c"]
    plane = _times(_about(z, q[2]), _about(x, q[3]))
    hub = _vector(q[0], q[1], 0.0) + centre * plane[:, 2]
    rear = _times(plane, _about(y, q[4]))
    # The steering axis leans back by `lam`.
    axis = _vector(jnp.sin(args["lam"]), 0.0, jnp.cos(args["lam"]))
    front = _times(rear, _about(axis, q[5]))

    def beyond(origin, turn, *arm):
        return origin + jnp.sum(turn * _vector(*arm)[None, :], 1)

    # Arms are those of the bicycle at rest, upright, from its rear contact.
    crown = beyond(hub, rear, ahead, 0.0, -centre)
    body = beyond(hub, rear, args["xB"], 0.0, args["zB"] - centre)
    fork = beyond(crown, front, args["xH"] - ahead, 0.0, args["zH"])
    wheel = beyond(crown, front, args["w"] - ahead, 0.0, -args["rF"])
    first, last = _times(rear, _about(y, q[6])), _times(front, _about(y, q[7]))
    turns, places = jnp.stack([first, rear, front, last]), jnp.stack([hub, body, fork, wheel])
    return jnp.concatenate([turns, places[:, :, None]], 2)


def _moving(q, v, args):
    """Poses and their derivatives by time, (4, 3, 4) each."""
    return jax.jvp(lambda q: _poses(q, args), (q,), (v,))


def _spread(args):
    """Of each body the integrals of `x x^T` over its mass, `x` with a 1 at its end, (4, 4, 4).

    Source: P. M. Wensing, S. Kim & J.-J. E. Slotine, *Linear matrix inequalities for physically
    consistent inertial parameter identification* (2018), where it is the pseudo-inertia.
    """
    wheels = [[args[f"I{name}{k}"] for k in ("xx", "yy", "xx")] + [0.0] for name in "RF"]
    others = [[args[f"I{name}{k}"] for k in ("xx", "yy", "zz", "xz")] for name in "BH"]
    rows = [wheels[0], *others, wheels[1]]
    numbers = jnp.stack([jnp.asarray(number, float) for row in rows for number in row])
    inertia = numbers.reshape(4, 4)
    half = 0.5 * jnp.sum(inertia[:, :3], 1, keepdims=True)
    masses = jnp.stack([jnp.asarray(args[f"m{name}"], float) for name in "RBHF"])
    about = jnp.concatenate([half - inertia[:, :3], masses[:, None]], 1)
    # A product of inertia is minus the integral of `x z`, and its entry in the matrix is given.
    across = np.zeros((4, 4))
    across[0, 2] = across[2, 0] = -1.0
    return about[:, :, None] * np.eye(4) + inertia[:, 3, None, None] * across


def _lagrangian(t, q, v, args):
    """Kinetic energy, the trace of `H' S H'^T / 2` over poses `H` and their `S`, and weight."""
    at, moves = _moving(q, v, args)
    spread = _spread(args)
    kinetic = 0.5 * jnp.sum(moves * _times(moves, spread))
    return kinetic + args["g"] * jnp.sum(spread[:, 3, 3] * at[:, 2, 3])


def _touching(pose, args):
    """From the centre of the front wheel to its lowest point (m)."""
    axle = pose[:, 1]
    across = np.array([0.0, 0.0, 1.0]) - axle[2] * axle
    return args["rF"] * across / jnp.sqrt(jnp.sum(across**2))


def _on_ground(t, q, args):
    front = _poses(q, args)[3]
    return (front[:, 3] + _touching(front, args))[2:]


def _rolling(t, q, v, args):
    """What touches the ground does not slip."""
    at, moves = _moving(q, v, args)
    # The rear wheel touches the ground at `x`, `y`.
    arms = -at[0, :, 3] + jnp.stack([q[0], q[1], 0.0 * q[0]]), _touching(at[3], args)
    slips = []
    for i, arm in zip((0, 3), arms, strict=True):
        own = jnp.sum(at[i, :, :3] * arm[:, None], 0)
        slips.append(moves[i, :, 3] + jnp.sum(moves[i, :, :3] * own[None, :], 1))
    return jnp.concatenate([slips[0][:2], slips[1][:2]])


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
