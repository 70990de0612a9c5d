"""Certificates of derivatives: what is planted is found, where it begins, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark import MechanicalSystem, solve
from jaxspark.diagnostics import check_gradient


TIMES = np.array([0.5, 1.0, 1.5, 2.0])
ARGS = {"m": 1.3, "g": 9.81, "c": jnp.array([0.1, 0.3]), "name": "rod", "unused": 2.0, "n": 3}


@jax.custom_jvp
def sine(x):
    return jnp.sin(x)


@sine.defjvp
def _(primals, tangents):
    return jnp.sin(primals[0]), 1.1 * jnp.cos(primals[0]) * tangents[0]


@jax.custom_vjp
def identity(x):
    return x


identity.defvjp(lambda x: (x, None), lambda _, change: (2 * change,))
stopped = jax.lax.stop_gradient

# What becomes of the damping, from which time; and the verdict on it.
FAULTS = {
    "none": (lambda t, c: c, ""),
    "stop_gradient": (lambda t, c: stopped(c), "WRONG from t = 0.5 on"),
    "of one entry": (lambda t, c: c.at[1].set(stopped(c[1])), "WRONG from t = 0.5 on"),
    "from 1.2 s on": (lambda t, c: jnp.where(t > 1.2, stopped(c), c), "WRONG from t = 1.5 on"),
    "wrong rule": (lambda t, c: sine(c), "WRONG from t = 0.5 on"),
    "kink": (lambda t, c: c + 0.2 * jnp.abs(c - stopped(c)), "WRONG from t = 0.5 on"),
    "integer": (lambda t, c: jnp.round(100 * c) / 100, "STEPWISE"),
}


def run(args, spoil):
    def force(t, q, v, args):
        c = spoil(t, args["c"])
        return -c * v + jnp.stack([0 * t, -args["m"] * args["g"]])

    system = MechanicalSystem(
        lambda t, q, args: jnp.eye(2) * args["m"],
        force,
        lambda t, q, args: (jnp.sum(q**2, keepdims=True) - 1) / 2,
    )
    return solve(system, jnp.array([1.0, 0.0]), jnp.zeros(2), args, t1=2.0, ts=TIMES)


@pytest.mark.parametrize("fault", FAULTS)
def test_motions(fault):
    spoil, verdict = FAULTS[fault]
    found = check_gradient(lambda args: run(args, spoil), ARGS)
    assert [leaf.name for leaf in found.leaves] == [
        f"args['{x}']" for x in ("c", "g", "m", "unused")
    ]
    by = {leaf.name: leaf for leaf in found.leaves}
    assert by.pop("args['c']").verdict.startswith(verdict)
    assert found.good == (verdict == "")
    assert not any(leaf.verdict for leaf in by.values()) and by["args['unused']"].forward == 0
    assert verdict in repr(found) and ("agree" in repr(found))


def test_values():
    """Derivatives that are known; arrays of results; a rule whose transpose is wrong."""
    found = check_gradient(lambda args: {"a": args[0] ** 3, "b": jnp.sin(args[0])}, [2.0])
    (leaf,) = found.leaves
    assert found.good and leaf.uncertainty < 1e-7 * abs(leaf.forward)
    assert abs(leaf.forward - leaf.differences) <= 10 * leaf.uncertainty + 1e-9
    assert abs(leaf.forward - leaf.reverse) <= 1e-12 * abs(leaf.forward)
    found = check_gradient(lambda args: jnp.stack([args**2, stopped(args) * args]), 3.0)
    assert "WRONG, first of result[1]" in repr(found)
    # A rule for reverse mode alone: by the differences.
    assert "WRONG IN REVERSE" in repr(check_gradient(lambda args: identity(args) ** 2, 3.0))
    # A rule for reverse mode alone, wrong, beside the right one for forward mode.
    solved = lambda x: jax.lax.custom_linear_solve(
        lambda u: 2 * u, x, lambda _, b: b / 2, lambda _, b: b / 3
    )
    assert "FORWARD AND REVERSE DIFFER" in repr(check_gradient(solved, 3.0))
    assert "NOT FINITE" in repr(check_gradient(lambda x: jnp.sqrt(x - 3) + x, 3.0))


@pytest.mark.parametrize("at", [1.0, 1.0 + 1e-6, 1.3])
def test_no_false_alarms_near_zero(at):
    """Residuals that vanish, losses at their optimum, small beside large results, low precision."""
    x = jnp.linspace(0, 1, 50)
    run = lambda a: {
        "zero": a["x"] ** 2 - 1,
        "loss": jnp.sum((jnp.sin(a["x"] * x) - jnp.sin(1.3 * x)) ** 2),
        "large": 1e6 * a["x"] * a["y"].astype(float),
        "small": 1e-9 * a["x"],
    }
    found = check_gradient(run, {"x": at, "y": jnp.float32(2), "no limit": jnp.inf})
    assert found.good, found
    stops = lambda a: {**run(a), "small": 1e-9 * stopped(a["x"])}
    found = check_gradient(stops, {"x": at, "y": jnp.float32(2)})
    assert found.leaves[0].verdict == "WRONG, first of result['small']", found


def test_changed_runs_that_fail():
    """Starts that depend on parameters must be consistent: told with the cure, raised or not."""
    for throw in (True, False):

        def start(q, throw=throw):
            system = MechanicalSystem(
                lambda t, q, args: jnp.eye(2), lambda t, q, v, args: -q,
                lambda t, q, args: (jnp.sum(q**2, keepdims=True) - 1) / 2,
            )  # fmt: skip
            return solve(system, q, jnp.zeros(2), t1=0.1, throw=throw)

        text = repr(check_gradient(start, jnp.array([0.6, 0.8])))
        assert "RUNS WITH CHANGED PARAMETERS FAIL" in text


def test_chaos():
    """An exact gradient that is of no use is told to be."""

    def logistic(x):
        return jax.lax.fori_loop(0, 60, lambda _, x: 3.9 * x * (1 - x), x)

    text = repr(check_gradient(jax.jit(logistic), 0.3))
    assert "results change" in text and ("LITTLE USE" in text or "NOT TO BE TOLD" in text)


def test_failed_runs_and_wrong_input():
    def failing(args):
        system = MechanicalSystem(
            lambda t, q, args: jnp.eye(1) * args, lambda t, q, v, args: -jnp.sin(40 * q)
        )
        return solve(
            system, jnp.ones(1), jnp.zeros(1), args, t1=1.0, max_steps=5, throw=False
        )  # fmt: skip

    found = check_gradient(failing, 1.0)
    assert not found.good and "The run failed at these parameters" in repr(found)
    with pytest.raises(ValueError, match="no real array in args"):
        check_gradient(lambda args: args, {"n": 3})
    with pytest.raises(ValueError, match="is complex"):
        check_gradient(lambda args: args, {"n": jnp.array(1j)})
    with pytest.raises(ValueError, match="is complex"):
        check_gradient(lambda args: args * jnp.array(1j), 1.0)
    with pytest.raises(ValueError, match="returns no real array"):
        check_gradient(lambda args: 3, 1.0)


def test_a_mass_that_cancels_is_no_alarm():
    """Its derivatives are rounding errors, forward and in reverse, of which no two are alike."""

    def run(args):
        system = MechanicalSystem(
            lambda t, q, args: args["m"] * jnp.eye(2),
            lambda t, q, v, args: args["m"] * jnp.array([0.0, -9.81]),
            holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
        )
        y0 = jnp.array([1.0, 0.0])
        ts = jnp.linspace(0.2, 1.0, 5)
        return solve(system, y0, jnp.zeros(2), args, t1=1.0, ts=ts, throw=False)

    (leaf,) = check_gradient(run, {"m": 1.3}).leaves
    assert leaf.growth < 1e-12 and not leaf.verdict
