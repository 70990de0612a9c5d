"""The README keeps its promises: its code runs, its commands are those of CI."""

import functools
import pathlib
import re

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxspark


ROOT = pathlib.Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    """The fenced blocks of a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@functools.cache
def run():
    """All names that the README's Python code defines."""
    names = {}
    exec("\n".join(blocks("python")), names)
    plt.close("all")
    return names


def test_it_is_short():
    assert len(README.splitlines()) <= 150


def test_pendulum():
    solution = run()["solution"]
    assert float(solution.stats.max_g) <= 5e-16
    # Energy and the circle give the tension: m v^2 / l + m g cos(angle) = -3 m g y / l.
    np.testing.assert_allclose(
        solution.multipliers.lam, -3 * 9.81 * solution.ys[:, 1], rtol=0, atol=1e-7
    )


def test_derivative():
    # The motion of length l is that of length 1, slowed down by sqrt(l) and scaled by l.
    names = run()
    end = names["solution"]
    expected = end.y1[1] - 0.5 * 5.0 * end.z1[1]
    assert float(names["sensitivity"]) == pytest.approx(float(expected), abs=1e-6)


def test_batch():
    names = run()
    assert names["batch"].y1.shape == (100, 2)
    assert np.all(names["batch"].result == jaxspark.RESULTS.successful)
    np.testing.assert_allclose(
        names["batch"].y1[-1], names["swing"](jnp.asarray(2.0)).y1, rtol=0, atol=1e-11
    )


def test_links_to_files_exist():
    for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_commands():
    commands, site = blocks("bash")
    main_job, tests = commands.splitlines()
    assert main_job.endswith("&& .venv/bin/python -m jaxspark")
    assert tests.endswith("&& .venv/bin/python -m pytest")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "python -m pytest" in ci.splitlines()
    # There with other options of how much is printed.
    sphinx = re.search(r"python -m sphinx .*", site)[0].split()
    assert any(set(sphinx) <= set(line.split()) for line in ci.splitlines())
