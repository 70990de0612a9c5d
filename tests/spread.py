"""Batches and fits over many devices against one: a program, of one process or of several.

`python spread.py devices` or `python spread.py thorough` with as many devices as XLA makes of the
host, or `python spread.py PORT COUNT RANK FOLDER` as one of several processes. It prints one JSON
object of differences.
"""

import dataclasses
import json
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxspark
import swings
from helpers import largest_difference, pendulum, pendulum_start
from jaxspark import fit


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

SYSTEM = pendulum()
SHARED = {"m": 1.3, "l": 0.8, "g": 9.81}


def composed(lane, args):
    """The end of a swing with equal steps, and whether it went well."""
    y0, z0 = pendulum_start(lane["angle"], lane["rate"], args["l"])
    method = jaxspark.Composition(jaxspark.Lobatto(2), 4)
    options = {"t1": 1.0, "num_steps": 20, "save_every": None, "throw": False}
    end = jaxspark.rollout(SYSTEM, lane["off"] * y0, z0, args, method=method, **options)
    return end.y1, end.z1, end.result == jaxspark.RESULTS.successful


def adaptive(lane, args):
    """The same by tolerances, and the number of steps."""
    y0, z0 = pendulum_start(lane["angle"], lane["rate"], args["l"])
    end = jaxspark.solve(
        SYSTEM, y0, z0, args, method=jaxspark.Gauss(2), t1=1.0, rtol=1e-6, throw=False
    )  # fmt: skip
    return end.y1, end.z1, end.stats.num_steps


def lanes(count):
    """The last swings fast; the third is off its circle, and fails."""
    angle = jnp.linspace(-1.0, 1.2, count)
    rate = jnp.linspace(0.0, 2.0, count).at[-1].set(20.0)
    return {"angle": angle, "rate": rate, "off": jnp.ones(count).at[2].set(1.5)}


def loss(batched):
    def value(lane, args):
        y, z, well = results = batched(lane, args)
        # The derivatives of what a lane that failed leaves are NaN: it does not count.
        y, z = (jnp.where(well.astype(bool)[:, None], x, 0.0) for x in (y, z))
        return jnp.sum(jnp.sin(y)) + jnp.mean(z[:, 0] ** 2), results

    return value


def everywhere(tree):
    """Results of all processes on each, as NumPy arrays."""
    if jax.process_count() == 1:
        return jax.tree.map(np.asarray, tree)
    return jax.tree.map(lambda x: multihost_utils.process_allgather(x, tiled=True), tree)


def differences(function, count, **others):
    """Of values and of derivatives, over all devices and on one."""
    over = jaxspark.batch.over_devices(function, in_axes=(0, None), **others)
    one = jax.jit(jax.vmap(function, (0, None)))
    lane, args = lanes(count), jax.tree.map(jnp.asarray, SHARED)
    derivatives = [jax.jit(jax.grad(loss(f), (0, 1), has_aux=True)) for f in (over, one)]
    (by_many, many), (by_one, single) = (derivative(lane, args) for derivative in derivatives)
    return {
        "value": largest_difference(many[:2], single[:2]),
        "flags": np.asarray(many[2]).tolist(),
        "flags of one": np.asarray(single[2]).tolist(),
        "by lane": largest_difference(by_many[0], by_one[0]),
        "by what is shared": largest_difference(by_many[1], by_one[1]),
    }


def forward(count):
    """Of a derivative along a direction, of a function inside another compiled one."""
    over = jaxspark.batch.over_devices(composed, in_axes=(0, None))
    lane, args = lanes(count), jax.tree.map(jnp.asarray, SHARED)
    directions = jax.tree.map(jnp.ones_like, (lane, args))

    def along(f):
        return jax.jit(lambda *x: jax.jvp(lambda *x: loss(f)(*x)[0], x, directions)[1])(lane, args)

    return largest_difference(along(over), along(jax.vmap(composed, (0, None))))


def spring(t, y, z, args):
    del t
    return -args["stiffness"] * y - args["cubic"] * y**3


def position(t, y, z, lam, psi, args):
    del t, z, lam, psi, args
    return {"x": y[0]}


SPRING = jaxspark.ConstrainedSystem(spring)


def springs(count):
    """Records of an oscillator from several starts, and a model that is quick to compile."""
    times, rng = np.linspace(0.0, 2.0, 21), np.random.default_rng(0)
    starts = [(np.array([1.0 - 0.2 * k]), np.zeros(1)) for k in range(count)]
    given = []
    for y, _ in starts:
        x = y * np.cos((3 + 0.1 * y**2) * times) + 0.02 * rng.standard_normal(21)
        given.append(fit.record(times, {"x": x}))
    parameters = {"stiffness": fit.positive(8.0, "N/m"), "cubic": fit.real(0.5, unit="N/m3")}
    start = fit.Start([y for y, _ in starts], [z for _, z in starts])
    options = {"step": 0.1, "method": jaxspark.Lobatto(2), "noise": {"x": 0.02}}
    return fit.Model(SPRING, position, parameters, start, **options), given


def pendulums(count):
    """The same of a pendulum, with noise that is estimated."""
    times = np.linspace(0.0, 1.0, 21)
    starts = [(0.5 + 0.1 * k, 0.3 * k) for k in range(count)]
    given = [swings.record(times, *at, seed=k) for k, at in enumerate(starts)]
    return swings.model(*starts), given


def fitted(found):
    return {"values": found.values, "errors": found.errors, "sigma": found.sigma}


