"""Constraints beside joints: their equations, edges, surfaces, distances, drives, gears."""

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
