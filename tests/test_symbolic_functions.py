"""Expressions of SymPy as functions of JAX, in both precisions, and what is refused."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from sympy.physics import mechanics as me

from jaxspark import symbolic
from jaxspark.symbolic._program import Program
from sympy_mechanisms import disc, string, T


x, y = sp.symbols("x y", real=True)
EXPRESSIONS = [
    sp.Piecewise((x**2, x > 1), (sp.pi * y / 3, True)),
    sp.Piecewise((1, x > 0), (0, True)) * y,
    sp.Piecewise((x, sp.And(x > 0, y < 2)), (y, sp.Or(x < -1, sp.Ne(y, 3))), (2, True)),
    sp.Abs(x) * sp.sign(y),
    sp.sign(-x),
    sp.Heaviside(x) + sp.Heaviside(-y, 1),
    sp.atan2(y, -x),
    sp.Min(x, y, sp.Rational(1, 2)),
    sp.Max(x, y, 0),
    sp.sqrt(x) / y**2,
    1 / x,
    x**-3,
    x ** sp.Rational(-3, 2) * y**x,
    sp.Float("0.1", 40) * x + 10**12 * y,
    sp.E * x + sp.log(y, 10) + sp.exp(-x) + sp.EulerGamma + sp.GoldenRatio,
    sp.sec(x) + sp.cot(y) + sp.csc(x),
    sp.asin(x / 2) + sp.acos(x / 2) ** 2 + sp.atan(x) + sp.tan(x),
    sp.sinh(x) + sp.cosh(y) + sp.tanh(x) + sp.asinh(x) + sp.acosh(y + 1) + sp.atanh(x / 2),
    sp.erf(x) + sp.erfc(y) + sp.gamma(x) + sp.loggamma(y) + sp.digamma(x),
    sp.floor(5 * x) + sp.ceiling(5 * y) + sp.Mod(7 * x, 2),
    sp.sinc(x) + sp.cbrt(x) + sp.root(y, 5),
    sp.Integer(3),
    sp.Integer(0),
    (sp.Matrix([[x, 1], [2, y]]).inv() * sp.Matrix([x, y]))[0] + sp.Matrix([[x, y], [y, 2]]).det(),
]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_values_are_those_of_sympy(dtype):
    program = Program([x, y], {"all": EXPRESSIONS})
    point = (0.625, 0.8125)  # the same numbers in both precisions
    values = [jnp.asarray(value, dtype) for value in point]
    (found,) = jax.jit(lambda *values: program(values, dtype))(*values)
    assert found.dtype == dtype
    expected = np.array([float(e.subs({x: point[0], y: point[1]}).evalf(30)) for e in EXPRESSIONS])
    wrong = np.abs(np.asarray(found, float) - expected) / (1 + np.abs(expected))
    assert np.max(wrong) <= 8 * np.finfo(dtype).eps


def test_derivatives_are_finite_at_zero():
    """Powers of integers, also negative ones, at numbers that are not positive."""
    program = Program([x, y], {"all": [x**2 * y + x**3, y**-2, sp.Abs(x)]})
    point = [jnp.asarray(0.0), jnp.asarray(-2.0)]
    slopes = jax.jacfwd(lambda values: program(values, float)[0])(point)
    assert np.array_equal(np.asarray(slopes[1]), [0.0, 0.25, 0.0])
    assert np.all(np.isfinite(np.asarray(slopes[0])))


def test_matrices_keep_their_shapes():
    parts = {"M": sp.Matrix([[x]]), "C": sp.zeros(0, 2), "v": [x, y], "w": []}
    program = Program([x, y], parts)
    found = program([jnp.asarray(1.0), jnp.asarray(2.0)], float)
    assert [part.shape for part in found] == [(1, 1), (0, 2), (2,), (0,)]


q1, q2 = me.dynamicsymbols("q1 q2")
m = sp.Symbol("m")
L = m * (q1.diff(T) ** 2 + q2.diff(T) ** 2) / 2


def lagrangian(L=L, q=(q1, q2), **options):
    return symbolic.from_lagrangian(L, q, **({"parameters": {m: 1.0}} | options))


def kane(**options):
    N, P = me.ReferenceFrame("N"), me.Point("P")
    u1, ua = me.dynamicsymbols("u1 ua")
    P.set_vel(N, u1 * N.x)
    given = {"kd_eqs": [q1.diff(T) - u1], "bodies": [me.Particle("p", P, m)]} | options
    if options.get("u_auxiliary"):
        given["u_auxiliary"] = [ua]
    return symbolic.from_kanes_method(
        me.KanesMethod(N, q_ind=[q1], u_ind=[u1], **given), parameters={m: 1.0}
    )


F = sp.Function("F")
ONE = lambda t, y, z, args: 1.0
REFUSED = [
    (lambda: lagrangian(q=()), "needs coordinates; there are none"),
    (lambda: lagrangian(q=(m,)), "Coordinate m must be a function of the time alone"),
    (lambda: lagrangian(q=(q1, m)), "Coordinate m must be a function of the time t"),
    (lambda: lagrangian(q=(q1, F(m))), r"Coordinate F\(m\) must be a function of the time t"),
    (lambda: lagrangian(q=(q1, q2, q1)), r"need different names; \['q1'\] do not"),
    (lambda: lagrangian(inputs={"q1": ONE}), r"\['q1'\] do not"),
    (lambda: lagrangian(sp.Matrix([L])), "lagrangian must be one expression"),
    (lambda: lagrangian(L, (q1,)), r"lagrangian has .*'q2\(t\)'.* none of the coordinates"),
    (lambda: lagrangian(L + q1.diff(T, 2)), "lagrangian has .*Derivative"),
    (lambda: lagrangian(L + F(q1)), r"lagrangian has \['F\(q1\(t\)\)'\]"),
    (lambda: lagrangian(parameters={}), r"parameters has no values of \['m'\]"),
    (lambda: lagrangian(parameters={"m": np.nan}), "Parameter 'm' must be a finite number"),
    (lambda: lagrangian(parameters={"m": [1.0, 2.0]}), "Parameter 'm' must be a finite number"),
    (lambda: lagrangian(parameters={"m": "1 kg"}), "Parameter 'm' must be a finite number"),
    (
        lambda: lagrangian(
            L + sp.MatrixSymbol("J", 2, 2)[0, 1] * q1, parameters={"m": 1.0, "J": 3.0}
        ),
        r"Parameter 'J' must be a matrix of finite numbers, \(2, 2\)",
    ),
    (
        lambda: lagrangian(L - sp.Symbol("m", positive=True) * q1),
        "different symbols of the name 'm'",
    ),
    (lambda: lagrangian(holonomic=[q1 * q2.diff(T)]), r"holonomic\[0\] has velocities"),
    (lambda: lagrangian(holonomic=[m - 1]), r"holonomic\[0\] has no coordinates"),
    (lambda: lagrangian(nonholonomic=[q1 - q2]), r"nonholonomic\[0\] has no velocities"),
    (lambda: lagrangian(forces=[1]), "one expression for each of the 2 coordinates; got 1"),
    (lambda: lagrangian(forces={m: 1}), r"forces has \['m'\], which are none of the coord"),
    (lambda: lagrangian(holonomic=[q1 - F(T)], inputs={F(T): ONE}), r"\['F'\] occur in the constr"),
    (lambda: lagrangian(L + F(T) * q1.diff(T), inputs={F(T): ONE}), "occur in the momenta"),
    (lambda: lagrangian(forces=[F(T), 0], inputs={F(T): 1.0}), "Input 'F' must be a function"),
    (lambda: lagrangian(L + sp.besselj(0, q1)), "JAX has nothing that computes besselj, in the f"),
    (lambda: lagrangian(forces=[sp.DiracDelta(q1), 0]), "nothing that computes DiracDelta, in the"),
    (lambda: lagrangian(L + sp.floor(q1 * q1.diff(T))), "nothing that computes (Derivative|Subs)"),
    (lambda: lagrangian(L * sp.IndexedBase("a")[0], parameters={"m": 1, "a": 1}), "s Indexed, in"),
    (lambda: lagrangian(L * sp.I), "the imaginary unit, in the"),
    (
        lambda: lagrangian(L + sp.Integral(sp.sin(m * q1**2 * sp.Symbol("s") ** 3), ("s", 0, q2))),
        "nothing that computes Integral",
    ),
    (lambda: symbolic.from_lagranges_method(L), "must be a LagrangesMethod of SymPy; got"),
    (lambda: symbolic.from_kanes_method(string()[0]), "must be a KanesMethod of SymPy; got Lagr"),
    (lambda: kane(u_auxiliary=True), r"auxiliary speeds \['ua\(t\)'\] are for reactions"),
    (lambda: kane(kd_eqs=None), "no kinematic differential equations"),
    (lambda: kane(bodies=None), "The KanesMethod has no bodies"),
    (lambda: lagrangian().state({"q3": 1.0}), r"q3 is none of the coordinates \['q1', 'q2'\]"),
    (lambda: lagrangian().state({}, {"q1''": 1.0}), "none of the velocities"),
    (lambda: lagrangian().state({q1: np.inf}), r"q1\(t\) must be a finite number; got inf"),
    (
        lambda: lagrangian(holonomic=[q1**2 + q2**2 - 1]).state({q1: 2.0}),
        "No state near the guess satisfies the constraints",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_parameters_that_are_missing_are_named():
    mechanism = lagrangian()
    with pytest.raises(ValueError, match=r"args has no \['m'\]; there are \['mass'\]"):
        mechanism.system.p(0.0, jnp.zeros(2), jnp.zeros(2), {"mass": 1.0})


def test_inputs_that_are_no_numbers_are_named():
    many = {"F": lambda t, y, z, args: y}
    mechanism = lagrangian(forces={q1: F(T)}, inputs=many)
    with pytest.raises(ValueError, match=r"Input 'F' must be a number; its .* shape \(2,\)"):
        mechanism.system.f(0.0, jnp.zeros(2), jnp.zeros(2), mechanism.parameters)


def test_inputs_by_name_have_any_assumptions():
    force = me.dynamicsymbols("force", real=True)
    mechanism = lagrangian(forces={"q1": 2 * force}, inputs={"force": ONE})
    found = mechanism.system.f(0.0, jnp.zeros(2), jnp.zeros(2), mechanism.parameters)
    assert np.array_equal(np.asarray(found), [2.0, 0.0])


def test_absolute_values_and_steps_are_differentiated():
    """On the left of a roof `q2 = -|q1|`, with drag by a sign, it is a slope."""
    roof = dict(parameters={m: 2.0}, forces={q1: -sp.sign(q1.diff(T)), q2: -sp.Max(q1, 1.0)})
    there = (jnp.array([-1.0, -1.0]), jnp.array([0.5, 0.5]))
    find = lambda g: lagrangian(holonomic=[g], **roof).system.accelerations(
        jnp.zeros(()), *there, jnp.ones(()), {"m": 2.0}
    )
    for one, other in zip(find(q2 + sp.Abs(q1)), find(q2 - q1)):
        assert np.array_equal(np.asarray(one), np.asarray(other))


def test_sympy_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ModuleNotFoundError, match=r"jaxspark\[symbolic\]"):
        symbolic.from_lagrangian(L, [q1])


def test_velocity_constraints_beyond_those_of_the_loops_are_kept():
    """All of a disc's without its height; and with values for which there is no configuration."""
    method, values = disc()
    full = symbolic.from_kanes_method(method, parameters=values | {"r": 0.7})
    assert "1 holonomic, 2 nonholonomic" in repr(full)
