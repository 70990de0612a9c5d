"""Constraints beside joints: rolling, edges, surfaces, distances, prescribed motion, gears."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxspark
from helpers import largest_difference, thorough
from jaxspark import multibody as mb


TIGHT = {"rtol": 1e-11, "atol": 1e-11}
BALL = [mb.Body("ball", 2.0, inertia=(0.1, 0.15, 0.2))]
FREE = [mb.Free("free", "ground", "ball")]
START = {"free": [0.1, 0.2, 0.5, 0.8, 0.5, 0.1, 0.1]}


def rolls(shape, **options):
    return mb.Mechanism(
        BALL, FREE, constraints=[mb.Rolling("rolls", "ground", "ball", shape, **options)],
        guess=START, parameters={"bend": 0.1},
    )  # fmt: skip


def saddle(x, args):
    return x[2] + args["bend"] * x[0] ** 2 - 0.2 * x[0] * x[1]


def egg(x, args):
    return jnp.sum((x / jnp.array([0.3, 0.4, 0.5], x.dtype)) ** 2) + 0.3 * x[2] ** 3 - 1


def mixture():
    """One of each kind that functions give, on two bodies."""
    turn = lambda t, args: jnp.stack([jnp.cos(t), jnp.sin(t), 0.1 * t, t**2])
    return mb.Mechanism(
        [mb.Body("a", 1.0, inertia=0.1), mb.Body("b", 2.0, com=(0.1, 0, 0), inertia=0.2)],
        [mb.Spherical("A", "ground", "a"), mb.Free("B", "ground", "b")],
        constraints=[
            mb.Prescribed("drive", "A", turn),
            mb.Distance("rod", "a", "b", length=1.2, at_first=(0.3, 0.2, 0.1)),
            mb.PointOnSurface("cam", "ground", "b", lambda x, args: x[0] ** 2 + x[1] - x[2] ** 3),
            mb.KnifeEdge("edge", "a", "b", at=(0.1, 0.2, 0.3), across=(1, 1, 0)),
            mb.Nonholonomic(
                "own", ["b"], lambda t, at, V, args: V[0][2, 3] ** 2 * jnp.sin(t) + V[0][0, 1] - 1
            ),
        ],
        guess={"B": START["free"]},
    )  # fmt: skip


SYSTEMS = {
    "disk": lambda: rolls(mb.Disk(0.5)),
    "tyre on a surface": lambda: rolls(mb.Torus(0.5, 0.1, axis=(1, 0.2, 0)), surface=saddle),
    "egg": lambda: rolls(mb.Convex(egg, size=0.4)),
    "egg on a surface": lambda: rolls(mb.Convex(egg, size=0.4), surface=saddle),
    "mixture": mixture,
}
ORDINARY = ("disk", "mixture")


@pytest.mark.parametrize("name", [x if x in ORDINARY else thorough(x) for x in SYSTEMS])
def test_equations_are_derivatives_of_the_functions(name):
    """`C`, `b` and `c` against those that `g` and `k` have by automatic differentiation."""
    mechanism = SYSTEMS[name]()
    system = mechanism.system
    args = mechanism.parameters
    y, z = mechanism.state(t=0.3, args=args)
    rng = np.random.default_rng(0)
    z = z + jnp.asarray(rng.normal(size=z.size))
    u = jnp.asarray(rng.normal(size=z.size))
    t, one = jnp.asarray(0.3), jnp.ones(())

    def b(t, y, z):
        v = system.v(t, y, z, args)
        rates = jax.jvp(lambda t, y: system.g(t, y, args), (t, y), (one, v))[1]
        return jnp.concatenate([rates, system.k(t, y, z, args)])

    @jax.jit
    def differences(on):
        of = system.accelerations(t, y, z, on, args)
        mu = jnp.arange(1.0, of.b.size + 1)
        v = system.v(t, y, z, args)
        c = jax.jvp(lambda t, y: b(t, y, z), (t, y), (one, v))[1]
        forces, change, rate = system.balance(t, y, z, u, mu, on, args)
        found = [of.b - b(t, y, z), of.C - jax.jacfwd(lambda z: b(t, y, z))(z), of.c - on * c]
        found += [forces - (of.M @ u + of.C.T @ mu - of.h), change - (of.C @ u + of.c), rate - of.b]
        return [jnp.max(jnp.abs(x)) for x in found]

    assert float(jnp.max(jnp.abs(system.g(t, y, args)))) <= 1e-15
    for on in (0.0, 1.0):
        assert max(float(x) for x in differences(jnp.asarray(on))) <= 2e-13


def test_a_sphere_rolls_down_a_slope():
    """With 5/7 of the acceleration of one that slides."""
    slope, radius = 0.3, 0.25
    g = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    inertia = 0.4 * 2.0 * radius**2
    mechanism = mb.Mechanism(
        [mb.Body("ball", 2.0, inertia=inertia)], FREE, gravity=g,
        constraints=[mb.Rolling("rolls", "ground", "ball", mb.Sphere(radius))],
        guess={"free": [0, 0, radius, 1, 0, 0, 0]},
    )  # fmt: skip
    y, z = mechanism.state()
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.5, **TIGHT)
    far = 5 / 7 * 9.81 * np.sin(slope) * 1.5**2 / 2
    assert largest_difference(motion.y1[:3], np.array([far, 0, radius])) <= 1e-12
    # The normal force, and the friction that turns the ball.
    of = jaxspark.multipliers(mechanism.system, 1.5, motion.y1, motion.z1, mechanism.parameters)
    force = np.array([*of.lam, *of.psi])
    assert abs(force[0] + 2.0 * 9.81 * np.cos(slope)) <= 1e-11
    assert abs(np.linalg.norm(force[1:]) - 2 / 7 * 2.0 * 9.81 * np.sin(slope)) <= 1e-11


def steady_disk():
    """A disk that rolls in a circle, with the velocities of its steady motion.

    Source: J. I. Neimark & N. A. Fufaev, *Dynamics of Nonholonomic Systems*, chapter II, section 5.
    """
    mass, radius, tilt, turn = 1.3, 0.4, 1.1, 2.0
    A, C = mass * radius**2 / 4, mass * radius**2 / 2
    mechanism = mb.Mechanism(
        [mb.Body("disk", mass, inertia=(A, A, C))], [mb.Free("free", "ground", "disk")],
        constraints=[mb.Rolling("rolls", "ground", "disk", mb.Disk(radius))],
        guess={"free": [0, 0, radius * np.sin(tilt), np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]},
    )  # fmt: skip
    s, c = np.sin(tilt), np.cos(tilt)
    spin = (A * turn**2 * s * c - mass * 9.81 * radius * c) / ((C + mass * radius**2) * turn * s)
    # In the axes of the disk: the vertical is (0, s, c).
    w = [0.0, turn * s, spin]
    return mechanism, {"free": [*center_velocity(tilt, radius, w), *w]}, tilt, turn


def center_velocity(tilt, radius, w):
    """Of a disk whose lowest point, `(0, -radius, 0)` in its axes, is at rest."""
    s, c = np.sin(tilt), np.cos(tilt)
    R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    return R @ np.cross(w, [0, radius, 0])


def test_a_disk_rolls_in_a_circle():
    mechanism, velocities, tilt, turn = steady_disk()
    y, z = mechanism.state({}, velocities)
    period = 2 * np.pi / turn
    motion = jaxspark.solve(
        mechanism.system, y, z, mechanism.parameters, t1=period, ts=jnp.linspace(0, period, 5),
        **TIGHT,
    )  # fmt: skip
    for y_t in motion.ys:
        assert abs(float(mechanism.pose("disk", y_t)[2, 2]) - np.cos(tilt)) <= 1e-10
    assert largest_difference(motion.y1[:3], y[:3]) <= 1e-9
    assert float(motion.stats.max_g) <= 1e-14


def rattleback():
    """Half an ellipsoid, with principal axes of inertia that are not those of the shape."""
    angle, moments = 0.15, np.array([2e-4, 1.6e-3, 1.7e-3])
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    inertia = turn @ np.diag(moments) @ turn.T
    shape = {"mass": 1.0, "inertia": inertia, "semiaxes": np.array([0.2, 0.03, 0.02])}
    mechanism = mb.Mechanism(
        [mb.Body("stone", 1.0, inertia=inertia, com=(0, 0, -0.005))],
        [mb.Free("free", "ground", "stone")],
        constraints=[mb.Rolling("rolls", "ground", "stone", mb.Ellipsoid(shape["semiaxes"]))],
        guess={"free": [0, 0, 0.02, 1, 0, 0, 0]},
    )  # fmt: skip
    return mechanism, shape | {"com": np.array([0, 0, -0.005])}


def by_hand(t, state, shape):
    """Of the vertical and the angular velocity in the axes of the body.

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


