"""The estimate of a step's error: exact for smooth motions, sound for kinks, jumps and rolling."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
from numpy.polynomial.legendre import Legendre, legval

import jaxspark
from helpers import order
from jaxspark import Gauss, Lobatto, RadauIIA
from jaxspark._adaptive._estimate._decay import decay_rate, double_factorials
from jaxspark._adaptive._estimate._expansion import error_constant, expansion
from jaxspark.diffrax import ConstrainedTerm, DiffraxSolver


METHODS = [Gauss(1), Gauss(2), Gauss(4), RadauIIA(2), RadauIIA(3), Lobatto(2), Lobatto(3)]
ALL = [Gauss(2), Gauss(3), Gauss(4), RadauIIA(2), RadauIIA(3), Lobatto(3), Lobatto(4)]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_expansion_of_polynomials(method):
    """The coefficients of accelerations that are a polynomial of the highest degree told."""
    tableau = method.tableau
    known = expansion(tableau)
    a = np.random.default_rng(0).normal(size=known.degree)
    x = 2 * np.asarray(tableau.c) - 1
    stages = tableau.A_hat @ legval(x, a)
    end = tableau.b_hat @ legval(x, a)
    found = known.rows @ np.array([0.0, *stages, end])
    expected = [*a, legval(-1.0, a), legval(1.0, a)]
    assert np.max(np.abs(found - expected)) <= 1e-12


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_error_constant_of_gauss(stages):
    """That of the diagonal Pade approximations: Hairer & Wanner, IV.3."""
    factorial = math.factorial
    exact = factorial(stages) ** 2 / (factorial(2 * stages) * factorial(2 * stages + 1))
    assert abs(error_constant(Gauss(stages).tableau) / exact - 1) <= 1e-6


@pytest.mark.parametrize("zeta", [0.03, 0.1, 0.5])
@pytest.mark.parametrize("top", [3, 4, 5])
def test_rate_of_an_oscillation(zeta, top):
    """`zeta = omega h / 2`, from its Legendre coefficients, in every phase."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for phase in np.linspace(0.0, np.pi, 9):
        motion = np.cos(zeta * nodes + phase)
        coefficients = [
            abs((2 * k + 1) / 2 * np.sum(weights * motion * Legendre.basis(k)(nodes)))
            for k in range(top - 3, top + 1)
        ]
        squares = (double_factorials(top, 4) * np.asarray(coefficients)) ** 2
        assert abs(float(decay_rate(jnp.asarray(squares), top)) / zeta - 1) <= 0.1


OSCILLATOR = jaxspark.ConstrainedSystem(lambda t, y, z, frequency: -(frequency**2) * y)
JUMP = jaxspark.ConstrainedSystem(lambda t, y, z, at: jnp.where(t > at, 1.0, 0.0)[None])


def one_step(system, method, t, state, h, args=None, memory=None, jump=False):
    solver, term = DiffraxSolver(method), ConstrainedTerm(system)
    t, h = jnp.asarray(t), jnp.asarray(h)
    if memory is None:
        memory = solver.init(term, t, t + h, state, args)
    state, error, _, memory, _ = solver.step(term, t, t + h, state, args, memory, jump)
    return state, error, memory


def estimated(method, phase, h, frequency=1.0, steps=3):
    """The estimate at the last of a few steps."""
    state = (jnp.sin(phase)[None], frequency * jnp.cos(phase)[None])
    error = memory = None
    for i in range(steps):
        state, error, memory = one_step(
            OSCILLATOR, method, i * h, state, h, jnp.asarray(frequency), memory
        )
    return float(jnp.hypot(error[0][0], error[1][0] / frequency))


@pytest.mark.parametrize("method", [Gauss(2), Gauss(3), Gauss(4), Lobatto(3), Lobatto(4)], ids=str)
def test_of_an_oscillator(method):
    """So many radians of `C (omega h)^p`, in every phase."""
    h, p = 0.2, method.tableau.order
    exact = {4: 40, 6: 25, 8: 10}[p] * error_constant(method.tableau) * h**p
    for phase in np.linspace(0.0, np.pi, 7):
        assert 0.5 <= estimated(method, jnp.asarray(phase), h) / exact <= 2.5


@pytest.mark.parametrize("method", [Gauss(1), Gauss(3), RadauIIA(2)], ids=str)
def test_order(method):
    hs = np.array([0.2, 0.1, 0.05])
    errors = [estimated(method, jnp.asarray(0.7), h, steps=4) for h in hs]
    assert abs(order(hs, errors) - method.tableau.order) <= 0.35


def test_units_do_not_matter():
    """Time in other units, and backward: the same steps, the same estimate."""
    a = estimated(Gauss(3), jnp.asarray(0.7), 0.2)
    b = estimated(Gauss(3), jnp.asarray(0.7), 0.2 / 50.0, frequency=50.0)
    assert abs(a - b) <= 1e-8 * a
    c = estimated(Gauss(3), jnp.asarray(-0.7), -0.2)
    assert abs(a - c) <= 1e-8 * a


