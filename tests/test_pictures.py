"""Pictures, animations and tables show the numbers of a solution."""

import base64
import csv
import io
import re
import sys

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import msgspec
import numpy as np
import pandas as pd
import pytest
import zstandard
from PIL import Image

import jaxspark
from jaxspark import pictures


PENDULUM = jaxspark.LagrangianSystem(
    lambda t, q, v, length: 0.5 * v @ v - 9.81 * q[1],
    holonomic=lambda t, q, length: jnp.linalg.norm(q) - length,
)


def swing(length, **options):
    q0, v0 = length * jnp.array([1.0, 0.0]), jnp.zeros(2)
    options = {"ts": jnp.linspace(0.0, 2.0, 41), "multipliers": True} | options
    return jaxspark.solve(PENDULUM, q0, v0, length, t1=2.0, **options)


@pytest.fixture(scope="module")
def solution():
    return swing(1.0)


@pytest.fixture(scope="module")
def batch():
    return jax.vmap(swing)(jnp.array([0.5, 1.0, 2.0]))


def drawn(axis):
    return {line.get_label(): line.get_ydata() for line in axis.lines}


def test_lines_are_the_saved_states(solution):
    figure = pictures.plot(
        solution, PENDULUM, 1.0, phase=("y[0]", "z[0]"), labels={"y[0]": "x (m)"}
    )
    states, rates, multipliers, residuals, energy, phase = figure.axes
    np.testing.assert_array_equal(drawn(states)["x (m)"], solution.ys[:, 0])
    np.testing.assert_array_equal(drawn(rates)["z[1]"], solution.zs[:, 1])
    np.testing.assert_array_equal(drawn(multipliers)["lam"], solution.multipliers.lam)
    assert max(np.max(y) for y in drawn(residuals).values()) <= 1e-14
    (change,) = drawn(energy).values()
    total = 0.5 * np.sum(solution.zs**2, 1) + 9.81 * solution.ys[:, 1]
    np.testing.assert_allclose(change, total - total[0], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(phase.lines[0].get_xdata(), solution.ys[:, 0])
    assert phase.get_xlabel() == "x (m)"
    plt.close(figure)


def test_batches_have_a_line_for_each_lane(batch):
    figure = pictures.plot(batch)
    assert len(figure.axes[0].lines) == 6
    plt.close(figure)


@pytest.mark.parametrize("dense", [False, True])
def test_frames_show_the_motion(solution, dense):
    """The dot is where the pendulum is, to a pixel."""
    if dense:
        solution = swing(1.0, dense=True, ts=None, save_every=1, multipliers=False)
    film = pictures.animate(
        solution,
        lambda t, y: {"bob": y[None]},
        limits=((-1.5, 1.5), (-1.5, 1.5)),
        fps=10,
        pixels=200,
    )
    assert len(film.frames) == 20
    exact = swing(1.0, ts=jnp.linspace(0.0, 2.0, 20)).ys
    for frame, y in zip(film.frames, exact, strict=True):
        dark = np.argwhere(frame.sum(-1) < 600)
        row, column = dark.mean(0)
        at = np.array([column + 0.5, 200 - row - 0.5]) / 200 * 3 - 1.5
        np.testing.assert_allclose(at, y, rtol=0, atol=0.02)


def test_files_hold_all_frames(solution, tmp_path):
    film = pictures.animate(solution, lambda t, y: {"rod": jnp.stack([0 * y, y])}, fps=8, pixels=64)
    for name in ("a.webp", "a.gif", "a.png"):
        film.save(tmp_path / name)
        with Image.open(tmp_path / name) as image:
            assert image.n_frames == len(film.frames) == 16
    film.save(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert re.search("data:image/webp;base64,", page)
    with pytest.raises(ValueError, match=r"saved as .webp, .gif, .png, .mp4 or .html; got 'a.avi'"):
        film.save(tmp_path / "a.avi")


def test_lines_in_space(batch):
    def shape(t, y):
        return {"rod": jnp.stack([jnp.zeros(3), jnp.array([y[0], 0.0, y[1]])])}

    film = pictures.animate(batch, shape, trace="rod", lane=1, seconds=0.5, pixels=100)
    assert len(film.frames) == 10
    assert film.frames[0].shape == (100, 100, 3)
    assert np.any(film.frames[0] != film.frames[5])


def played(page):
    """Time, name and points of each line that the page of a scene shows, in its own format."""
    text = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', page)
    data = base64.b64decode(text[1])
    size = int.from_bytes(data[:8], "little")
    data = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=size)
    end = 8 + int.from_bytes(data[:8], "little")
    content = msgspec.msgpack.decode(data[8:end])
    arrays, start = [], end
    for length in content["binaryBufferLengths"]:
        start = -(-start // 8) * 8
        arrays.append(data[start : start + length])
        start += length
    lines = [
        (time, message["name"], np.frombuffer(arrays[at["__binary_index"]], np.float32))
        for time, message in content["messages"]
        if message["type"] == "LineSegmentsMessage"
        for at in [message["props"]["points"]]
    ]
    return content["durationSeconds"], lines


def test_scenes_show_the_motion(solution, batch, tmp_path):
    def shape(t, q):
        return {"rod": jnp.stack([0 * q, q]), "base": jnp.array([[-0.2, 0.0], [0.2, 0.0]])}

    scene = pictures.scene(solution, shape, trace="rod", seconds=2.0, fps=20.0)
    duration, lines = played(scene.page)
    assert duration == pytest.approx(2.0)
    # Of 40 frames; the base does not move, and the trace is there from the beginning.
    of = {name: [points for _, at, points in lines if at == name] for _, name, _ in lines}
    assert {name: len(x) for name, x in of.items()} == {
        "/rod/line": 40, "/base/line": 1, "/trace/rod": 1
    }  # fmt: skip
    ends = [points[[3, 4, 5]] for points in of["/rod/line"]]
    np.testing.assert_allclose(ends[0], [1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(ends[-1], [*solution.ys[-1], 0.0], atol=1e-6)
    # Between saved states, 0.05 s apart, lines are straight.
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 1.0, atol=6e-3)
    assert of["/trace/rod"][0].size == 39 * 6
    scene.save(tmp_path / "swing.html")
    assert (tmp_path / "swing.html").read_text(encoding="utf-8") == scene.page
    assert "srcdoc" in scene._repr_html_() and "MB" in repr(scene)
    _, lines = played(pictures.scene(batch, lambda t, q: {"mass": q[None]}, lane=2).page)
    assert not lines  # one point is a dot


def test_scenes_refuse(solution, tmp_path, monkeypatch):
    mass = lambda t, q: {"mass": q[None]}
    with pytest.raises(ValueError, match="A scene is saved as .html"):
        pictures.scene(solution, mass).save(tmp_path / "swing.webp")
    with pytest.raises(ValueError, match="trace= names"):
        pictures.scene(solution, mass, trace="rod")
    with pytest.raises(ValueError, match="no finite point"):
        pictures.scene(solution, lambda t, q: {"mass": jnp.nan * q[None]})
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ModuleNotFoundError, match="needs viser"):
        pictures.scene(solution, mass)


def test_tables(solution, batch, tmp_path):
    pictures.to_csv(solution, tmp_path / "motion.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "motion.csv").read_text(encoding="utf-8"))))
    assert rows[0] == ["t", "y[0]", "y[1]", "z[0]", "z[1]", "lam"]
    values = np.array(rows[1:], float)
    np.testing.assert_array_equal(values[:, 1:3], solution.ys)
    np.testing.assert_array_equal(values[:, 5], solution.multipliers.lam)
    table = pictures.to_pandas(solution)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "motion.csv", index_col="t"), table)
    lanes = pictures.to_pandas(batch)
    assert lanes.index.names == ["lane", "t"]
    np.testing.assert_array_equal(lanes.loc[2]["y[0]"], batch.ys[2, :, 0])
    pd.testing.assert_frame_equal(pictures.to_pandas(batch, lane=2), lanes.loc[2])


def test_datasets(solution, batch):
    one, many = pictures.to_xarray(solution), pictures.to_xarray(batch)
    assert one["y"].dims == ("time", "y_0")
    np.testing.assert_array_equal(one["y"].sel(time=2.0), solution.ys[-1])
    np.testing.assert_array_equal(one["lam"], solution.multipliers.lam)
    assert many["z"].dims == ("lane", "time", "z_0")
    np.testing.assert_array_equal(many["z"], batch.zs)
    np.testing.assert_array_equal(many["t"], batch.ts)


def test_names_of_pytrees(tmp_path):
    system = jaxspark.MechanicalSystem(
        lambda t, y, args: jnp.eye(3), lambda t, y, z, args: jax.tree.map(jnp.zeros_like, z)
    )
    y0, z0 = (
        {"cart": jnp.zeros(()), "bob": jnp.zeros(2)},
        {"cart": jnp.ones(()), "bob": jnp.ones(2)},
    )
    found = jaxspark.solve(system, y0, z0, t1=1.0, ts=[0.0, 1.0])
    names = list(pictures.to_pandas(found))
    assert names[:3] == ["y['bob'][0]", "y['bob'][1]", "y['cart']"]


def test_errors(solution, batch):
    with pytest.raises(TypeError, match="a Solution; got int"):
        pictures.plot(1)
    with pytest.raises(ValueError, match="outside of jax.jit"):
        jax.jit(lambda length: pictures.plot(swing(length)))(1.0)
    with pytest.raises(ValueError, match="1 state is saved"):
        pictures.plot(swing(1.0, ts=jnp.array([2.0]), multipliers=False))
    with pytest.raises(ValueError, match="one motion, not of a batch"):
        pictures.plot(batch, PENDULUM, 1.0)
    with pytest.raises(ValueError, match=r"\['q\[0\]'\] are not among the entries"):
        pictures.plot(solution, labels={"q[0]": "x"})
    with pytest.raises(ValueError, match="name one of its lanes"):
        pictures.animate(batch, lambda t, y: {"a": y[None]})
    with pytest.raises(ValueError, match="this is a single one"):
        pictures.animate(solution, lambda t, y: {"a": y[None]}, lane=0)
    with pytest.raises(ValueError, match="seconds and fps must be positive; got 2.0 and 0"):
        pictures.animate(solution, lambda t, y: {"a": y[None]}, fps=0)
    with pytest.raises(TypeError, match="must return a dictionary"):
        pictures.animate(solution, lambda t, y: y)
    with pytest.raises(TypeError, match="must be a function"):
        pictures.animate(solution, 3)
    with pytest.raises(ValueError, match=r"shape\(t, y\) gave {'a': \(2,\)}"):
        pictures.animate(solution, lambda t, y: {"a": y})
    with pytest.raises(ValueError, match=r"trace= names \['b'\]; the lines are \['a'\]"):
        pictures.animate(solution, lambda t, y: {"a": y[None]}, trace="b")
    with pytest.raises(ValueError, match="an upper number for each of 2 axes"):
        pictures.animate(solution, lambda t, y: {"a": y[None]}, limits=((0, 1),))
