"""Rigid bodies in space with quaternions: coordinates and velocities differ in number.

`y` has positions and quaternions `(p0, pv)`, `z` velocities and angular velocities in body axes.
"""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._mechanism import Mechanism


def quaternion_rate(p, rate):
    """`p' = p o (0, W) / 2`, shape `(4,)`."""
    scalar = -0.5 * jnp.sum(p[1:] * rate, keepdims=True)
    return jnp.concatenate([scalar, 0.5 * (p[0] * rate + jnp.cross(p[1:], rate))])


def rotate(p, x):
    """A vector of the body in axes of space, shape `(3,)`."""
    return x + 2 * jnp.cross(p[1:], p[0] * x + jnp.cross(p[1:], x))


def rotate_back(p, x):
    """A vector of space in axes of the body, shape `(3,)`."""
    return rotate(p * jnp.array([1.0, -1, -1, -1], p.dtype), x)


def _unit(rng) -> np.ndarray:
    p = rng.standard_normal(4)
    return p / np.linalg.norm(p)


def _upright(rng, tilt: float) -> np.ndarray:
    p = np.array([1.0, *(tilt * rng.standard_normal(3))])
    return p / np.linalg.norm(p)


def _one_body_rate(t, y, z, args):
    return jnp.concatenate([z[:3], quaternion_rate(y[3:], z[3:])])


def _top(name: str, moments: tuple[float, float, float], speed: float, t1: float) -> Mechanism:
    """A body of 1 kg that hangs by a fixed point, 0.5 m from its centre; `y = (x, p)`."""
    arm, inertia = np.array([0, 0, 0.5]), np.array(moments)

    def momentum(t, y, z, args):
        return z * jnp.concatenate([jnp.ones(3, z.dtype), jnp.asarray(inertia, z.dtype)])

    def force(t, y, z, args):
        rate, weight = z[3:], jnp.array([0, 0, -9.81], z.dtype)
        return jnp.concatenate([weight, -jnp.cross(rate, inertia * rate)])

    def fixed(t, y, args):
        return y[:3] - rotate(y[3:], jnp.asarray(arm, y.dtype))

    def guess(rng):
        p = _upright(rng, 0.5)
        rate = np.array([1, 1, speed]) * rng.standard_normal(3) + [0, 0, speed]
        x = np.asarray(rotate(jnp.asarray(p), jnp.asarray(arm)))
        velocity = np.asarray(rotate(jnp.asarray(p), jnp.asarray(np.cross(rate, arm))))
        return [*x, *p], [*velocity, *rate], {}

    system = jaxspark.ConstrainedSystem(force, v=_one_body_rate, p=momentum, g=fixed)
    return Mechanism(name, ("holonomic", "quaternion"), system, guess, t1)


def spatial_slider_crank() -> Mechanism:
    """Crank, rod and slider in space; `y = (th, s, x, p)`, `z = (th', s', u, W)`.

    The crank turns about an axis along x at `(0, 0.1, 0.12)`; the rod hangs by a ball joint on its
    pin and a universal joint on the slider, which moves along x.

    Source: E. J. Haug, *Computer Aided Kinematics and Dynamics of Mechanical Systems*, problem
    10.2; here with round numbers for the masses.
    """
    crank, half, inertia = 0.08, 0.15, np.array([4e-4, 4e-3, 4e-3])

    def rates(t, y, z, args):
        return jnp.concatenate([z[:5], quaternion_rate(y[5:], z[5:])])

    def momentum(t, y, z, args):
        masses = jnp.concatenate(
            [jnp.array([0.01, 2.0, 0.5, 0.5, 0.5], z.dtype), jnp.asarray(inertia, z.dtype)]
        )
        return z * masses

    def force(t, y, z, args):
        rate, zero = z[5:], jnp.zeros(1, z.dtype)
        moment = -0.12 * crank * 9.81 * jnp.cos(y[:1])
        weight = jnp.array([0, 0, -0.5 * 9.81], z.dtype)
        return jnp.concatenate([moment, zero, weight, -jnp.cross(rate, inertia * rate)])

    def joints(t, y, args):
        p, x_axis = y[5:], jnp.array([1.0, 0, 0], y.dtype)
        along = rotate(p, half * x_axis)
        pin = jnp.stack([0 * y[0], 0.1 + crank * jnp.cos(y[0]), 0.12 + crank * jnp.sin(y[0])])
        cross = rotate(p, jnp.array([0, 1.0, 0], y.dtype))
        ends = y[2:5] - along - pin, y[2:5] + along - y[1] * x_axis
        return jnp.concatenate([*ends, jnp.sum(cross * x_axis)[None] - args["twist"]])

    def guess(rng):
        angle = rng.uniform(0, 6)
        pin = np.array([0, 0.1 + crank * np.cos(angle), 0.12 + crank * np.sin(angle)])
        slider = np.array([np.sqrt(4 * half**2 - pin @ pin), 0, 0])
        axis = (slider - pin) / (2 * half)
        # The rotation that takes the x axis to the rod; then it is turned about the rod.
        p = np.array([1 + axis[0], 0, -axis[2], axis[1]])
        y = [angle, slider[0], *(0.5 * (pin + slider)), *(p / np.linalg.norm(p))]
        cross = np.asarray(rotate(jnp.asarray(y[5:]), jnp.array([0, 1.0, 0])))
        return y, [rng.uniform(5, 8), *np.zeros(7)], {"twist": cross[0]}

    system = jaxspark.ConstrainedSystem(force, v=rates, p=momentum, g=joints)
    kinds = ("holonomic", "quaternion", "closed loop")
    return Mechanism("spatial_slider_crank", kinds, system, guess, 1.5)


