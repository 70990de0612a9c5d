"""Methods as solvers of diffrax: with its controllers, adjoints, saved times and dense output."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, mixed, pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import DOP853, Gauss, GGL, RadauIIA, Tsit5
from jaxspark._kkt import check_linear_solver
from jaxspark._solve import integrator_of
from jaxspark.diffrax import ConstrainedTerm, DiffraxSolver


TIMES = np.linspace(0.0, 2.0, 9)
KINDS = {"SPARK": Gauss(3), "explicit": DOP853(), "stiff": GGL(RadauIIA(3))}


def control(tolerance, method=None):
    gains = {"pcoeff": 0.0, "icoeff": 1.0} if isinstance(method, GGL) else {}
    return diffrax.PIDController(rtol=tolerance, atol=tolerance, **gains)


def run(method, tolerance=1e-9, t0=0.0, t1=2.0, start=None, **options):
    problem = mixed()
    return diffrax.diffeqsolve(
        ConstrainedTerm(problem.system), DiffraxSolver(method, rtol=tolerance, atol=tolerance),
        t0, t1, None, (problem.y0, problem.z0) if start is None else start, problem.args,
        stepsize_controller=control(tolerance, method), **options,
    )  # fmt: skip


def last(solution):
    return jax.tree.map(lambda x: x[-1], solution.ys)


def residual(state, t=2.0):
    problem = mixed()
    found = jaxspark.diagnostics.constraint_residuals(problem.system, t, *state, problem.args)
    return max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(found))


@pytest.fixture(scope="module")
def exact():
    problem = mixed()
    solution = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=Gauss(5), t1=2.0,
        num_steps=400, save_every=None,
    )  # fmt: skip
    return solution.y1, solution.z1


@pytest.mark.parametrize("method", KINDS.values(), ids=KINDS)
def test_on_the_constraints_and_accurate(method, exact):
    end = last(run(method, 1e-6 if isinstance(method, GGL) else 1e-9))
    assert residual(end) <= 1e-13
    assert max(float(np.max(np.abs(a - b))) for a, b in zip(end, exact)) <= 1e-5


def test_backward_in_time(exact):
    problem = mixed()
    solution = run(DOP853(), t0=2.0, t1=0.0, start=tuple(map(jnp.asarray, exact)))
    end = last(solution)
    assert np.max(np.abs(end[0] - problem.y0)) <= 1e-6 and residual(end, 0.0) <= 1e-13


@pytest.mark.parametrize("method", [Tsit5(), Gauss(2)], ids=["explicit", "SPARK"])
def test_between_steps(method):
    saveat = diffrax.SaveAt(ts=jnp.array([0.7, 1.3]), dense=True)
    solution, ended = run(method, saveat=saveat), run(method, t1=1.3)
    for saved, dense, end in zip(solution.ys, solution.evaluate(1.3), last(ended), strict=True):
        assert np.max(np.abs(saved[1] - end)) <= 1e-7
        # The same polynomial by two programs, whose sums round differently.
        assert np.max(np.abs(saved[1] - dense)) <= 1e-15
    assert residual(solution.evaluate(1.3), 1.3) <= 1e-13
    assert np.max(np.abs(solution.derivative(1.3)[0] - last(ended)[1])) <= 1e-4


def test_both_drivers_agree():
    problem = mixed()
    fixed = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=Gauss(2), h=0.0625,
        num_steps=32,
    )  # fmt: skip
    driven = diffrax.diffeqsolve(
        ConstrainedTerm(problem.system), DiffraxSolver(Gauss(2)),
        0.0, 2.0, 0.0625, (problem.y0, problem.z0), problem.args,
        saveat=diffrax.SaveAt(t0=True, steps=True), max_steps=32,
    )  # fmt: skip
    assert largest_difference(driven.ys[0], fixed.ys) <= 1e-13
    assert largest_difference(driven.ys[1], fixed.zs) <= 1e-13


def test_parts_of_diffrax_work_together():
    problem = mixed()
    start = (problem.y0, problem.z0)
    term, solver = ConstrainedTerm(problem.system), DiffraxSolver(Gauss(3))
    controller = diffrax.ClipStepSizeController(
        diffrax.PIDController(rtol=1e-8, atol=1e-8), step_ts=TIMES[1:-1]
    )

    def save(t, state, args):
        return jaxspark.multipliers(problem.system, t, *state, args).lam

    subs = [
        diffrax.SubSaveAt(ts=TIMES, fn=save), diffrax.SubSaveAt(t1=True)
    ]  # fmt: skip
    first = diffrax.diffeqsolve(
        term, solver, 0.0, 1.0, None, start, problem.args, stepsize_controller=controller,
        saveat=diffrax.SaveAt(t1=True, solver_state=True, controller_state=True),
        progress_meter=diffrax.TextProgressMeter(),
    )  # fmt: skip
    end = jax.tree.map(lambda x: x[-1], first.ys)
    second = diffrax.diffeqsolve(
        term, solver, 1.0, 2.0, None, end, problem.args, stepsize_controller=controller,
        solver_state=first.solver_state, controller_state=first.controller_state,
    )  # fmt: skip
    whole = diffrax.diffeqsolve(
        term, solver, 0.0, 2.0, None, start, problem.args, stepsize_controller=controller,
        saveat=diffrax.SaveAt(subs=subs),
    )  # fmt: skip
    lam, ends = whole.ys
    assert np.max(np.abs(second.ys[0] - ends[0])) <= 1e-6
    expected = jaxspark.solve(
        problem.system, *start, problem.args, method=Gauss(3), t1=2.0, rtol=1e-9, ts=TIMES,
        multipliers=True,
    )  # fmt: skip
    assert np.max(np.abs(lam - expected.multipliers.lam)) <= 1e-5


@pytest.mark.parametrize("name", ["Bosh3", "Dopri5", "Tsit5", "Dopri8"])
def test_coefficients_are_those_of_diffrax(name):
    method, table = getattr(jaxspark.methods, name)(), getattr(diffrax, name).tableau
    assert method.order == getattr(diffrax, name)().order(None)
    assert [len(row) for row in table.a_lower][: method.stages - 1] == list(range(1, method.stages))
    for row, known in zip(method.A[1:], table.a_lower, strict=False):
        np.testing.assert_array_equal(row[: len(known)], known)
    # What ours leave out has no weight.
    kept = method.stages
    assert not np.any(table.b_sol[kept:]) and not np.any(table.b_error[kept:])
    np.testing.assert_array_equal(method.b, table.b_sol[:kept])
    np.testing.assert_allclose(method.c[1:], table.c[: kept - 1], rtol=0, atol=1e-14)
    K = jnp.asarray(np.random.default_rng(0).normal(size=(kept, 2)))
    estimate = method.estimate(0.1, K[0], K[1], K)
    safety = 18 if method.order <= 5 else 3
    np.testing.assert_allclose(estimate, 0.1 * safety * table.b_error[:kept] @ K, rtol=1e-13)


def swing(gravity, method, adjoint, saveat=None):
    """The end of a pendulum's swing, or what is saved; gravity is in the forces alone."""
    y0, z0 = map(jnp.asarray, pendulum_start(1.0))
    return diffrax.diffeqsolve(
        ConstrainedTerm(pendulum()), DiffraxSolver(method, rtol=1e-9, atol=1e-9), 0.0, 0.5, None,
        (y0, gravity / 9.81 * z0), {**PENDULUM_ARGS, "g": gravity},
        stepsize_controller=control(1e-8, method), adjoint=adjoint,
        saveat=diffrax.SaveAt(t1=True) if saveat is None else saveat, max_steps=256,
    ).ys[0][-1, 0]  # fmt: skip