def fits(make, of=lambda found: found.values, **options):
    """Of a fit of three trials."""
    model, given = make(3)
    many = fit.estimate(model, given, progress=False, devices=jax.devices(), **options)
    if jax.process_index() != 0:
        return {}, many
    # What comes after a fit one process may ask for alone.
    assert np.all(many.prediction.good)
    one = fit.estimate(model, given, progress=False)
    difference = largest_difference(of(many), of(one))
    return {"fit": difference, "iterations": [len(many.history), len(one.history)]}, many


def resumed(folder):
    """Of a fit by several processes, and of one that goes on from the file of the first."""
    path = folder / "fit.npz"
    result, many = fits(springs, checkpoint=path)
    multihost_utils.sync_global_devices("written")
    model, given = springs(3)
    again = fit.estimate(model, given, progress=False, devices=jax.devices(), checkpoint=path)
    return {**result, "resumed": largest_difference(again.values, many.values)}


def many_starts():
    """Of fits from five starts."""
    model, given = springs(1)
    options = {"count": 5, "spread": 0.2, "seed": 1}
    one, reached = fit.multistart(model, given, **options)
    many, reached_by_many = fit.multistart(model, given, devices=jax.devices(), **options)
    return {
        "values": largest_difference(many.values, one.values),
        "reached": largest_difference(reached_by_many, reached),
        "devices": 0 if many.problem.mesh is None else many.problem.mesh.size,
    }


def after_fits():
    """Of fits with noise that is estimated, with windows, and what follows from fits."""
    result, many = fits(pendulums, fitted)
    one = dataclasses.replace(many, problem=dataclasses.replace(many.problem, mesh=None))
    profiles = [fit.profile(found, "drag", points=3).deviance for found in (many, one)]
    u = many.state.u + 0.01
    densities = [
        jax.jit(jax.value_and_grad(fit.log_density(many, devices=devices)))(u)
        for devices in (jax.devices(), None)
    ]
    model, given = springs(1)
    both = [
        fit.estimate(model, given, window=1.0, progress=False, devices=devices)
        for devices in (jax.devices()[:2], None)
    ]
    options = {"window": 0.5, "steps": 3, "batch": 3, "optimizer": optax.sgd(1e-4)}
    steps = [
        fit.stochastic(model, given, progress=False, devices=devices, **options)
        for devices in (jax.devices()[:3], None)
    ]
    return {
        **result,
        "profile": largest_difference(*profiles),
        "density": largest_difference(*densities),
        "windows": largest_difference(*(fitted(found) for found in both)),
        "stochastic": largest_difference(*(found.values for found in steps)),
    }


def local_data(count):
    """Of a batch of which each process has a part."""
    mesh = Mesh(np.array(jax.devices()), ("trajectories",))
    over = jaxspark.batch.over_devices(composed, in_axes=(0, None), devices=mesh)
    share = count // jax.process_count()
    mine = slice(share * jax.process_index(), share * (jax.process_index() + 1))
    sharding = NamedSharding(mesh, PartitionSpec("trajectories"))
    lane = jax.tree.map(
        lambda x: jax.make_array_from_process_local_data(sharding, np.asarray(x)[mine]),
        lanes(count),
    )
    gradient, many = jax.jit(jax.grad(loss(over), 1, has_aux=True))(lane, SHARED)
    here = {int(s.index[0].start or 0) for s in many[0].addressable_shards}
    args = jax.tree.map(jnp.asarray, SHARED)
    result = {"first lanes of shards": sorted(here)}
    many, gradient = everywhere(many), everywhere(gradient)
    if jax.process_index() == 0:
        one = jax.jit(jax.grad(loss(jax.vmap(composed, (0, None))), 1, has_aux=True))
        expected, single = one(lanes(count), args)
        result["value"] = largest_difference(many[:2], single[:2])
        result["by what is shared"] = largest_difference(gradient, expected)
    return {**result, "gradient": float(gradient["l"])}


def loops():
    """Of adaptive solves: values, numbers of steps, and what devices send each other."""
    over, one = (
        jaxspark.batch.over_devices(adaptive, in_axes=(0, None)),
        jax.vmap(adaptive, (0, None)),
    )
    lane, args = lanes(16), jax.tree.map(jnp.asarray, SHARED)
    program = over.lower(lane, args).compile()
    many, single = program(lane, args), jax.jit(one)(lane, args)
    return {
        "value": largest_difference(many[:2], single[:2]),
        "steps": np.asarray(many[2]).tolist(),
        "steps of one": np.asarray(single[2]).tolist(),
        "shards": len(many[0].sharding.device_set),
        "sent": re.findall(r"(all-\w+|collective-\w+|reduce-scatter)\(", program.as_text()),
    }


def main(argv):
    if argv == ["devices"]:
        return {
            "devices": jax.device_count(),
            "composed": differences(composed, 13),
            "forward": forward(13),
            "loops": loops(),
        }
    if argv == ["thorough"]:
        return {
            "adaptive": differences(adaptive, 16),
            "some": differences(composed, 5, devices=jax.devices()[3:5]),
            "starts": many_starts(),
            "after": after_fits(),
        }
    port, count, rank, folder = int(argv[0]), int(argv[1]), int(argv[2]), pathlib.Path(argv[3])
    jax.distributed.initialize(f"127.0.0.1:{port}", count, rank, initialization_timeout=300)
    return {
        "devices": jax.device_count(),
        "local data": local_data(8),
        "fits": resumed(folder),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