def rattleback() -> Mechanism:
    """An ellipsoid whose principal axes are not those of its inertia, rolling on a plane.

    `y = (x, p)`; `k` is the velocity of the point of contact, all three components: its height is
    an integral of them.

    Source: A. Garcia & M. Hubbard, *Spin reversal of the rattleback: theory and experiment*,
    Proc. R. Soc. A 418 (1988); numbers made up.
    """
    squares, skew = np.array([1.0, 0.16, 0.09]), 0.1
    c, s = np.cos(skew), np.sin(skew)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    inertia = turn @ np.diag([0.05, 0.3, 0.32]) @ turn.T

    def contact(p):
        up = rotate_back(p, jnp.array([0, 0, 1.0], p.dtype))
        return -squares * up / jnp.sqrt(jnp.sum(squares * up**2))

    def momentum(t, y, z, args):
        return jnp.concatenate([z[:3], jnp.asarray(inertia, z.dtype) @ z[3:]])

    def force(t, y, z, args):
        rate, weight = z[3:], jnp.array([0, 0, -9.81], z.dtype)
        return jnp.concatenate([weight, -jnp.cross(rate, jnp.asarray(inertia, z.dtype) @ rate)])

    def rolling(t, y, z, args):
        return z[:3] + rotate(y[3:], jnp.cross(z[3:], contact(y[3:])))

    def guess(rng):
        p = _upright(rng, 0.03)
        height = -np.asarray(rotate(jnp.asarray(p), contact(jnp.asarray(p))))[2]
        rate = np.array([0.2, 0.2, 1]) * rng.standard_normal(3) - [0, 0, 4]
        arm = np.asarray(contact(jnp.asarray(p)))
        velocity = -np.asarray(rotate(jnp.asarray(p), jnp.asarray(np.cross(rate, arm))))
        return [0, 0, height, *p], [*velocity, *rate], {}

    system = jaxspark.ConstrainedSystem(force, v=_one_body_rate, p=momentum, k=rolling)
    return Mechanism("rattleback", ("nonholonomic", "quaternion"), system, guess, 3.0)


def suslov() -> Mechanism:
    """A body about a fixed point that cannot turn about one of its axes; `y = p`, `z = W`.

    Source: A. M. Bloch, *Nonholonomic Mechanics and Control*, on Suslov's problem; with gravity.
    """
    inertia = np.array([[1.0, 0.1, 0.2], [0.1, 1.3, 0.1], [0.2, 0.1, 0.8]])

    def momentum(t, y, z, args):
        return jnp.asarray(inertia, z.dtype) @ z

    def force(t, y, z, args):
        down = rotate_back(y, jnp.array([0, 0, -9.81], z.dtype))
        torque = jnp.cross(jnp.array([0.1, 0.2, -0.3], z.dtype), down)
        return torque - jnp.cross(z, momentum(t, y, z, args))

    def axis(t, y, z, args):
        return z[2:]

    def guess(rng):
        return _unit(rng), 2 * rng.standard_normal(3), {}

    system = jaxspark.ConstrainedSystem(
        force, v=lambda t, y, z, args: quaternion_rate(y, z), p=momentum, k=axis
    )
    return Mechanism("suslov", ("nonholonomic", "quaternion"), system, guess, 3.0)


MECHANISMS = (
    _top("heavy_top", (0.1, 0.1, 0.15), 8.0, 2.0),
    _top("asymmetric_top", (0.1, 0.25, 0.15), 3.0, 2.0),
    spatial_slider_crank(), rattleback(), suslov(),
)  # fmt: skip