def test_a_rattleback_against_equations_by_hand():
    mechanism, shape = rattleback()
    w = np.array([0.01, 0.02, -3.0])
    y, z = mechanism.state({}, {})
    up = np.asarray(mechanism.pose("stone", y))[2, :3]
    guess = mechanism.state({}, {})[1]
    at = mechanism._at["free"][1]
    r = -np.array([0, 0, 0.02])
    velocities = {"free": [*np.cross(w, -r), *w]}
    y, z = mechanism.state({}, velocities)
    assert guess.shape == z.shape and len(at) == 6
    end = 0.7
    motion = jaxspark.solve(
        mechanism.system, y, z, mechanism.parameters, t1=end, max_steps=4000, **TIGHT
    )
    other = scipy.integrate.solve_ivp(
        by_hand, (0, end), [*up, *w], args=(shape,), method="DOP853", rtol=1e-12, atol=1e-12
    ).y[:, -1]
    assert largest_difference(motion.z1[3:], other[3:]) <= 1e-8
    assert largest_difference(mechanism.pose("stone", motion.y1)[2, :3], other[:3]) <= 1e-9
    first, last = (sum(mechanism.energy(*x)) for x in ((y, z), (motion.y1, motion.z1)))
    assert abs(float(first - last)) <= 1e-11


