"""A method chosen by the first steps, and solutions in words."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import EqualSteps, Gauss


def swing(method=None, **options):
    start = (*pendulum_start(), PENDULUM_ARGS)
    return jaxspark.solve(pendulum(), *start, method=method, **{"t1": 1.0, **options})


def with_friction():
    return jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.eye(2), lambda t, q, v, args: -q,
        holonomic=lambda t, q, args: q[:1], friction=lambda t, q, v, lam, args: -0.1 * lam[0] * v,
    )  # fmt: skip


def falling(force, t1=10.0, start=1.0, **options):
    """A coordinate and its force."""
    system = jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.eye(1), lambda t, q, v, args: force(t, q, v)
    )
    y0, z0 = jnp.array([start]), jnp.zeros(1)
    return jaxspark.solve(system, y0, z0, t1=t1, method="auto", throw=False, **options)


@pytest.mark.parametrize("stiffness, damping", [(1e6, 2e3), (1e8, 1e3), (1e10, 2e5)])
def test_auto_knows_what_is_stiff(stiffness, damping):
    found = falling(lambda t, q, v: -stiffness * (q - jnp.cos(t)) - damping * v)
    assert found.method.startswith("GGL(method=RadauIIA(stages=3)")
    assert "stability limits" in found.method and bool(found.successful)
    # On the slow motion, to what GGL promises.
    slow = np.cos(10.0) + damping / stiffness * np.sin(10.0)
    assert float(found.y1[0]) == pytest.approx(slow, abs=1e-4)


def test_auto_resolves_what_moves():
    """Fast oscillations that are larger than the tolerance are no stiffness."""
    found = falling(lambda t, q, v: -1e6 * q, t1=10.0, max_steps=20_000)
    assert found.method.startswith("DOP853(): about") and "accuracy asks for" in found.method
    assert float(found.y1[0]) == pytest.approx(np.cos(1e4), abs=1e-2)
    # GGL needs an absolute tolerance: without one it is not tried.
    relative = falling(lambda t, q, v: -1e6 * q, t1=10.0, rtol=1e-6, atol=0.0, max_steps=20)
    assert relative.method.startswith("DOP853(): about")
    few = falling(lambda t, q, v: -1e6 * q, t1=10.0)
    assert "max_steps = 4096 may be too few" in few.method and not bool(few.successful)


def test_auto_stays_with_what_is_soon_done():
    assert re.fullmatch(r"DOP853\(\): \d+ steps reach the end", swing("auto").method)
    assert re.fullmatch(r"DOP853\(\): about \d+ steps", swing("auto", t1=100.0).method)
    back = swing("auto", t0=100.0, t1=0.0, ts=[50.0, 0.0])
    assert back.ys.shape == (2, 2) and re.fullmatch(r"DOP853\(\): about \d+ steps", back.method)


def test_auto_tells_what_leaves_no_choice():
    start = jnp.array([0.0, 1.0]), jnp.array([0.0, 0.3])
    found = jaxspark.solve(with_friction(), *start, t1=0.1, method="auto")
    assert found.method == "Lobatto(stages=3): for friction by holonomic reactions"
    found = swing("auto", newton=jaxspark.NewtonOptions(), t1=0.1)
    assert found.method == "Gauss(stages=3): explicit methods are not for newton"
    assert "steps of known sizes" in swing("auto", steps=EqualSteps(2)).method
    with pytest.raises(ValueError, match="before anything is compiled"):
        jax.jit(lambda t1: swing("auto", t1=t1).y1)(1.0)


def test_explanations():
    words = swing(Gauss(2), rtol=1e-4).explain()
    assert words.startswith("Method: Gauss(stages=2).\nEnded at 1; successful: yes.\n")
    assert swing().explain().startswith("Method: DOP853(): the default; nothing here asks")
    short = swing(max_steps=3, throw=False).explain()
    assert "successful: no." in short and "Reason: max_steps" in short
    run = jax.vmap(lambda t1: swing(t1=t1, throw=False, max_steps=30))
    assert "Ended at 1 to 2; successful: 2 of 2." in run(jnp.array([1.0, 2.0])).explain()
    lanes = run(jnp.array([1.0, 100.0, 200.0])).explain()
    assert "successful: 1 of 3." in lanes and "Reason of 2: max_steps" in lanes
    assert "Reason of 1: max_steps" in run(jnp.array([100.0])).explain()
    with pytest.raises(ValueError, match="outside of jax.jit"):
        jax.jit(lambda t1: swing(t1=t1, throw=False).explain())(1.0)
