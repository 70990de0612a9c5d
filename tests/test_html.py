"""What notebooks show of solutions, systems and fits."""

import re
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit


def holonomic(t, q, args):
    return jnp.linalg.norm(q) - 1.0


PENDULUM = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(2), lambda t, q, v, args: jnp.array([0.0, -9.81]), holonomic
)


def swing(length, t1=0.5, **options):
    y0 = jnp.array([1.0, 0.0])
    return jaxspark.solve(PENDULUM, y0, jnp.zeros(2), length, t1=t1, throw=False, **options)


def cells(text):
    """Rows of text; the markup is well-formed."""
    table = ElementTree.fromstring(text)
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_a_solution_and_a_batch():
    one = swing(1.0)
    rows = dict(cells(one._repr_html_()))
    assert rows["Ended at 0.5; successful"] == "yes."
    assert int(re.match(r"(\d+) accepted", rows["Steps"])[1]) == int(one.stats.num_steps)
    lanes = jax.vmap(swing)(jnp.ones(3))
    assert "lanes (3,)" in lanes._repr_html_()
    # NumPy's arrays, too, as after jax.device_get: of lanes of which one is out of steps.
    assert "Reason" not in repr(jax.device_get(one))
    stopped = jax.vmap(lambda t1: swing(1.0, t1, max_steps=12))(jnp.array([0.01, 50.0]))
    assert repr(jax.device_get(stopped)) == repr(stopped)
    assert "Reason of 1: max_steps steps were not enough" in repr(stopped)
    # What is traced has no numbers yet, and is shown as any PyTree.
    assert jax.eval_shape(swing, 1.0)._repr_html_() is None


def test_a_system_names_its_functions():
    rows = dict(cells(PENDULUM._repr_html_()))
    assert rows["holonomic"] == f"holonomic, test_html.py:{holonomic.__code__.co_firstlineno}"
    assert rows["mass"].startswith("<lambda>, test_html.py:")
    assert "nonholonomic" not in rows


def test_a_fit():
    times = np.linspace(0.0, 1.0, 21)
    model = fit.Model(
        jaxspark.MechanicalSystem(
            lambda t, q, args: jnp.eye(1), lambda t, q, v, args: -args["k < 3"] * q
        ),
        lambda t, y, z, lam, psi, args: {"x": y[0]},
        {"k < 3": fit.positive(2.0, "1/s^2")},
        fit.Start(jnp.ones(1), jnp.zeros(1)),
        step=0.05,
    )
    record = fit.record(times, {"x": np.cos(2 * times) + 1e-3 * np.sin(97 * times)})
    found = fit.estimate(model, record, progress=False, check=False)
    head, row = cells(found._repr_html_())
    assert head == ["parameter", "estimate", "standard error", "unit"]
    assert row[0] == "k < 3" and row[3] == "1/s^2"
    assert float(row[1]) == float(f"{found.values['k < 3']:.6g}")