def test_gradients_of_rolling():
    """By the shape, forward, reverse and by differences."""
    mechanism, _ = rattleback()
    y, z = mechanism.state({}, {"free": [0, 0, 0, 0, 0, 0]})
    z = z + jnp.asarray([0.04, 0.0, 0.0, 0.0, 2.0, 0.0])

    def end(semiaxes):
        args = jax.tree.map(lambda x: x, mechanism.parameters)
        args["constraints"]["rolls"]["shape"]["semiaxes"] = semiaxes
        start = jaxspark.project(mechanism.system, 0.0, y, z, args)
        return jaxspark.solve(
            mechanism.system, start.y, start.z, args, t1=0.05, rtol=1e-12, atol=1e-12
        ).y1[4]

    at = jnp.array([0.2, 0.03, 0.02])
    reverse = jax.jit(jax.grad(end))(at)
    forward = jax.jit(jax.jacfwd(end))(at)
    assert largest_difference(reverse, forward) <= 1e-9 * float(jnp.max(jnp.abs(reverse)))
    value, h = jax.jit(end), 1e-5
    for k in range(3):
        step = jnp.zeros(3).at[k].set(h)
        difference = (value(at + step) - value(at - step)) / (2 * h)
        assert abs(float(difference - reverse[k])) <= 1e-5 * float(jnp.max(jnp.abs(reverse)))


