"""Systems from SymPy: accelerations, multipliers and motions against SymPy's and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from sympy.physics import mechanics as me
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

import jaxspark
import sympy_mechanisms
from helpers import (
    KNIFE_EDGE_ARGS,
    knife_edge_reaction,
    knife_edge_start,
    largest_difference,
    thorough,
)
from jaxspark import symbolic
from mechanisms_of_bodies import four_bar
from sympy_mechanisms import BARS, T


def pendulums():
    """Two on a cart, SymPy's own model; its force and torques are inputs."""
    method = n_link_pendulum_on_cart(2, cart_force=True, joint_torques=True)
    values = {"g": 9.81, "m0": 1.0, "m1": 0.7, "m2": 0.5, "l0": 0.4, "l1": 0.6}
    return method, values


def push(t, y, z, args):
    return jnp.sin(t) - args["drag"] * z[0]


INPUTS = {"F": push, "T1": lambda t, y, z, args: 0.3 * y[1], "T2": lambda t, y, z, args: t}
START = {
    "cart": ({"x": 0.2, "angle": 0.5}, {"x": 0.4, "angle": -1.0}),
    "string": ({"x": 0.3}, {"x": 0.4}),
    "skate": ({"x": 0.1, "y": -0.2, "angle": 0.4}, {"x": 0.9, "angle": 1.7}),
    "disc": ({"q1": 0.3, "q2": 0.2, "q3": 0.1}, {"u1": 0.2, "u2": 3.0, "u3": 0.4}),
    "pendulums": ({"q0": 0.2, "q1": 0.5, "q2": 0.1}, {"u0": 0.3, "u1": 1.0, "u2": -2.0}),
    "four_bar": ({"A": 0.5}, {"uA": 8.0}),
}
GUESS = {"string": {"y": -0.7}, "disc": {"z": 0.5}, "four_bar": {"B": 0.1, "D": 1.2}}
TIME = 0.4


def made(name):
    """SymPy's object, the mechanism, and a state at `TIME`."""
    method, values = getattr(sympy_mechanisms, name, pendulums)()
    lagrange = isinstance(method, me.LagrangesMethod)
    make = symbolic.from_lagranges_method if lagrange else symbolic.from_kanes_method
    inputs = INPUTS if name == "pendulums" else {}
    values = values | ({"drag": 0.2} if inputs else {})
    mechanism = make(method, parameters=values, inputs=inputs)
    y, z = mechanism.state(*START[name], guess=GUESS.get(name), t=TIME)
    return method, mechanism, y, z


def of_sympy(method, mechanism, y, z):
    """SymPy's accelerations and, of Lagrange's method, multipliers, with all its eliminations."""
    args = mechanism.parameters
    if isinstance(method, me.LagrangesMethod):
        method.form_lagranges_equations()
    else:
        method.kanes_equations(method.bodies, method.loads)
    values = {T: TIME} | dict(zip(method.q, map(float, y))) | dict(zip(method.u, map(float, z)))
    for x in method.forcing_full.atoms(sp.core.function.AppliedUndef):
        name = x.func.__name__
        if name in INPUTS:
            values[x] = float(INPUTS[name](TIME, y, z, args))
    matrices = [method.mass_matrix_full, method.forcing_full]
    symbols = {x for of in matrices for x in of.free_symbols} - {T}
    values |= {x: args[x.name] for x in symbols}
    M, h = (np.array(of.xreplace(values).evalf(), float) for of in matrices)
    solution = np.linalg.solve(M, h[:, 0])[len(method.q) :]
    # Its `rhs` has multipliers with the other sign than its `eom`.
    return solution[: len(method.u)], -solution[len(method.u) :]


