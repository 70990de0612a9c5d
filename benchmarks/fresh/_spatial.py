"""Rigid bodies in space, with quaternions: `y` has `(x, p)` of each, `z` `(v, W)`, `W` its own."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ..audit._spatial import quaternion_rate, rotate, rotate_back
from ._mechanism import Fresh


X, Y, Z = np.eye(3)
ARGS = np.array([1.2, 0.8, 0.05, 0.09, 0.12, 9.81, 0.02, 0.004, 0.3, 1.0])


def _masses(n, args):
    """Of `n` bodies, shape `(6 n,)`: even and odd masses, and moments in proportion to them."""
    m = jnp.where(np.arange(n) % 2 == 1, args[1], args[0])
    return jnp.concatenate([jnp.repeat(m[:, None], 3, 1), m[:, None] * args[None, 2:5]], 1).ravel()


def _rate(t, y, z, args):
    n = z.size // 6
    pairs = zip(y.reshape(n, 7), z.reshape(n, 6))
    return jnp.concatenate(
        [jnp.concatenate([b[:3], quaternion_rate(a[3:], b[3:])]) for a, b in pairs]
    )


def _force(t, y, z, args):
    """Weight, drag and a torque about the axis of the first body."""
    n = z.size // 6
    masses, parts = _masses(n, args).reshape(n, 6), []
    for i, (m, b) in enumerate(zip(masses, z.reshape(n, 6))):
        rate = b[3:]
        moment = -jnp.cross(rate, m[3:] * rate) - args[7] * rate + float(i == 0) * args[8] * Z
        parts += [-m[0] * args[5] * Z - args[6] * b[:3], moment]
    return jnp.concatenate(parts)


def _system(n, **constraints) -> jaxspark.ConstrainedSystem:
    return jaxspark.ConstrainedSystem(
        _force, v=_rate, p=lambda t, y, z, args: _masses(n, args) * z, **constraints
    )


def _fresh(name, n, y, z, t1, **constraints) -> Fresh:
    """Parameters: masses of even and odd bodies (kg), moments by mass (m^2), gravity (m/s^2), drag
    (N s/m, N m s), a torque on the first body (N m), size of what is held where.
    """
    mass = lambda args: jnp.diag(_masses(n, args))
    return Fresh(name, _system(n, **constraints), mass, np.array(y), np.array(z), ARGS, t1)


def _place(y, i, point):
    body = y[7 * i : 7 * i + 7]
    return body[:3] + rotate(body[3:], jnp.asarray(point, y.dtype))


def _turned(axis, angle):
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * np.array(axis))])


def two_bodies() -> Fresh:
    """A compound double pendulum in space: two ball joints."""

    def holonomic(t, y, args):
        first = _place(y, 0, 0.4 * Z) * args[9]
        return jnp.concatenate([first, _place(y, 0, -0.4 * Z) - _place(y, 1, 0.3 * Z)])

    p = _turned(X, 1.2)
    low = np.asarray(rotate(jnp.asarray(p), jnp.asarray(-0.4 * Z)))
    y = [*low, *p, *(2 * low - [0, 0, 0.3]), 1.0, 0, 0, 0]
    return _fresh("two_bodies", 2, y, [0, 0, 0, 0, 0, 4.0, 0, 0, 0, 0, 0, 1.0], 1.5, g=holonomic)


def cardan() -> Fresh:
    """Two shafts in bearings at an angle, coupled by a universal joint."""
    bend = 0.6
    axis = np.array([0, np.sin(bend), np.cos(bend)])

    def holonomic(t, y, args):
        a, b = (lambda x, i=i: rotate(y[7 * i + 3 : 7 * i + 7], jnp.asarray(x)) for i in range(2))
        second = jnp.stack([a(Z) @ X, a(Z) @ Y, b(Z) @ X, b(Z) @ jnp.cross(axis, X), a(X) @ b(Y)])
        return jnp.concatenate([y[:3], y[7:10] - args[9] * 0.2 * Z, second])

    y = [0, 0, 0, 1.0, 0, 0, 0, 0, 0, 0.2, *_turned(X, -bend)]
    return _fresh("cardan", 2, y, [0, 0, 0, 0, 0, 5.0, 0, 0, 0, 0, 0, 5.0], 1.5, g=holonomic)


def hung_plate() -> Fresh:
    """A plate on three rods of equal length."""
    corners = np.array([[0.5, 0, 0], [-0.3, 0.4, 0], [-0.3, -0.4, 0]])

    def holonomic(t, y, args):
        ends = jnp.stack([_place(y, 0, corner) for corner in corners])
        return 0.5 * (jnp.sum((ends - 1.4 * corners - 1.0 * Z) ** 2, 1) - (1.1 * args[9]) ** 2)

    y = [0.1, 0.05, -0.1, 1.0, 0, 0, 0]
    return _fresh("hung_plate", 1, y, [0.4, -0.3, 0, 0.2, 0.1, 1.5], 2.0, g=holonomic)


def gyrostat() -> Fresh:
    """A free body with a spinning wheel inside, on an axle."""

    def holonomic(t, y, args):
        a, b = (lambda x, i=i: rotate(y[7 * i + 3 : 7 * i + 7], jnp.asarray(x)) for i in range(2))
        centre = _place(y, 0, 0.2 * args[9] * X) - y[7:10]
        return jnp.concatenate([centre, jnp.stack([a(X) @ b(Z), a(Y) @ b(Z)])])

    y = [0, 0, 0, 1.0, 0, 0, 0, 0.2, 0, 0, 1.0, 0, 0, 0]
    z = [0.5, 0, 2.0, 0.8, -0.5, 0.3, 0.5, 0, 2.0, 0.8, -0.5, 20.0]
    return _fresh("gyrostat", 2, y, z, 1.0, g=holonomic)


def bowl() -> Fresh:
    """A ball whose moments of inertia are unequal, rolling in a spherical bowl."""
    radius = 0.15

    def rolling(t, y, z, args):
        p, out = y[3:], y[:3] / jnp.sqrt(jnp.sum(y[:3] ** 2))
        arm = rotate_back(p, radius * args[9] * out)
        return z[:3] + rotate(p, jnp.cross(z[3:], arm))

    y = [0.7, 0.1, -0.5, 1.0, 0, 0, 0]
    return _fresh("bowl", 1, y, [0.1, 0.8, 0.0, 0, 0, 2.0], 2.0, k=rolling)


def hoop() -> Fresh:
    """A disc that rolls on a plane, its centre of mass off its centre."""
    radius, off = 0.4, 0.08

    def contact(p, args):
        up = rotate_back(p, jnp.asarray(Z, p.dtype))
        flat = up * jnp.array([1.0, 1.0, 0.0])
        return -radius * args[9] * flat / jnp.sqrt(jnp.sum(flat**2)) - off * X

    def rolling(t, y, z, args):
        return z[:3] + rotate(y[3:], jnp.cross(z[3:], contact(y[3:], args)))

    p = _turned(X, 1.2)
    height = -np.asarray(rotate(jnp.asarray(p), contact(jnp.asarray(p), ARGS)))[2]
    return _fresh("hoop", 1, [0, 0, height, *p], [0, 0, 0, 0.3, 0.2, 6.0], 1.5, k=rolling)
