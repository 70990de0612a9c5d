"""The tour of the site keeps its promises: its code runs, and prints what it says."""

import ast
import functools
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
import jaxspark.diffrax


ROOT = pathlib.Path(__file__).parent.parent
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")


def blocks(language):
    """The fenced blocks of a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TOUR, re.DOTALL | re.MULTILINE)


@functools.cache
def run():
    """All names that the tour's Python code defines."""
    names = {}
    exec("\n".join(blocks("python")), names)
    return names


def test_pendulum():
    names = run()
    solution = names["solution"]
    assert float(solution.stats.max_g) <= 5e-16
    # Energy and the circle give the tension: m v^2 / l + m g cos(angle) = -3 m g y / l.
    np.testing.assert_allclose(
        solution.multipliers.lam, -3 * 9.81 * solution.ys[:, 1], rtol=0, atol=1e-7
    )
    assert np.max(solution.multipliers.lam) == pytest.approx(3 * 9.81, rel=1e-3)


def test_derivative():
    # The motion of length l is that of length 1, slowed down by sqrt(l) and scaled by l.
    names = run()
    end = names["solution"]
    expected = end.y1[1] - 0.5 * 5.0 * end.z1[1]
    assert float(names["sensitivity"]) == pytest.approx(float(expected), abs=1e-6)


def test_batch():
    names = run()
    assert names["batch"].ys.shape == (100, 251, 2)
    assert np.all(names["batch"].result == jaxspark.RESULTS.successful)
    single = names["swing"](2.0)
    np.testing.assert_allclose(names["batch"].ys[-1], single.ys, rtol=0, atol=1e-11)


def test_identification():
    found = run()["found"]
    assert found.converged
    for name, error in found.errors.items():
        assert abs(found.values[name] - {"length": 1.0, "drag": 0.2}[name]) < 4 * error
        assert error < 0.01


def test_printed_estimates_are_those_found():
    found = run()["found"]
    for kind in ("values", "errors"):
        printed = ast.literal_eval(re.search(rf"^found\.{kind}  # ({{.*?}})", TOUR, re.M)[1])
        expected = getattr(found, kind)
        assert list(printed) == list(expected)
        # To the last digit printed, which is that of the error.
        for name, value in printed.items():
            assert abs(value - expected[name]) <= 0.3 * found.errors[name], (kind, name)


def test_equal_steps():
    names = run()
    equal, swing = names["equal"], names["solution"]
    np.testing.assert_allclose(equal.ys, swing.ys, rtol=0, atol=1e-6)
    assert float(equal.stats.max_g) <= 5e-16


def test_many_devices():
    names = run()
    lengths = jnp.linspace(0.5, 2.0, 100)
    single = jax.vmap(names["lowest"], (0, None))(lengths, 9.81)
    np.testing.assert_allclose(names["heights"], single, rtol=0, atol=1e-13)
    step = 1e-4
    means = [float(jnp.mean(names["everywhere"](lengths, 9.81 + h))) for h in (step, -step)]
    assert float(names["by_gravity"]) == pytest.approx((means[0] - means[1]) / (2 * step), rel=1e-6)


def test_projections():
    names = run()
    point = jnp.array([0.8, 0.7])
    np.testing.assert_allclose(names["nearest"].y, point / jnp.linalg.norm(point), rtol=1e-15)
    np.testing.assert_allclose(names["held"].y, [0.8, 0.6], rtol=0, atol=1e-15)


def test_names_exist():
    for name in re.findall(r"jaxspark\.([A-Za-z]\w*)", "\n".join(blocks("python"))):
        assert hasattr(jaxspark, name), name
    table = [line for line in TOUR.splitlines() if line.startswith("| `")]
    assert len(table) == 30
    for line in table:
        room = jaxspark
        for name in re.findall(r"`([.\w]+)[`(]", line.split("|")[1]):
            *first, last = name.removeprefix("jaxspark.").split(".")
            # A name without a room is in that of the name before it.
            room = getattr(jaxspark, first[0]) if first and first[0] else room
            assert hasattr(room, last), name
