"""Batches in chunks, whose files survive an interruption."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import pendulum, pendulum_start
from jaxspark.batch import in_chunks


SYSTEM, ARGS = pendulum(), {"m": 1.3, "l": 0.8, "g": 9.81}


def swing(angle, rate):
    """The state after a while, and how it ended."""
    y0, z0 = pendulum_start(angle, rate, ARGS["l"])
    end = jaxspark.solve(
        SYSTEM, y0, z0, ARGS, t1=0.3, method=jaxspark.DOP853(), rtol=1e-6, throw=False
    )  # fmt: skip
    return {"y": end.y1, "z": end.z1}, end.result


def starts(count):
    return np.linspace(-1.0, 1.2, count), np.linspace(0.0, 2.0, count)


def test_results_are_those_of_vmap_and_of_every_chunk_size(tmp_path):
    given = starts(11)
    expected, result = jax.jit(jax.vmap(swing))(*given)
    assert bool(jnp.all(result == jaxspark.RESULTS.successful))
    for size in (4, 11, 30):
        found, result = in_chunks(swing, size)(*given)
        assert isinstance(found["y"], np.ndarray) and found["y"].shape == (11, 2)
        assert bool(jnp.all(result == jaxspark.RESULTS.successful))
        for name in ("y", "z"):
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-13)
    empty, _ = in_chunks(swing, 4)(*starts(0))
    assert empty["y"].shape == (0, 2)


def test_goes_on_where_it_stopped(tmp_path):
    given, folder = starts(11), tmp_path / "chunks"
    whole, _ = in_chunks(swing, 4, folder=folder)(*given)
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"chunk-00000{i}.npz" for i in range(3)]
    (folder / names[1]).unlink()
    written = (folder / names[0]).stat().st_mtime_ns
    again, _ = in_chunks(swing, 4, folder=folder)(*given)
    assert (folder / names[0]).stat().st_mtime_ns == written
    for name in ("y", "z"):
        np.testing.assert_array_equal(again[name], whole[name])


def test_files_of_something_else_are_refused(tmp_path):
    folder = tmp_path / "chunks"
    double = lambda x: 2 * x
    in_chunks(double, 2, folder=folder)(np.arange(4.0))
    with pytest.raises(jaxspark.fit.CheckpointError, match="belongs to other arguments, another s"):
        in_chunks(double, 2, folder=folder)(np.arange(1.0, 5.0))
    with pytest.raises(jaxspark.fit.CheckpointError, match="belongs to other arguments, another s"):
        in_chunks(lambda x: 3 * x, 2, folder=folder)(np.arange(4.0))
    (folder / "chunk-000000.npz").write_bytes(b"PK")
    with pytest.raises(jaxspark.fit.CheckpointError, match="no chunk of jaxspark"):
        in_chunks(double, 2, folder=folder)(np.arange(4.0))


SETTINGS = types.SimpleNamespace(twice=lambda x: 2.0 * x)


def doubled(x):
    return SETTINGS.twice(x)


def test_another_program_of_the_same_function(tmp_path):
    """It goes on if it gives the same bits."""
    first = in_chunks(doubled, 2, folder=tmp_path)(np.arange(4.0))
    SETTINGS.twice = lambda x: x + x
    np.testing.assert_array_equal(in_chunks(doubled, 2, folder=tmp_path)(np.arange(4.0)), first)
    SETTINGS.twice = lambda x: x + x + 1e-300
    with pytest.raises(jaxspark.fit.CheckpointError, match="another function"):
        in_chunks(doubled, 2, folder=tmp_path)(np.arange(4.0))


def test_misuse():
    with pytest.raises(ValueError, match="A chunk must have at least one lane"):
        in_chunks(swing, 0)
    with pytest.raises(ValueError, match="lanes of one batch"):
        in_chunks(swing, 4)(np.zeros(3), np.zeros(4))
    with pytest.raises(TypeError, match="jax.random.key_data"):
        in_chunks(lambda key: jax.random.normal(key), 2)(jax.random.split(jax.random.key(0), 4))
    with pytest.raises(TypeError, match="a result has dtype bfloat16"):
        in_chunks(lambda x: x.astype(jnp.bfloat16), 2)(np.zeros(4))
    with pytest.raises(TypeError, match="use jaxspark.batch.in_windows there"):
        jax.jit(in_chunks(jnp.sin, 2))(jnp.zeros(3))


PROGRAM = """
import json
import sys
sys.path[:0] = json.loads(sys.argv[1])
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from test_chunks import starts, swing
from jaxspark.batch import in_chunks
given = tuple(x[: int(sys.argv[3])] for x in starts(4000))
found, _ = in_chunks(swing, 8, folder=sys.argv[2])(*given)
whole, _ = in_chunks(swing, 8)(*given)
assert all(np.array_equal(found[name], whole[name]) for name in ("y", "z"))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="There is no SIGKILL here.")
def test_killed_in_a_chunk(tmp_path):
    here = pathlib.Path(__file__).parent
    paths = json.dumps([str(here.parent), str(here)])
    folder = tmp_path / "chunks"
    command = [sys.executable, "-c", PROGRAM, paths, str(folder)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    process = subprocess.Popen([*command, "4000"], env=environment)
    until = time.monotonic() + 300
    while time.monotonic() < until and process.poll() is None:
        if folder.exists() and len(list(folder.glob("*.npz"))) >= 3:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    written = {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    assert 3 <= len(written) < 500
    subprocess.run([*command, str(8 * len(written) + 8)], env=environment, check=True)
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert len(list(folder.glob("*.npz"))) == len(written) + 1