def test_a_pendulum_below_a_cart_that_is_driven():
    """Against the equation in the frame of the cart; the multiplier is what the drive lacks."""
    length, mass, cart, rate = 0.8, 1.5, 2.0, 3.0
    mechanism = mb.Mechanism(
        [mb.Body("cart", cart), mb.Body("bob", mass, com=(0, -length, 0))],
        [
            mb.Prismatic("slide", "ground", "cart", axis=(1, 0, 0)),
            mb.Revolute("hinge", "cart", "bob"),
        ],
        constraints=[mb.Prescribed("drive", "slide", lambda t, args: 0.2 * jnp.sin(rate * t))],
        gravity=(0, -9.81, 0),
    )  # fmt: skip
    y, z = mechanism.state({"hinge": 0.3}, {"hinge": 0.0}, t=0.5)
    assert largest_difference(y, np.array([0.2 * np.sin(1.5), 0.3])) <= 1e-15
    assert largest_difference(z, np.array([0.6 * np.cos(1.5), 0.0])) <= 1e-14
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t0=0.5, t1=2.0, **TIGHT)
    driven = lambda t: -0.2 * rate**2 * np.sin(rate * t)
    slope = lambda t, x: [x[1], -(9.81 * np.sin(x[0]) + driven(t) * np.cos(x[0])) / length]
    other = scipy.integrate.solve_ivp(
        slope, (0.5, 2.0), [0.3, 0.0], method="DOP853", rtol=1e-12, atol=1e-12
    ).y[:, -1]
    assert largest_difference(jnp.array([motion.y1[1], motion.z1[1]]), other) <= 1e-9
    bend = slope(2.0, other)[1]
    change = bend * np.cos(other[0]) - other[1] ** 2 * np.sin(other[0])
    of = jaxspark.multipliers(mechanism.system, 2.0, motion.y1, motion.z1, mechanism.parameters)
    force = (cart + mass) * driven(2.0) + mass * length * change
    assert abs(float(of.lam[0]) + force) <= 1e-7
    assert float(motion.stats.max_g) <= 1e-15


def test_a_bead_on_a_circle_is_a_pendulum():
    bead = mb.Mechanism(
        [mb.Body("bead", 0.5, inertia=1e-3)], [mb.Free("free", "ground", "bead")],
        constraints=[
            mb.PointOnSurface(
                "ring", "ground", "bead",
                lambda x, args: jnp.stack([x[0] ** 2 + x[2] ** 2 - 1.0, x[1]]),
            )
        ],
        guess={"free": [0.6, 0, -0.8, 1, 0, 0, 0]}, gravity=(0, 0, -9.81),
    )  # fmt: skip
    args = bead.parameters
    y, z = bead.state({"free": [0.6, 0, -0.8, 1, 0, 0, 0]})
    motion = jaxspark.solve(bead.system, y, z, args, t1=1.0, **TIGHT)
    other = scipy.integrate.solve_ivp(
        lambda t, x: [x[1], -9.81 * np.sin(x[0])], (0, 1), [np.arctan2(0.6, 0.8), 0.0],
        method="DOP853", rtol=1e-12, atol=1e-12,
    ).y[0, -1]  # fmt: skip
    assert largest_difference(motion.y1[:3], np.array([np.sin(other), 0, -np.cos(other)])) <= 1e-9


def test_a_rod_without_mass_has_the_tension_of_what_hangs_on_it():
    mechanism = mb.Mechanism(
        BALL, FREE, constraints=[mb.Distance("rod", "ground", "ball", length=1.5)],
        guess={"free": [0, 0, -1.5, 1, 0, 0, 0]},
    )  # fmt: skip
    y, z = mechanism.state({}, {"free": [2.0, 0, 0, 0, 0, 0]})
    of = jaxspark.multipliers(mechanism.system, 0.0, y, z, mechanism.parameters)
    assert abs(float(of.lam[0]) - 2.0 * (9.81 + 4.0 / 1.5)) <= 1e-12


def test_a_sleigh_moves_in_a_circle():
    """With its centre of mass at the edge both of its velocities are constant."""
    mechanism = mb.Mechanism(
        [mb.Body("sleigh", 1.2, inertia=0.3)], [mb.Planar("plane", "ground", "sleigh")],
        constraints=[mb.KnifeEdge("edge", "ground", "sleigh")],
    )  # fmt: skip
    y, z = mechanism.state({}, {"plane": [0.9, 0.0, 1.5]})
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=2.0, **TIGHT)
    place = 0.6 * np.array([np.sin(3.0), 1 - np.cos(3.0)])
    assert largest_difference(motion.y1, np.array([*place, 3.0])) <= 1e-11
    with pytest.raises(ValueError, match="edge.*do not allow these velocities"):
        mechanism.state({}, {"plane": [0.9, 0.1, 1.5]})