def ours(mechanism, y, z):
    """Accelerations and multipliers by momenta and constraints, and by equations for both."""
    found = jaxspark.multipliers(mechanism.system, TIME, y, z, mechanism.parameters)
    t, one = jnp.asarray(TIME), jnp.ones(())
    of = mechanism.system.accelerations(t, y, z, one, mechanism.parameters)
    m = of.C.shape[0]
    matrix = np.block([[of.M, of.C.T], [of.C, np.zeros((m, m))]])
    direct = np.linalg.solve(matrix, np.concatenate([of.h, -of.c]))
    empty = jnp.zeros(0)
    parts = [x for x in (found.lam, found.psi) if x is not None]
    mu = np.concatenate([empty, *parts])
    assert np.max(np.abs(direct[: z.size] - found.zdot)) <= 1e-10 * np.max(np.abs(direct))
    assert np.max(np.abs(direct[z.size :] - mu), initial=0) <= 1e-10 * np.max(np.abs(direct))
    missing, held, b = mechanism.system.balance(
        t, y, z, found.zdot, jnp.asarray(mu), one, mechanism.parameters
    )
    assert np.max(np.abs([*missing, *held, *b])) <= 1e-10 * np.max(np.abs(direct))
    return np.asarray(found.zdot), mu


@pytest.mark.parametrize("name", [thorough(x) if x in ("skate", "four_bar") else x for x in START])
def test_accelerations_are_those_of_sympy(name):
    """Which solves for dependent speeds first, or has constraints on accelerations."""
    method, mechanism, y, z = made(name)
    u, mu = ours(mechanism, y, z)
    expected, multipliers = of_sympy(method, mechanism, y, z)
    assert np.max(np.abs(u - expected)) <= 1e-10 * np.max(np.abs(expected))
    if len(multipliers):
        assert np.max(np.abs(mu - multipliers)) <= 1e-10 * np.max(np.abs(multipliers))
        there = {q: float(x) for q, x in zip([*method.q, *method.u], [*y, *z])}
        there |= {sp.Symbol(name): value for name, value in mechanism.parameters.items()}
        solved = method.solve_multipliers(op_point=there | {T: TIME}, sol_type="Matrix")
        assert np.max(np.abs(mu - np.array(solved, float)[:, 0])) <= 1e-10 * np.max(np.abs(mu))


@pytest.mark.parametrize("axes", ["disc", thorough("ground")])
def test_a_rolling_disc(axes):
    """SymPy's closed form of it in three speeds, in its pages on Kane's method."""
    method, values = sympy_mechanisms.disc(axes)
    mechanism = symbolic.from_kanes_method(method, parameters=values)
    assert "1 holonomic, 2 nonholonomic" in repr(mechanism)
    y, z = mechanism.state(*START["disc"], guess={"z": 0.5})
    q2, r, g, (u1, u2, u3) = float(y[1]), values["r"], values["g"], np.asarray(z[:3])
    expected = [
        (4 * g * np.sin(q2) + 6 * r * u2 * u3 - r * u3**2 * np.tan(q2)) / (5 * r),
        -2 * u1 * u3 / 3,
        u1 * (-2 * u2 + u3 * np.tan(q2)),
    ]
    assert np.max(np.abs(ours(mechanism, y, z)[0][:3] - expected)) <= 1e-12
    options = {"t1": 1.0, "rtol": 1e-10, "atol": 1e-10}
    end = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, **options)
    assert float(end.stats.max_g) <= 1e-14 and float(end.stats.max_k) <= 1e-13

    def energy(y, z):
        speed = z[3:] @ z[3:] + 0.25**2 * (z[0] ** 2 + 2 * z[1] ** 2 + z[2] ** 2)
        return 0.5 * values["m"] * speed + values["m"] * g * y[5]

    assert abs(energy(end.y1, end.z1) / energy(y, z) - 1) <= 1e-8


def lagrangian_of_four_bar():
    A, B, D = me.dynamicsymbols("A B D")
    g = sp.Symbol("g")
    point = lambda angle: sp.Matrix([sp.cos(angle), sp.sin(angle)])
    joint = BARS["crank"][1] * point(A)
    starts = {"crank": (sp.zeros(2, 1), A), "coupler": (joint, A + B)}
    starts["rocker"] = (sp.Matrix([1, 0]), D)
    L, ends = 0, {}
    for name, (start, angle) in starts.items():
        mass, length = BARS[name]
        centre = start + length * point(angle) / 2
        ends[name] = start + length * point(angle)
        L += mass * centre.diff(T).dot(centre.diff(T)) / 2 - mass * g * centre[1]
        L += mass * length**2 / 12 * angle.diff(T) ** 2 / 2
    closed = list(ends["coupler"] - ends["rocker"])
    return symbolic.from_lagrangian(L, [A, B, D], holonomic=closed, parameters={g: 9.81})


