"""Bars in the plane: linkages of one degree of freedom, a whip, and a yoke."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ._mechanism import Fresh


def _linkage(name, points, bodies, ground, speed, t1, gravity=9.81) -> Fresh:
    """Rigid bodies in the plane that share points; coordinates are `(x, y, angle)` of each.

    Parameters: masses of even and odd bodies (kg), their radii of gyration by their lengths,
    gravity (m/s^2), drag (N s/m), a torque on the first body (N m) and its damping (N m s),
    stiffness (N m) of a spring on the last body, size of all bodies by that at the start.

    - `points`: positions by name (m); `bodies`: names of the points of each, two at least, of which
        the first two are a bar; `ground`: names of those that are held.
    - `speed`: of the first body (rad/s).
    """
    n, points = len(bodies), {key: np.array(value, float) for key, value in points.items()}
    centres = np.array([(points[b[0]] + points[b[1]]) / 2 for b in bodies])
    bars = np.array([points[b[1]] - points[b[0]] for b in bodies])
    angles, lengths = np.arctan2(bars[:, 1], bars[:, 0]), np.linalg.norm(bars, axis=1)
    odd = np.arange(n) % 2

    def local(body, point):
        c, s = np.cos(angles[body]), np.sin(angles[body])
        return np.array([[c, s], [-s, c]]) @ (points[point] - centres[body])

    pairs = []
    for point in points:
        of = [(i, local(i, point)) for i, body in enumerate(bodies) if point in body]
        if point in ground:
            pairs += [(i, x, -1, points[point]) for i, x in of]
        else:
            pairs += [(*of[0], *other) for other in of[1:]]
    a, at_a, b, at_b = (np.array(x) for x in zip(*pairs))
    held = b == -1

    def masses(args):
        m = jnp.where(odd == 1, args[1], args[0])
        inertia = m * (jnp.where(odd == 1, args[3], args[2]) * lengths) ** 2
        return jnp.stack([m, m, inertia], 1).ravel()

    def where(q, body, at, size):
        x = q.reshape(n, 3)[body]
        c, s = jnp.cos(x[:, 2]), jnp.sin(x[:, 2])
        turned = jnp.stack([c * at[:, 0] - s * at[:, 1], s * at[:, 0] + c * at[:, 1]], 1)
        return x[:, :2] + size * turned

    def force(t, q, v, args):
        weight = -masses(args).reshape(n, 3)[:, 0] * args[4]
        rates, last = v.reshape(n, 3), q[3 * n - 1] - angles[n - 1]
        first = np.eye(n)[0] * (args[6] - args[7] * rates[0, 2]) - np.eye(n)[n - 1] * args[8] * last
        push = jnp.stack([0 * weight, weight, first], 1)
        return (push - args[5] * rates * np.array([1.0, 1.0, 0.1])).ravel()

    def holonomic(t, q, args):
        there = jnp.where(held[:, None], at_b, where(q, np.where(held, 0, b), at_b, args[9]))
        return (where(q, a, at_a, args[9]) - there).ravel()

    system = jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.diag(masses(args)), force, holonomic=holonomic
    )
    y = np.concatenate([centres, angles[:, None]], 1).ravel()
    z = np.zeros(3 * n)
    z[2] = speed
    args = [1.0, 1.5, 0.32, 0.29, gravity, 0.1, 1.0, 0.2, 0.5, 1.0]
    return Fresh(name, system, lambda args: jnp.diag(masses(args)), y, z, np.array(args), t1)


def watt() -> Fresh:
    """A six-bar linkage: a four-bar whose coupler drives two more bars."""
    points = {
        "O1": [0, 0], "A": [0.15, 0.35], "B": [1.2, 0.9], "O2": [1.3, 0.0], "C": [0.6, 1.3],
        "D": [1.7, 1.7], "O3": [2.2, 0.4],
    }  # fmt: skip
    bodies = [["O1", "A"], ["A", "B", "C"], ["B", "O2"], ["C", "D"], ["D", "O3"]]
    return _linkage("watt", points, bodies, ("O1", "O2", "O3"), 1.0, 1.5)


def peaucellier() -> Fresh:
    """Seven bars that guide a point on a straight line."""
    long, short, turn = 1.5, 0.7, 0.3
    centre, radius = np.array([0.45, 0.0]), 0.45
    c = centre + radius * np.array([np.cos(turn), np.sin(turn)])
    out = c / np.linalg.norm(c)
    along = (np.linalg.norm(c) ** 2 + long**2 - short**2) / (2 * np.linalg.norm(c))
    across = np.sqrt(long**2 - along**2) * np.array([-out[1], out[0]])
    points = {
        "O": [0, 0], "P": centre, "A": along * out + across, "B": along * out - across, "C": c,
        "D": 2 * along * out - c,
    }  # fmt: skip
    bodies = [["P", "C"], ["O", "A"], ["O", "B"], ["A", "C"], ["C", "B"], ["B", "D"], ["D", "A"]]
    return _linkage("peaucellier", points, bodies, ("O", "P"), 0.5, 1.0, gravity=2.0)


def whip() -> Fresh:
    """Four bars in a row that fall from the side."""
    names = ["O", "A", "B", "C", "D"]
    points = {name: [0.5 * i, 0.1 * i * i / 4] for i, name in enumerate(names)}
    return _linkage("whip", points, [list(x) for x in zip(names, names[1:])], ("O",), 0.0, 1.0)


def yoke() -> Fresh:
    """A Scotch yoke: a crank whose pin slides in a slot, which moves a mass against a spring.

    Coordinates: angle of the crank, position of the pin, of the slot. Parameters: inertia (kg m^2),
    masses of pin and slot (kg), radius (m), torque (N m) and damping (N m s), stiffness (N/m), its
    length (m), drag (N s/m), gravity (m/s^2).
    """

    def mass(args):
        return jnp.diag(jnp.stack([args[0], args[1], args[1], args[2]]))

    def force(t, q, v, args):
        slot = -args[6] * (q[3] - args[7]) - args[8] * v[3]
        return jnp.stack([args[4] - args[5] * v[0], 0 * t, -args[1] * args[9], slot])

    def holonomic(t, q, args):
        x, y = args[3] * jnp.cos(q[0]), args[3] * jnp.sin(q[0])
        return jnp.stack([q[1] - x, q[2] - y, q[3] - q[1]])

    system = jaxspark.MechanicalSystem(lambda t, q, args: mass(args), force, holonomic=holonomic)
    args = [0.02, 0.3, 1.2, 0.2, 0.6, 0.03, 40.0, 0.1, 0.5, 9.81]
    y = [0.4, 0.2 * np.cos(0.4), 0.2 * np.sin(0.4), 0.2 * np.cos(0.4)]
    return Fresh("yoke", system, mass, np.array(y), np.array([4.0, 0, 0, 0]), np.array(args), 2.0)


def arm() -> Fresh:
    """Three links in relative angles whose tip slides on a circle: the mass matrix is not constant.

    Parameters: masses (kg) and lengths (m) of the links, gravity (m/s^2), a torque at the base (N
    m), damping of the joints (N m s), radius of the circle (m).
    """

    def ends(q, args):
        angles = jnp.cumsum(q)
        steps = args[3:6, None] * jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
        return jnp.cumsum(steps, 0) - steps, jnp.cumsum(steps, 0)

    def lagrangian(t, q, v, args):
        (lower, upper), (v_lower, v_upper) = jax.jvp(lambda q: ends(q, args), (q,), (v,))
        # Uniform rods: the energy of both ends and of the middle.
        squares = jnp.sum(v_lower**2 + v_upper**2 + v_lower * v_upper, 1) / 3
        return 0.5 * jnp.sum(args[:3] * squares) - args[6] * jnp.sum(
            args[:3] * (lower[:, 1] + upper[:, 1]) / 2
        )

    def force(t, q, v, args):
        return jnp.array([1.0, 0, 0]) * args[7] - args[8] * v

    def holonomic(t, q, args):
        tip = ends(q, args)[1][2] - jnp.array([1.2, 0.2])
        return 0.5 * (jnp.sum(tip**2, keepdims=True) - args[9] ** 2)

    system = jaxspark.LagrangianSystem(lagrangian, holonomic=holonomic, force=force)
    args = [2.0, 1.5, 1.0, 0.8, 0.7, 0.5, 9.81, 3.0, 0.1, 0.5]
    return Fresh("arm", system, None, np.array([0.9, -0.8, 0.6]), np.zeros(3), np.array(args), 1.0)