def test_what_constraints_determine_is_no_error():
    """A particle driven along `x`, free along `y`, where it moves at constant velocity."""
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2),
        holonomic=lambda t, q, args: (q[0] - jnp.sin(9.0 * t))[None],
    )
    state = (jnp.zeros(2), jnp.array([9.0, 1.0]))
    _, error, _ = one_step(system, Gauss(3), 0.0, state, 0.1)
    assert max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(error)) <= 1e-12


@pytest.mark.parametrize("method", ALL, ids=str)
def test_no_jump_passes(method):
    """A force that jumps anywhere inside the step: the estimate is as large as the error."""
    h = 0.1
    for place in np.linspace(0.03, 0.97, 12):
        at = jnp.asarray(place * h)
        (_, z), error, _ = one_step(JUMP, method, 0.0, (jnp.zeros(1), jnp.zeros(1)), h, at)
        true = abs(float(z[0] - (h - at)))
        assert float(error[1][0]) >= 0.8 * true
        assert float(error[1][0]) <= 4 * h


BEND = jaxspark.ConstrainedSystem(
    lambda t, y, z, at: (jnp.cos(2 * t) + 0.6 * jnp.maximum(t - at, 0.0))[None]
)


@pytest.mark.parametrize("method", [Gauss(3), Gauss(4), Lobatto(3), Lobatto(4)], ids=str)
def test_no_kink_in_the_middle_passes(method):
    """There every other coefficient of it vanishes, and for Lobatto(4) all defects do."""
    h, at = 0.1, jnp.asarray(0.35)
    state, memory = (jnp.zeros(1), jnp.zeros(1)), None
    for i in range(4):
        before = state
        state, error, memory = one_step(BEND, method, i * h, state, h, at, memory)
    exact = (np.sin(0.8) - np.sin(0.6)) / 2 + 0.3 * 0.05**2
    true = abs(float(state[1][0] - before[1][0]) - exact)
    assert true >= 1e-6
    assert float(error[1][0]) >= 0.8 * true


@pytest.mark.parametrize("method", ALL, ids=str)
def test_after_a_jump_that_is_told(method):
    """What is known of the motion before it does not count."""
    state, before, h = (jnp.ones(1), jnp.zeros(1)), None, 0.1
    slow, fast = jnp.asarray(1.0), jnp.asarray(3.0)
    for i in range(3):
        state, _, before = one_step(OSCILLATOR, method, i * h, state, h, slow, before)
    fresh = one_step(OSCILLATOR, method, 0.3, state, h, fast)[1]
    told = one_step(OSCILLATOR, method, 0.3, state, h, fast, before, jump=True)[1]
    for a, b in zip(fresh, told, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def turntable(rate=2.0, inertia=0.4):
    """A ball of unit mass and radius on a turntable; it moves by the reactions alone."""

    def rolling(t, q, v, args):
        del t, args
        return jnp.array([v[0] - v[3] + rate * q[1], v[1] + v[2] - rate * q[0]])

    return jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v[:2] ** 2) + 0.5 * inertia * jnp.sum(v[2:] ** 2),
        nonholonomic=rolling,
    )


@pytest.mark.parametrize("method", [Gauss(3), Gauss(4), Gauss(5), Lobatto(4)], ids=str)
def test_reactions_alone(method):
    """The ball goes round circles at 2/7 of the turntable's rate (Routh): Gauss takes steps."""
    rate = 2.0
    w = rate * 0.4 / 1.4
    x, v = np.array([0.3, 0.1]), np.array([0.5, 0.2])
    z0 = jnp.array([*v, rate * x[0] - v[1], v[0] + rate * x[1], 0.7])
    y0 = jnp.array([*x, 0.0, 0.0, 0.0])
    steps = []
    for tolerance in (1e-5, 1e-10):
        end = jaxspark.solve(
            turntable(rate), y0, z0, None, method=method, t1=10.0, rtol=tolerance, max_step=np.inf
        )
        turned = v[0] + 1j * v[1]
        exact = x[0] + 1j * x[1] + turned * (np.exp(1j * w * 10) - 1) / (1j * w)
        error = abs(complex(end.y1[0], end.y1[1]) - exact)
        assert error <= 3 * tolerance
        steps.append(int(end.stats.num_steps))
    assert steps[1] >= 1.5 * steps[0]