@pytest.mark.parametrize("method", KINDS.values(), ids=KINDS)
def test_derivatives(method):
    def exact(gravity):
        y0, z0 = map(jnp.asarray, pendulum_start(1.0))
        args = {**PENDULUM_ARGS, "g": gravity}
        return jaxspark.rollout(
            pendulum(), y0, gravity / 9.81 * z0, args, method=Gauss(4), t1=0.5, num_steps=50,
            save_every=None, throw=False,
        ).y1[0]  # fmt: skip

    close = 1e-5 if isinstance(method, GGL) else 1e-7
    slopes = jax.jit(jax.jacfwd(exact))
    slope, bend = slopes(9.81), (slopes(9.811) - slopes(9.809)) / 2e-3
    recursive = lambda g: swing(g, method, diffrax.RecursiveCheckpointAdjoint())
    direct = lambda g: swing(g, method, diffrax.DirectAdjoint())
    forward = jax.jit(jax.jacfwd(direct))(9.81)
    assert abs(forward - slope) <= close
    assert abs(jax.jit(jax.grad(recursive))(9.81) - forward) <= 1e-10
    assert abs(jax.jit(jax.jacfwd(jax.jacfwd(direct)))(9.81) - bend) <= 100 * close


def test_derivatives_between_steps():
    """Of saved states, which end shorter steps, next to those that end steps of their own."""
    saved = lambda g: swing(
        g, Gauss(2), diffrax.RecursiveCheckpointAdjoint(), diffrax.SaveAt(ts=[0.2, 0.43])
    )

    def ended(gravity):
        y0, z0 = map(jnp.asarray, pendulum_start(1.0))
        return jaxspark.solve(
            pendulum(), y0, gravity / 9.81 * z0, {**PENDULUM_ARGS, "g": gravity}, method=Gauss(4),
            t1=0.43, rtol=1e-11, throw=False, max_steps=256,
        ).y1[0]  # fmt: skip

    found, expected = (jax.jit(jax.grad(f))(9.81) for f in (saved, ended))
    assert abs(found - expected) <= 1e-6


def test_a_batch_is_a_loop():
    def end(gravity):
        return swing(gravity, Gauss(2), diffrax.RecursiveCheckpointAdjoint())

    several = jnp.array([8.0, 9.81, 12.0])
    value = jax.value_and_grad(end)
    batch = jax.jit(jax.vmap(value))(several)
    single = [jax.jit(value)(g) for g in several]
    np.testing.assert_allclose(batch, np.array(single).T, rtol=0, atol=1e-11)


def test_bad_input():
    with pytest.raises(TypeError, match="steps of known sizes"):
        DiffraxSolver(jaxspark.Composition(jaxspark.Lobatto(2), 4))
    with pytest.raises(TypeError, match=r"such as Gauss\(3\) or DOP853\(\); got 'x'"):
        integrator_of("x", None, None, True)
    with pytest.raises(TypeError, match="linear_solver must be"):
        check_linear_solver("foo")
    with pytest.raises(ValueError, match="solves no equations"):
        DiffraxSolver(DOP853(), predict=False)
    with pytest.raises(ValueError, match="Newton iteration of its own"):
        DiffraxSolver(GGL(RadauIIA(2)), newton=jaxspark.NewtonOptions())
