"""Points joined by rods: in the plane and in space, tied and free."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._mechanism import Fresh


def _net(name, points, anchors, rods, spring, velocities, t1) -> Fresh:
    """Points that hang on rods, with weight, drag and a spring.

    Parameters: masses of even and odd points (kg), gravity (m/s^2), drag (N s/m), stiffness (N/m)
    and length (m) of the spring, lengths of even and odd rods by those at the start, and by how
    much the anchors are moved, along two axes (m).

    - `points`, `anchors`: positions (m), rows of two or three.
    - `rods`, `spring`: pairs of numbers, those of anchors after those of points.
    """
    points, anchors = np.array(points, float), np.array(anchors, float)
    n, dim = points.shape
    everything = np.concatenate([points, anchors.reshape(-1, dim)])
    odd = np.arange(n) % 2
    first, second = np.array(rods).T
    lengths = np.linalg.norm(everything[first] - everything[second], axis=1)
    of_rods = np.arange(len(rods)) % 2
    up = np.eye(dim)[1 if dim == 2 else 2]
    aside = np.eye(dim)[:2]

    def masses(args):
        return jnp.repeat(jnp.where(odd == 1, args[1], args[0]), dim)

    def placed(q, args):
        moved = anchors.reshape(-1, dim) + args[8:10] @ aside
        return jnp.concatenate([q.reshape(n, dim), moved])

    def force(t, q, v, args):
        own = -masses(args) * jnp.tile(args[2] * up, n) - args[3] * v
        i, j = spring
        x = placed(q, args)
        apart = x[i] - x[j]
        long = jnp.sqrt(jnp.sum(apart**2))
        pull = args[4] * (1 - args[5] / long) * apart
        on = np.zeros((n, 1))
        on[i] = -1.0
        if j < n:
            on[j] = 1.0
        return own + (on * pull[None, :]).ravel()

    def holonomic(t, q, args):
        x = placed(q, args)
        wanted = lengths * jnp.where(of_rods == 1, args[7], args[6])
        return 0.5 * (jnp.sum((x[first] - x[second]) ** 2, 1) - wanted**2)

    system = jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.diag(masses(args)), force, holonomic=holonomic
    )
    args = [0.8, 1.3, 9.81, 0.05, 12.0, 0.9, 1.0, 1.0, 0.0, 0.0]
    return Fresh(
        name, system, lambda args: jnp.diag(masses(args)), points.ravel(),
        np.array(velocities, float).ravel(), np.array(args), t1,
    )  # fmt: skip


def trapeze() -> Fresh:
    """Two points that hang from a ceiling, joined by a bar, and a third below the second."""
    points = [[0.1, -1.0], [1.1, -1.1], [1.6, -1.8]]
    anchors, rods = [[0.0, 0.0], [1.2, 0.0]], [(0, 3), (1, 4), (0, 1), (1, 2)]
    return _net("trapeze", points, anchors, rods, (0, 2), np.zeros((3, 2)), 2.0)


def tetrahedron() -> Fresh:
    """Four masses joined by six rods, thrown while they tumble, on a spring."""
    points = [[0, 0, 0], [1, 0, 0], [0.4, 0.9, 0], [0.5, 0.3, 0.8]]
    velocities = np.cross([1.0, -2.0, 3.0], points) + [0.5, 0, 2.0]
    rods = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    return _net("tetrahedron", points, [[0.2, 0.1, 1.5]], rods, (3, 4), velocities, 1.5)


def rope() -> Fresh:
    """Six masses of a rope in space between two fixed points."""
    s = np.linspace(0, 1, 8)
    line = np.stack([2.0 * s, 0.3 * np.sin(np.pi * s), -1.5 * np.sin(np.pi * s)], 1)
    rods = [(6, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 7)]
    return _net("rope", line[1:7], line[[0, 7]], rods, (2, 6), np.zeros((6, 3)), 1.0)


def viviani() -> Fresh:
    """A bead on the curve in which a cylinder cuts a sphere.

    Parameters: mass (kg), gravity (m/s^2), drag (N s/m), radius of the sphere, of the cylinder, its
    axis (m), a spring (N/m, m), a wind (N).
    """

    def force(t, q, v, args):
        mass, gravity, drag, *_ = args
        weight = jnp.array([0.0, 0.0, -1.0]) * mass * gravity
        wind = jnp.array([1.0, 0.0, 0.0]) * args[8] * jnp.sin(args[9] * t)
        return weight - drag * v - args[6] * (1 - args[7]) * q + wind

    def holonomic(t, q, args):
        sphere = 0.5 * (jnp.sum(q**2) - args[3] ** 2)
        cylinder = 0.5 * ((q[0] - args[5]) ** 2 + q[1] ** 2 - args[4] ** 2)
        return jnp.stack([sphere, cylinder])

    def mass(args):
        return args[0] * jnp.eye(3)

    system = jaxspark.MechanicalSystem(lambda t, q, args: mass(args), force, holonomic=holonomic)
    angle = 0.6
    y = [0.5 + 0.45 * np.cos(angle), 0.45 * np.sin(angle), 0.4]
    args = [0.3, 9.81, 0.02, 1.0, 0.45, 0.5, 2.0, 0.1, 0.4, 3.0]
    return Fresh("viviani", system, mass, np.array(y), np.array([0, 1.0, 1.0]), np.array(args), 3.0)