def stopped(t):
    """Height and velocity of a mass that falls by 1 m on a spring: closed form, until it flies.

    g = 10 m/s^2, omega = 50/s: `y = -d + d cos(w s) - (v/w) sin(w s)`, `d = g / w^2`.
    """
    g, w = 10.0, 50.0
    fall = math.sqrt(2 / g)
    s, d, v = t - fall, g / w**2, g * fall
    y = -d + d * math.cos(w * s) - v / w * math.sin(w * s)
    return y, -d * w * math.sin(w * s) - v * math.cos(w * s)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_an_end_stop(method):
    """A kink where it is hit: the error at the end is within ten tolerances."""
    system = jaxspark.ConstrainedSystem(lambda t, y, z, args: -10.0 - 2500.0 * jnp.minimum(y, 0.0))
    end = math.sqrt(0.2) + 0.05
    exact = stopped(end)

    @jax.jit
    def run(tolerance):
        return jaxspark.solve(
            system, jnp.ones(1), jnp.zeros(1), None, method=method, t1=end, rtol=tolerance,
            max_steps=10_000, throw=False,
        )  # fmt: skip

    for tolerance in (1e-4, 1e-6, 1e-8):
        found = run(tolerance)
        assert bool(found.successful)
        pairs = ((found.y1[0], exact[0]), (found.z1[0], exact[1]))
        worst = max(abs(float(a) - b) / (1 + abs(b)) for a, b in pairs)
        assert worst <= 10 * tolerance


def two_bobs(t, x, push):
    """The rates of `(angle, p2, angular velocity, v2)`, from Newton's laws in numpy."""
    stiffness, damping = 1e4, 500.0
    angle, p2, rate, v2 = x[0], x[1:3], x[3], x[4:]
    sine, cosine = np.sin(angle), np.cos(angle)
    along = p2 - np.array([sine, -cosine])
    tangent = np.array([cosine, sine])
    length = np.linalg.norm(along)
    stretching = along @ (v2 - rate * tangent) / length
    pull = (stiffness * (length - 1) + damping * stretching) * along / length
    weight = np.array([0.0, -9.81])
    total = tangent @ (weight + pull + np.array([push, 0.0]))
    return np.concatenate([[rate], v2, [total], weight - pull / 0.5])


@pytest.mark.parametrize("push", [0.0, 4.0])
def test_rounding_errors_are_no_kinks(push):
    """Stages have rounding errors of `eps y / h`, which a stiff damper multiplies.

    In shorter steps they are as large: there, steps that are made ever shorter come to nothing.
    After a jump, at 0.21 s, all steps are so short at first.
    """

    def rod(t, q, args):
        return 0.5 * (q[:2] @ q[:2] - 1)[None]

    def force(t, q, v, args):
        along = q[2:] - q[:2]
        length = jnp.linalg.norm(along)
        pull = (1e4 * (length - 1) + 500.0 * (along @ (v[2:] - v[:2])) / length) * along / length
        forces = jnp.array([0.0, -9.81, 0.0, -4.905]) + jnp.concatenate([pull, -pull])
        return forces.at[0].add(jnp.where(t >= 0.21, args, 0.0))

    mass = jnp.diag(jnp.array([1.0, 1.0, 0.5, 0.5]))
    system = jaxspark.MechanicalSystem(lambda t, q, args: mass, force, rod)
    angles = np.array([-0.65, -0.5])
    arms = np.stack([np.sin(angles), -np.cos(angles)], 1)
    exact = np.array([angles[0], *arms.sum(0), 0.0, 0.0, 0.0])
    for span, pushed in (((0.0, 0.21), 0.0), ((0.21, 0.4), push)):
        exact = scipy.integrate.solve_ivp(
            two_bobs, span, exact, method="DOP853", rtol=1e-13, atol=1e-14, args=(pushed,)
        ).y[:, -1]
    q = jnp.array([*arms[0], *arms.sum(0)])
    found = jaxspark.solve(
        system, q, jnp.zeros(4), jnp.asarray(push), method=Gauss(5), t1=0.4, rtol=1e-11
    )
    sine, cosine = np.sin(exact[0]), np.cos(exact[0])
    places = np.array([sine, -cosine, *exact[1:3]])
    speeds = np.array([exact[3] * cosine, exact[3] * sine, *exact[4:]])
    assert np.max(np.abs(found.y1 - places)) <= 1e-10
    assert np.max(np.abs(found.z1 - speeds)) <= 1e-10
    assert int(found.stats.num_steps) <= 250


@pytest.mark.parametrize("method", [Gauss(2), Lobatto(3)], ids=str)
def test_rotation_without_forces(method):
    """A particle on a circle, whose acceleration is all normal: steps grow with the order."""
    system = jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.eye(2), lambda t, q, v, args: jnp.zeros(2),
        holonomic=lambda t, q, args: (jnp.sum(q**2) - 1)[None],
    )  # fmt: skip
    q, v = jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])
    end = jaxspark.solve(system, q, v, method=method, t1=5.0, rtol=1e-7)
    assert np.max(np.abs(end.y1 - jnp.array([np.cos(5.0), np.sin(5.0)]))) <= 1e-7
    assert int(end.stats.num_steps) <= 400