@pytest.mark.parametrize("kind", ["lagrange", thorough("kane")])
def test_a_four_bar_is_that_of_bodies(kind):
    bodies = four_bar()
    mechanism = lagrangian_of_four_bar() if kind == "lagrange" else made("four_bar")[1]
    assert mechanism.system.k is None
    rates = {"A": 8.0} if kind == "lagrange" else {"uA": 8.0}
    y, z = mechanism.state({"A": 0.5}, rates, guess=GUESS["four_bar"])
    y2, z2 = bodies.state({"A": 0.5}, {"A": 8.0})
    assert abs(y[0] - bodies.coordinates(y2)["A"][0]) <= 1e-13
    assert abs(z[2] - bodies.velocities(z2)["D"][0]) <= 1e-12
    options = {"t1": 1.0, "rtol": 1e-10, "atol": 1e-10}
    end = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, **options)
    other = jaxspark.solve(bodies.system, y2, z2, bodies.parameters, **options)
    for name, value in mechanism.coordinates(end.y1).items():
        assert abs(value - bodies.coordinates(other.y1)[name][0]) <= 1e-8
    assert float(end.stats.max_g) <= 1e-14


def test_a_knife_edge():
    _, mechanism, _, _ = made("skate")
    y, z = map(jnp.asarray, knife_edge_start())
    _, psi = ours(mechanism, y, z)
    assert abs(psi[0] - knife_edge_reaction(y, z, KNIFE_EDGE_ARGS)) <= 1e-12


def test_momenta_that_are_not_linear_in_velocities():
    """A relativistic particle under a constant force: its momentum grows evenly."""
    x = me.dynamicsymbols("x")
    m, c, force = sp.symbols("m c force")
    L = -m * c**2 * sp.sqrt(1 - x.diff(T) ** 2 / c**2) + force * x
    args = {"m": 1.0, "c": 2.0, "force": 3.0}
    mechanism = symbolic.from_lagrangian(L, [x], parameters=args)
    end = jaxspark.solve(mechanism.system, *mechanism.state(), args, t1=1.0, rtol=1e-10)
    assert abs(end.z1[0] - 3 / np.sqrt(1 + 9 / 4)) <= 1e-9
    assert abs(end.y1[0] - 4 / 3 * (np.sqrt(1 + 9 / 4) - 1)) <= 1e-9


def test_constraints_that_are_not_linear_in_velocities():
    """A particle at constant speed, by Chetaev's rule: `m a = F - 2 psi v` and `v a = 0`."""
    x, y = me.dynamicsymbols("x y")
    speed = x.diff(T) ** 2 + y.diff(T) ** 2
    L = 1.5 * speed - 3 * 9.81 * y
    mechanism = symbolic.from_lagrangian(L, [x, y], nonholonomic=[sp.Eq(speed, 4)])
    q, v = jnp.array([0.0, 1.0]), 2 * jnp.array([0.6, -0.8])
    force = np.array([0, -3 * 9.81])
    a, psi = ours(mechanism, q, v)
    assert abs(psi[0] - force @ v / (2 * 4)) <= 1e-12
    assert np.max(np.abs(a - (force - 2 * psi[0] * v) / 3)) <= 1e-12


def test_matrices_are_parameters():
    a, b = me.dynamicsymbols("a b")
    J = sp.MatrixSymbol("J", 2, 2)
    w = sp.Matrix([a.diff(T), b.diff(T) * sp.cos(a)])
    L = (w.T * J.as_explicit() * w)[0] / 2 - sp.Symbol("k") * a**2 / 2
    args = {J: [[2.0, 0.3], [0.3, 1.0]], "k": 4.0}
    mechanism = symbolic.from_lagrangian(L, [a, b], parameters=args)
    assert mechanism.parameters["J"].shape == (2, 2)
    y, z = mechanism.state({a: 0.4}, {b.diff(T): 1.5})
    entries = {name: value for name, value in zip("pqrs", [2.0, 0.3, 0.3, 1.0])}
    flat = (w.T * sp.Matrix(2, 2, sp.symbols("p q r s")) * w)[0] / 2 - 4 * a**2 / 2
    other = symbolic.from_lagrangian(flat, [a, b], parameters=entries)
    assert np.max(np.abs(ours(mechanism, y, z)[0] - ours(other, y, z)[0])) <= 1e-14


