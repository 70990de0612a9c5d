"""Batches and fits over 8 devices of one process, and over those of two, against one device."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark


PROGRAM = pathlib.Path(__file__).parent / "spread.py"
# Of sums in another order, and of fits that end when nothing changes by more.
ROUNDING = 1e-12


def start(argv, devices):
    """The program in a process of its own, with so many devices made of the host."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    root = PROGRAM.parent.parent
    path = os.pathsep.join([str(root), str(PROGRAM.parent), *sys.path])
    environment = {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, str(PROGRAM), *map(str, argv)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, env=environment, **pipes)


def results(processes, seconds):
    """What they print; none of them outlives the wait."""
    until = time.monotonic() + seconds
    try:
        done = [process.communicate(timeout=until - time.monotonic()) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, done, strict=True):
        assert process.returncode == 0, errors[-4000:]
    return [json.loads(out.splitlines()[-1]) for out, _ in done]


@pytest.fixture(scope="module")
def eight():
    return results([start(["devices"], 8)], 900)[0]


def test_batches(eight):
    # 13 lanes on 8 devices: three of 16 are padding.
    found = eight["composed"]
    assert eight["devices"] == 8
    assert found["flags"] == found["flags of one"] == [i != 2 for i in range(13)]
    for what in ("value", "by lane", "by what is shared"):
        assert found[what] <= ROUNDING, what
    assert eight["forward"] <= ROUNDING


def test_loops_of_devices_do_not_wait_for_one_another(eight):
    found = eight["loops"]
    assert found["value"] <= ROUNDING
    assert found["steps"] == found["steps of one"] and len(set(found["steps"])) > 8
    assert found["shards"] == 8 and found["sent"] == []


@pytest.mark.thorough
def test_adaptive_gradients_starts_and_what_follows_from_fits():
    found = results([start(["thorough"], 8)], 2400)[0]
    for name in ("adaptive", "some"):
        assert found[name]["flags"] == found[name]["flags of one"]
        for what in ("value", "by lane", "by what is shared"):
            assert found[name][what] <= ROUNDING, (name, what)
    starts, after = found["starts"], found["after"]
    assert starts["values"] <= ROUNDING and starts["reached"] <= ROUNDING
    assert starts["devices"] == 8
    assert after["iterations"][0] == after["iterations"][1]
    for what in ("fit", "profile", "density", "windows", "stochastic"):
        assert after[what] <= ROUNDING, what


def test_two_processes(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = [start([port, 2, rank, tmp_path], 2) for rank in range(2)]
    first, second = results(both, 900)
    for rank, found in enumerate((first, second)):
        assert found["devices"] == 4
        # Each of 4 devices has two lanes of 8, each process four.
        assert found["local data"]["first lanes of shards"] == [4 * rank, 4 * rank + 2]
        assert found["fits"]["resumed"] == 0.0
    assert first["local data"]["gradient"] == second["local data"]["gradient"]
    assert first["local data"]["value"] <= ROUNDING
    assert first["local data"]["by what is shared"] <= ROUNDING
    # The second process has only taken part.
    assert first["fits"]["fit"] <= ROUNDING
    assert first["fits"]["iterations"][0] == first["fits"]["iterations"][1] > 3
    assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]


def product(lane, factor):
    return {"q": lane["q"] * factor, "sum": jnp.sum(lane["b"]), "one": jnp.ones(3)}


@pytest.mark.parametrize("count", [1, 5, 0])
def test_on_one_device(count):
    lane = {"q": jnp.arange(1.0 * count), "b": jnp.ones((2, count))}
    axes = ({"q": 0, "b": 1}, None)
    over = jaxspark.batch.over_devices(product, in_axes=axes)
    expected = jax.vmap(product, axes)(lane, 2.0)
    assert jax.tree.all(jax.tree.map(np.array_equal, over(lane, 2.0), expected))


def test_numbers_take_the_precision_of_lanes():
    # Promotion is strict here: a shared number of another precision would be refused.
    result = jaxspark.batch.over_devices(jnp.multiply, in_axes=(0, None))(
        jnp.ones(3, jnp.float32), 2.0
    )
    assert result.dtype == jnp.float32


def test_closes_over_arrays():
    factor = jnp.array([2.0, 3.0])

    def value(factor):
        return jnp.sum(jaxspark.batch.over_devices(lambda x: x * factor)(jnp.arange(3.0)))

    np.testing.assert_array_equal(jax.grad(value)(factor), [3.0, 3.0])


def test_misuse():
    over, device, x = jaxspark.batch.over_devices, jax.devices()[0], jnp.ones(3)
    with pytest.raises(ValueError, match="at least one device"):
        over(jnp.sin, devices=[])
    with pytest.raises(ValueError, match="given twice"):
        over(jnp.sin, devices=[device, device])
    with pytest.raises(TypeError, match="sequence of devices, or a mesh; got 8"):
        over(jnp.sin, devices=8)
    with pytest.raises(TypeError, match="of jax.devices"):
        over(jnp.sin, devices=[0])
    with pytest.raises(ValueError, match=r"type Auto: make it by jax.sharding.Mesh\(devices"):
        over(jnp.sin, devices=jax.make_mesh((1,), ("a",), (jax.sharding.AxisType.Explicit,)))
    with pytest.raises(ValueError, match="one batch size; got batches of 3, 4"):
        over(jnp.add)(x, jnp.ones(4))
    with pytest.raises(ValueError, match="got none"):
        over(jnp.sin, in_axes=None)(x)
    with pytest.raises(ValueError, match=r"shape \(\) has no axis 0 .* None into in_axes"):
        over(jnp.add)(x, 1.0)
    with pytest.raises(ValueError, match="1 entries for 2 arguments"):
        over(jnp.add, in_axes=(0,))(x, x)
    with pytest.raises(TypeError, match="in_axes must be"):
        over(jnp.sin, in_axes="0")(x)
    with pytest.raises(ValueError, match=r"use jax\.vmap inside"):
        over(over(jnp.sin))(jnp.ones((2, 2)))


@pytest.mark.inside
def test_closing_over_what_lies_on_a_mesh():
    over, x = jaxspark.batch.over_devices, jnp.ones(3)
    on_mesh = over(jnp.sin)(x)
    with pytest.raises(ValueError, match="closes over an array that lies on a mesh"):
        over(lambda x: x * on_mesh)(x)