@pytest.mark.parametrize("kind", ["rack", "gear", "belt"])
def test_gears_racks_and_belts(kind):
    """Of two parts with one drive the acceleration is that of their inertias together."""
    rack = kind == "rack"
    second = (mb.Prismatic if rack else mb.Revolute)("b", "ground", "two", axis=(0, 0, 1))
    coupled = {
        "rack": (mb.RackAndPinion("teeth", "b", "a", radius=0.2), 0.2),
        "gear": (mb.Gear("teeth", "b", "a", ratio=0.25), -0.25),
        "belt": (mb.Belt("teeth", "b", "a", ratio=0.5), 0.5),
    }[kind]
    mechanism = mb.Mechanism(
        [mb.Body("one", 1.0, inertia=0.3), mb.Body("two", 4.0, inertia=0.7)],
        [mb.Revolute("a", "ground", "one"), second],
        constraints=[coupled[0]], gravity=(0, 0, 0),
        forces=[mb.Motor("drive", "a", lambda t, q, z, args: jnp.full_like(q, 2.0))],
    )  # fmt: skip
    y, z = mechanism.state()
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.0)
    ratio = coupled[1]
    turn = 0.5 * 2.0 / (0.3 + (4.0 if rack else 0.7) * ratio**2)
    assert largest_difference(motion.y1, np.array([turn, ratio * turn])) <= 1e-13


def test_a_motor_with_prescribed_velocity():
    mechanism = mb.Mechanism(
        BALL, [mb.Revolute("a", "ground", "ball")],
        constraints=[mb.PrescribedVelocity("speed", "a", lambda t, q, args: 2.0 - q)],
    )  # fmt: skip
    y, z = mechanism.state()
    assert abs(float(z[0]) - 2.0) <= 1e-15
    motion = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.0, **TIGHT)
    assert abs(float(motion.y1[0]) - 2 * (1 - np.exp(-1.0))) <= 1e-11


def test_an_implicit_method_has_the_same_motion():
    """By `p`, `f`, `g` and `k`, where explicit methods have equations of their own."""
    mechanism, velocities, *_ = steady_disk()
    y, z = mechanism.state({}, velocities)
    z = z.at[5].add(0.5)
    z = jaxspark.project(mechanism.system, 0.0, y, z, mechanism.parameters).z
    run = lambda **o: jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=0.2, **o)
    assert (
        largest_difference(
            run(**TIGHT).y1, run(method=jaxspark.methods.Gauss(3), steps=jaxspark.EqualSteps(40)).y1
        )
        <= 1e-9
    )


ERRORS = {
    "bodies of 'h' must be names": lambda: mb.Holonomic("h", "ball", egg),
    "function of 'h' must be a function": lambda: mb.Holonomic("h", ["ball"], 3),
    "length of 'd' must be positive": lambda: mb.Distance("d", "ground", "ball", length=0),
    "ratio of 'g' must not be zero": lambda: mb.Gear("g", "a", "b", ratio=0),
    "radius must be a positive number": lambda: mb.Sphere(-1),
    "semiaxes must be 3 positive numbers": lambda: mb.Ellipsoid((1, 2)),
    "tube must be a number, not negative": lambda: mb.Torus(1, -1),
    "shape of 'r' must be a Sphere": lambda: mb.Rolling("r", "ground", "ball", 3),
    "which is none of the bodies": lambda: made(mb.KnifeEdge("k", "ground", "bal")),
    "has no coordinates": lambda: made(mb.Prescribed("p", "frei", lambda t, args: t)),
    "motion of 'p' gives 1 numbers": lambda: made(mb.Prescribed("p", "free", lambda t, args: t)),
    "velocity of 'p' gives 2 numbers": lambda: made(
        mb.PrescribedVelocity("p", "free", lambda t, q, args: q[:2])
    ),
    "must give a vector": lambda: made(
        mb.Holonomic("h", ["ball"], lambda t, at, args: at[0])
    ),
    "constraints has": lambda: made(FREE[0]),
    "do not close from coordinates near the guess": lambda: rolls(
        mb.Sphere(0.2), surface=lambda x, args: 1 + x[0] ** 2
    ),
}  # fmt: skip