@pytest.mark.parametrize("name", ["string", thorough("disc")])
def test_gradients(name):
    """By two parameters, with the start on the constraints: forward, reverse and differences."""
    _, mechanism, y, z = made(name)
    names = {"string": ("g", "l"), "disc": ("g", "r")}[name]
    marked = np.arange(y.size) < len(START[name][0])  # what is held comes first

    def end(values):
        args = mechanism.parameters | dict(zip(names, values))
        start = jaxspark.project(mechanism.system, TIME, y, z, args, hold_y=marked, hold_z=marked)
        options = {"t0": TIME, "t1": TIME + 0.5, "rtol": 1e-9, "atol": 1e-9}
        found = jaxspark.solve(mechanism.system, start.y, start.z, args, **options)
        return found.y1[1] + found.z1[0]

    point = jnp.asarray([mechanism.parameters[name] for name in names])
    reverse = jax.jit(jax.grad(end))(point)
    forward = jax.jit(jax.jacfwd(end))(point)
    assert largest_difference(reverse, forward) <= 1e-11
    value, h = jax.jit(end), 1e-4 * jnp.eye(2)
    for k in (0, 1):
        difference = (value(point + h[k]) - value(point - h[k])) / 2e-4
        assert abs(difference - reverse[k]) <= 1e-5 * abs(reverse[k])


def test_single_precision():
    _, mechanism, y, z = made("skate")
    options = {"t1": 0.5, "rtol": 1e-5}
    double = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, **options).y1
    with jax.enable_x64(False):
        y, z = (jnp.asarray(np.asarray(x), jnp.float32) for x in (y, z))
        _, made_so, *_ = made("skate")
        single = jaxspark.solve(made_so.system, y, z, made_so.parameters, **options)
        assert single.y1.dtype == jnp.float32
        single = np.asarray(single.y1)
    assert np.max(np.abs(single - np.asarray(double))) <= 1e-4


@pytest.mark.parametrize("name", [thorough("string")])
def test_batches(name):
    _, mechanism, y, z = made(name)
    lengths = jnp.array([0.8, 0.9])

    def end(length):
        args = mechanism.parameters | {"l": length}
        start = jaxspark.project(mechanism.system, TIME, y, z, args)
        options = {"t0": TIME, "t1": 0.9, "rtol": 1e-9}
        return jaxspark.solve(mechanism.system, start.y, start.z, args, **options).y1

    batch = jax.jit(jax.vmap(end))(lengths)
    assert np.max(np.abs(np.asarray(batch[1]) - np.asarray(end(lengths[1])))) <= 1e-10


@pytest.mark.parametrize("name", [thorough("string"), thorough("disc"), thorough("four_bar")])
def test_implicit_methods_agree(name):
    _, mechanism, y, z = made(name)
    options = {"t0": TIME, "t1": TIME + 0.5, "rtol": 1e-10, "atol": 1e-10}
    ends = [
        jaxspark.solve(mechanism.system, y, z, mechanism.parameters, method=method, **options).y1
        for method in (jaxspark.DOP853(), jaxspark.Gauss(3))
    ]
    assert largest_difference(*ends) <= 1e-8


def test_a_mechanism_is_the_same_made_anew():
    """Digests of chunks and fits know it again."""
    make = symbolic.from_lagranges_method
    kinds = (sympy_mechanisms.cart, sympy_mechanisms.cart, sympy_mechanisms.string)
    made_of = [make(method, parameters=values) for method, values in (kind() for kind in kinds)]
    one, two, other = (repr(mechanism.system.functions) for mechanism in made_of)
    assert one == two != other
