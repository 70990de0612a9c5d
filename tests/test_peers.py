"""Equations reduced by hand for the benchmarks are those of the mechanisms with constraints."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import peers
from benchmarks._result import Result
from benchmarks.peers import _fourbar
from benchmarks.peers._reduced import REDUCED
from benchmarks.speed import MEASURED


PARAMETERS = _fourbar.NOMINAL * np.array([1.1, 0.9, 1.05, 0.95, 1.1, 1.2])


def _mechanism(name):
    kinds = {kind.name: kind for kind in (peers.Pendulum, peers.HeavyTop, peers.Sleigh)}
    return peers.FourBar(PARAMETERS) if name == "fourbar" else kinds[name]()


def _reduced(name):
    """A state off the start, the field and the way back, of lists of scalars."""
    if name == "fourbar":
        field = lambda x: _fourbar.reduced(jnp, x, PARAMETERS)
        return jnp.array([0.7, -1.3]), field, lambda x: _fourbar.expand(jnp, x)
    start, field, expand = REDUCED[name]
    state = jnp.asarray(start) + 0.1 * jnp.cos(1.0 + jnp.arange(start.size, dtype=float))
    if name == "heavytop":
        state = state.at[:4].divide(jnp.linalg.norm(state[:4]))
    return state, field, expand


def _derivatives(system, q, v, args=None):
    """Those of coordinates and velocities."""
    return jax.jit(lambda q, v: jaxspark.underlying_ode(system)(0.0, (q, v), args))(q, v)


@pytest.mark.parametrize("name", ["pendulum", "heavytop", "sleigh", "fourbar"])
def test_reduced_equation(name):
    """Along it coordinates and velocities change as the constrained equations say."""
    x, field, expand = _reduced(name)

    def states(x):
        q, v = expand(list(x))
        return jnp.concatenate([jnp.stack(q), jnp.stack(v)])

    full, rate = jax.jit(lambda x: jax.jvp(states, (x,), (jnp.stack(field(list(x))),)))(x)
    nq = _mechanism(name).nq
    expected = _derivatives(peers.constrained_system(_mechanism(name)), full[:nq], full[nq:])
    np.testing.assert_allclose(rate, jnp.concatenate(expected), rtol=1e-11, atol=1e-11)
    assert peers.end_residual(_mechanism(name), np.asarray(full)) < 1e-13


def test_system_of_the_four_bar_takes_parameters():
    """Its accelerations are those of the mechanism made of the same parameters."""
    q, v = peers.four_bar_state(jnp.array([0.7, -1.3]))
    given = _derivatives(peers.four_bar(), q, v, jnp.asarray(PARAMETERS))
    own = _derivatives(peers.constrained_system(peers.FourBar(PARAMETERS)), q, v)
    np.testing.assert_allclose(given[1], own[1], rtol=1e-12)
    other = _derivatives(peers.four_bar(), q, v, jnp.asarray(_fourbar.NOMINAL))
    assert np.max(np.abs(other[1] - own[1])) > 0.1


def test_end_residual_sees_velocities_and_blades():
    """A state that violates a constraint on the velocities alone has their residual."""
    assert np.isclose(peers.end_residual(peers.Pendulum(), np.array([1.0, 0, 0.25, 3])), 0.25)
    assert np.isclose(peers.end_residual(peers.Sleigh(), np.array([2.0, 1, 0, 5, -0.5, 1])), 0.5)


@pytest.mark.parametrize(
    "plugin, setting, error", [("gauss", 1 / 100, 1e-7), ("gauss", 1 / 50, 3e-5)]
)
def test_collocation_reaches_its_error(plugin, setting, error):
    """On the pendulum, at the same numbers of elements as when it was measured."""
    pytest.importorskip("casadi")
    pendulum = peers.Pendulum()
    solver = peers.CasADi(pendulum, plugin)
    assert peers.end_error(pendulum, solver.read(solver.run(setting)()).end) < error


def test_bodies_of_mujoco_are_the_linkage():
    """With a soft constraint the loop's motion is that of the reduced equation to 1e-3."""
    pytest.importorskip("mujoco")
    crank = jnp.array([0.9, 0.3])
    q, v = peers.four_bar_state(crank)
    models = [(peers.four_bar_model(PARAMETERS), np.asarray(q), np.asarray(v))]
    end = peers.Rollouts(models, 1.0, 1e-3)()
    lanes = peers.reduced_lanes(
        lambda x, p: _fourbar.reduced(jnp, x, p), lambda x, p: _fourbar.expand(jnp, x), 1.0, 1e-8
    )
    expected = jax.jit(lanes)(crank[None], jnp.asarray(PARAMETERS)[None])
    np.testing.assert_allclose(end, expected, atol=1e-3)


def _batch(solver, seconds, error):
    return Result("batch", "8 pendulums", solver, "", seconds, error, 0.0, {"rate": 8 / seconds})


def test_only_accurate_runs_count():
    """A fast run that misses the error does not reach a target, and is no rival."""
    _, judge = MEASURED["batch"]
    results = [
        _batch("jaxspark, fast", 1e-6, 1e-7),
        _batch("jaxspark, slow", 1e-3, 1e-9),
        _batch("other", 1e-5, 1e-6),
    ]
    rate, _, other = judge(results)
    assert rate.measured == "8000" and not rate.ok
    assert other.measured == "not reached, 1.0e-06"