def made(constraint):
    return mb.Mechanism(BALL, FREE, constraints=[constraint])


@pytest.mark.parametrize("words", ERRORS)
def test_errors(words):
    with pytest.raises((ValueError, TypeError), match=words):
        ERRORS[words]()


def test_drives_that_part_later_are_not_averaged():
    """At the start they agree with the gear in places and velocities; later they do not."""
    bodies = [mb.Body(name, 1.0, inertia=0.1) for name in "ab"]
    drive = lambda t, args: 1 - jnp.cos(t)
    mechanism = mb.Mechanism(
        bodies, [mb.Revolute(f"j{x}", "ground", x) for x in "ab"],
        constraints=[
            mb.Gear("g", "ja", "jb", ratio=1),
            *(mb.Prescribed(f"p{x}", f"j{x}", drive) for x in "ab"),
        ],
    )  # fmt: skip
    assert mechanism.loops.count == 3
    y, z = mechanism.state()
    with pytest.raises(jaxspark.SolveError):
        jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.0)


def test_the_ratio_of_a_gear_is_a_parameter():
    mechanism = mb.Mechanism(
        [mb.Body(name, 1.0, inertia=inertia) for name, inertia in (("a", 0.3), ("b", 0.7))],
        [mb.Revolute(f"j{x}", "ground", x) for x in "ab"],
        constraints=[mb.Gear("teeth", "jb", "ja", ratio=0.25)], gravity=(0, 0, 0),
        forces=[mb.Motor("drive", "ja", lambda t, q, z, args: jnp.full_like(q, 2.0))],
    )  # fmt: skip
    y, z = mechanism.state()

    def turned(polynomial):
        args = mechanism.parameters | {"constraints": {"teeth": {"polynomial": polynomial}}}
        of = jaxspark.multipliers(mechanism.system, 0.0, y, z, args)
        return of.zdot[0]

    at = mechanism.parameters["constraints"]["teeth"]["polynomial"]
    slope = jax.grad(turned)(at)[1]
    total = 0.3 + 0.7 * 0.25**2
    assert abs(float(turned(at)) - 2.0 / total) <= 1e-12
    assert abs(float(slope) - 2.0 * 2 * 0.7 * 0.25 / total**2) <= 1e-10


def test_functions_of_any_size_are_kept():
    """A surface whose function is small is no equation that says nothing."""
    mechanism = mb.Mechanism(
        BALL, FREE,
        constraints=[
            mb.PointOnSurface("low", "ground", "ball", lambda x, args: 1e-9 * (x[2] - 0.5)),
            mb.PointOnSurface("side", "ground", "ball", lambda x, args: 1e3 * x[0]),
        ],
        guess=START,
    )  # fmt: skip
    assert mechanism.loops.count == 2
    y, _ = mechanism.state()
    assert abs(float(y[2]) - 0.5) <= 1e-12 and abs(float(y[0])) <= 1e-12


def test_what_is_prescribed_twice_is_not_dropped():
    """The second motion contradicts the first: its row says something, although no coordinate."""
    drives = [
        mb.Prescribed(name, "a", lambda t, args, rate=rate: rate * t)
        for name, rate in (("p", 1.0), ("q", 2.0))
    ]
    mechanism = mb.Mechanism(BALL, [mb.Revolute("a", "ground", "ball")], constraints=drives)
    assert mechanism.loops.count == 2
    with pytest.raises(ValueError, match="do not allow these velocities"):
        mechanism.state()
