"""Energy, momentum maps and constraint residuals along solutions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.problems import heavy_top
from helpers import (
    arrays,
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_start,
    largest_difference,
    mixed,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
)
from jaxspark import ConstrainedSystem, Gauss, LagrangianSystem, Lobatto, MechanicalSystem, RadauIIA


def spread(x):
    """The largest change from the first value."""
    return float(np.max(np.abs(np.asarray(x) - x[0])))


# Energy.

SPIN, MASS, STIFFNESS = 0.7, 1.3, np.array([2.0, 3.5])


def turntable(t, q, v, args):
    """An oscillator seen from a turntable: its momenta are not its mass times its velocity."""
    inertial = v + args["spin"] * jnp.stack([-q[1], q[0]])
    return 0.5 * MASS * jnp.sum(inertial**2) - 0.5 * jnp.sum(args["stiffness"] * q**2)


@pytest.fixture(scope="module")
def on_the_turntable():
    q, v = arrays([0.8, -0.3], [0.4, 1.1])
    args = {"spin": SPIN, "stiffness": STIFFNESS}
    system = LagrangianSystem(turntable)
    return system, jaxspark.rollout(system, q, v, args, method=Gauss(2), h=0.2, num_steps=20), args


def test_energy_with_gyroscopic_forces(on_the_turntable):
    """Jacobi's integral, which is quadratic here, so that Gauss' method conserves it."""
    system, solution, args = on_the_turntable
    q, v = np.asarray(solution.ys), np.asarray(solution.zs)
    potential = 0.5 * np.sum(STIFFNESS * q**2, 1)
    expected = 0.5 * MASS * np.sum(v**2 - SPIN**2 * q**2, 1) + potential
    energies = jaxspark.diagnostics.energy(system, solution.ts, solution.ys, solution.zs, args)
    assert energies.shape == (21,)
    assert np.max(np.abs(energies - expected)) <= 1e-14
    assert spread(energies) <= 1e-13
    # Neither the energy in the inertial frame is conserved, nor half of p v.
    inertial = v + SPIN * np.stack([-q[:, 1], q[:, 0]], 1)
    for velocity in (inertial, v):
        assert spread(0.5 * MASS * np.sum(inertial * velocity, 1) + potential) > 0.1


def test_energy_that_is_not_quadratic():
    """A relativistic particle: `L_v v - L` is `m c^2 / sqrt(1 - v^2 / c^2)`."""
    system = LagrangianSystem(lambda t, q, v, c: -MASS * c**2 * jnp.sqrt(1 - jnp.sum(v**2) / c**2))
    q, v = arrays([0.0, 0.0], [0.9, -1.2])
    expected = MASS * 2.5**2 / np.sqrt(1 - 2.25 / 2.5**2)
    assert abs(jaxspark.diagnostics.energy(system, 0.0, q, v, 2.5) - expected) <= 1e-14


def matrix(t, q, args):
    diagonal = jnp.stack([1.5 + q["arm"][0] ** 2, 2 + jnp.sin(t)])
    return jnp.diag(diagonal) + jnp.array([[0.0, 0.3], [0.3, 0.0]])


def height(t, q, args):
    return args["g"] * q["arm"][0] ** 2 * q["tip"] + 0.1 * t


def times_mass(t, q, v, args):
    """Momenta `M v` in pieces."""
    flat = jnp.stack([v["arm"][0], v["tip"]])
    momentum = (matrix(t, q, args) * flat[None, :]).sum(1)
    return {"arm": momentum[:1], "tip": momentum[1]}


def twice_kinetic(t, q, v, args):
    momentum = times_mass(t, q, v, args)
    return jnp.vdot(momentum["arm"], v["arm"]) + momentum["tip"] * v["tip"]


no_force = lambda t, q, v, args: jax.tree.map(jnp.zeros_like, v)
FORMS = {
    "mechanical": MechanicalSystem(matrix, no_force),
    "constrained": ConstrainedSystem(no_force, p=times_mass),
    "lagrangian": LagrangianSystem(
        lambda t, q, v, args: twice_kinetic(t, q, v, args) / 2 - height(t, q, args)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_energy_of_three_forms(form):
    """In pieces, by hand, and under every transformation."""
    options = {} if form == "lagrangian" else {"potential": height}
    function = functools.partial(jaxspark.diagnostics.energy, FORMS[form], **options)
    rng = np.random.default_rng(1)
    t, arm, tip, arm_rate, tip_rate = rng.normal(size=(5, 4))
    q, v = {"arm": arm[:, None], "tip": tip}, {"arm": arm_rate[:, None], "tip": tip_rate}
    args = {"g": 9.81}
    first, second = 1.5 + arm**2, 2 + np.sin(t)
    kinetic = 0.5 * (first * arm_rate**2 + second * tip_rate**2) + 0.3 * arm_rate * tip_rate
    expected = kinetic + 9.81 * arm**2 * tip + 0.1 * t

    many = function(t, q, v, args)
    assert many.shape == (4,) and np.max(np.abs(many - expected)) <= 1e-13
    lane = lambda i: jax.tree.map(lambda x: jnp.asarray(x[i]), (t, q, v))
    for i in range(4):
        one = function(*lane(i), args)
        assert one.shape == () and abs(one - many[i]) <= 1e-13
    batch = jax.vmap(lambda t, q, v: function(t, q, v, args))(t, q, v)
    assert np.max(np.abs(batch - many)) <= 1e-14
    assert np.max(np.abs(jax.jit(function)(t, q, v, args) - many)) <= 1e-14

    # dE/dv is the momentum, and dE/dg the height.
    gradient = jax.grad(lambda v, args: function(*lane(0)[:2], v, args), (0, 1))(lane(0)[2], args)
    assert largest_difference(gradient[0], times_mass(*lane(0), args)) <= 1e-14
    assert abs(gradient[1]["g"] - arm[0] ** 2 * tip[0]) <= 1e-14


def test_energy_where_velocities_are_not_rates():
    """A heavy top by Euler parameters and angular velocities."""
    problem = heavy_top()
    args = problem.args
    potential = lambda t, y, args: args["m"] * args["g"] * y[2]
    energy = jaxspark.diagnostics.energy(
        problem.system, 0.0, problem.y0, problem.z0, args, potential=potential
    )
    linear, angular = problem.z0[:3], problem.z0[3:]
    inertia = np.array([args["J1"], args["J2"], args["J3"]])
    kinetic = 0.5 * args["m"] * linear @ linear + 0.5 * np.sum(inertia * angular**2)
    expected = kinetic + args["m"] * args["g"] * problem.y0[2]
    assert abs(energy - expected) <= 1e-14 * abs(expected)


def test_potential_energy_in_words():
    q, v = arrays([0.1, 0.2], [0.3, 0.4])
    system = ConstrainedSystem(lambda t, y, z, args: -y)
    with pytest.raises(ValueError, match="not given by a Lagrangian.* potential.t, y, args."):
        jaxspark.diagnostics.energy(system, 0.0, q, v)
    with pytest.raises(ValueError, match="part of the Lagrangian: leave it out"):
        zero = lambda t, q, args: 0.0
        jaxspark.diagnostics.energy(pendulum(), 0.0, q, v, PENDULUM_ARGS, potential=zero)


# Momentum maps.


def spherical(t, q, v, args):
    """A pendulum with a spring to the vertical axis."""
    return 0.5 * MASS * jnp.sum(v**2) - MASS * 9.81 * q[2] - 2 * jnp.sum(q[:2] ** 2)


def about_the_vertical(t, q, args):
    return jnp.stack([-q[1], q[0], jnp.zeros_like(q[0])])


@pytest.mark.parametrize(
    "method, conserves", [(Gauss(2), True), (Lobatto(3), True), (RadauIIA(2), False)], ids=str
)
def test_angular_momentum_of_a_spherical_pendulum(method, conserves):
    """A quadratic invariant: symplectic methods conserve it to rounding error."""
    system = LagrangianSystem(
        spherical, holonomic=lambda t, q, args: 0.5 * (jnp.sum(q**2, keepdims=True) - 1)
    )
    q, v = arrays([0.6, 0.0, -0.8], [0.8, 1.5, 0.6])
    solution = jaxspark.rollout(system, q, v, method=method, h=0.05, num_steps=40)
    trajectory = solution.ts, solution.ys, solution.zs
    momenta = jaxspark.diagnostics.momentum_map(system, about_the_vertical, *trajectory)
    expected = MASS * np.cross(solution.ys, solution.zs)[:, 2]
    assert np.max(np.abs(momenta - expected)) <= 1e-14
    assert abs(momenta[0] - MASS * 0.6 * 1.5) <= 1e-14
    assert spread(momenta) <= 1e-14 if conserves else spread(momenta) > 1e-5
    # Gravity changes the others.
    tilted = lambda t, q, args: jnp.stack([jnp.zeros_like(q[0]), -q[2], q[1]])
    assert spread(jaxspark.diagnostics.momentum_map(system, tilted, *trajectory)) > 0.5


def test_linear_momentum_of_a_dumbbell():
    """In pieces; the horizontal momentum stays, the vertical one falls with the weight."""
    masses = {"a": 1.2, "b": 0.5}

    def lagrangian(t, q, v, args):
        terms = [m * (0.5 * jnp.sum(v[i] ** 2) - 9.81 * q[i][1]) for i, m in masses.items()]
        return terms[0] + terms[1]

    rod = lambda t, q, args: {"rod": 0.5 * (jnp.sum((q["a"] - q["b"]) ** 2) - 1)}
    system = LagrangianSystem(lagrangian, holonomic=rod)
    q = {"a": jnp.array([0.0, 0.0]), "b": jnp.array([0.6, 0.8])}
    v = {"a": jnp.array([0.3, -0.2]), "b": jnp.array([1.1, -0.8])}
    solution = jaxspark.rollout(system, q, v, method=Gauss(1), h=0.05, num_steps=20)
    along = lambda direction: jaxspark.diagnostics.momentum_map(
        system,
        lambda t, q, direction: {"a": direction, "b": direction},
        solution.ts, solution.ys, solution.zs, jnp.asarray(direction),
    )  # fmt: skip
    falling = -(1.2 * 0.2 + 0.5 * 0.8) - 1.7 * 9.81 * np.asarray(solution.ts)
    assert np.max(np.abs(along([1.0, 0.0]) - (1.2 * 0.3 + 0.5 * 1.1))) <= 1e-14
    assert np.max(np.abs(along([0.0, 1.0]) - falling)) <= 1e-13


def test_momentum_of_a_nonholonomic_system():
    """Along a symmetry of a skate it changes at the rate `-(k_z generator) psi`."""

    @jax.jit
    def run(args):
        solution = jaxspark.rollout(
            knife_edge(), *arrays(*knife_edge_start()), args, method=Gauss(3),
            h=0.02, num_steps=6, multipliers=True, throw=False,
        )  # fmt: skip
        return solution.ts, solution.ys, solution.zs, solution.multipliers.psi[:, 0]

    across = lambda t, q, args: jnp.array([0.0, 1.0, 0.0])
    about = lambda t, q, args: jnp.stack([1 - q[1], q[0] - 2, jnp.ones_like(q[0])])
    turn = lambda t, q, args: jnp.array([0.0, 0.0, 1.0])
    stencil = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * 0.02)
    # On a slope, and on a plane: there the constraint is invariant, too, and yet it changes.
    level = KNIFE_EDGE_ARGS | {"slope": 0.0}
    for args, generator in ((KNIFE_EDGE_ARGS, across), (level, about)):
        t, q, v, psi = run(args)
        momenta = jaxspark.diagnostics.momentum_map(knife_edge(), generator, t, q, v, args)
        angle = q[3, 2]
        k_z = np.array([np.sin(angle), -np.cos(angle), 0.0])
        rate = -(k_z @ generator(t[3], q[3], args)) * psi[3]
        assert abs(rate) > 0.5
        assert abs(stencil @ momenta - rate) <= 1e-9 * abs(rate)
        # This one satisfies the constraint.
        assert spread(jaxspark.diagnostics.momentum_map(knife_edge(), turn, t, q, v, args)) <= 1e-14


def test_momentum_is_differentiable(on_the_turntable):
    """Of a system whose momenta depend on a parameter: `p = m (v + spin (-y, x))`."""
    system, _, args = on_the_turntable
    q, v = arrays([0.8, -0.3], [0.4, 1.1])
    rotation = lambda t, q, args: jnp.stack([-q[1], q[0]])

    def momentum(spin):
        return jaxspark.diagnostics.momentum_map(system, rotation, 0.0, q, v, args | {"spin": spin})

    value, slope = jax.jit(jax.value_and_grad(momentum))(SPIN)
    square = 0.8**2 + 0.3**2
    assert abs(value - MASS * (0.8 * 1.1 + 0.3 * 0.4 + SPIN * square)) <= 1e-14
    assert abs(slope - MASS * square) <= 1e-14


@pytest.mark.parametrize(
    "value", [np.zeros(3), np.zeros((1, 2)), 1.0, [1.0, 0.0], {"x": np.zeros(2)}], ids=repr
)
def test_generator_of_another_structure(value):
    with pytest.raises(ValueError, match="generator must return the structure and shapes of z"):
        jaxspark.diagnostics.momentum_map(
            pendulum(), lambda t, q, args: value, 0.0, *pendulum_start(), PENDULUM_ARGS
        )


# Vectors of times.


def test_constraint_residuals_of_many_states():
    problem = mixed()
    rng = np.random.default_rng(2)
    t = np.linspace(0.0, 1.0, 5)
    y, z = (x + 0.1 * rng.normal(size=(5, 4)) for x in (problem.y0, problem.z0))
    many = jaxspark.diagnostics.constraint_residuals(problem.system, t, y, z, problem.args)
    for name in ("g", "gdot", "k"):
        got = np.asarray(getattr(many, name))
        assert got.shape == (5, 1) and np.min(np.abs(got)) > 1e-4
        for i in range(5):
            one = jaxspark.diagnostics.constraint_residuals(
                problem.system, t[i], y[i], z[i], problem.args
            )
            assert np.max(np.abs(got[i] - getattr(one, name))) <= 1e-15


@pytest.mark.parametrize("name", ["energy", "momentum_map", "constraint_residuals"])
def test_rows_that_do_not_match(name):
    function = {
        "energy": jaxspark.diagnostics.energy,
        "momentum_map": lambda s, *rest: jaxspark.diagnostics.momentum_map(
            s, lambda t, q, a: q, *rest
        ),
        "constraint_residuals": jaxspark.diagnostics.constraint_residuals,
    }[name]
    three, two = np.ones((3, 2)), np.ones((2, 2))
    for y, z, shape in ((two, three, "2, 2"), (three, two, "2, 2"), (three, 1.0, "")):
        with pytest.raises(ValueError, match=rf"t has 3 times, .* rows; got .* \({shape}\)"):
            function(pendulum(), np.zeros(3), y, z, PENDULUM_ARGS)
    with pytest.raises(ValueError, match=r"a time or a vector of times; its shape is \(3, 1\)"):
        function(pendulum(), np.zeros((3, 1)), three, three, PENDULUM_ARGS)
