"""Lobatto methods under JAX's transformations: derivatives, batches, precision, platforms."""

import jax
import numpy as np
import pytest

import jaxspark
from benchmarks.core._gradients import first_order, mixed_theta
from benchmarks.dalembert._families import lobatto
from benchmarks.dalembert._gradients import family_loss
from helpers import largest_difference, mixed
from jaxspark import Lobatto
from jaxspark.linear import DenseInverse, DenseLU, ElementwiseInverse


def test_forward_is_reverse_is_differences():
    loss = family_loss("A-B-C*")
    reverse_against_forward, against_differences = first_order(loss, mixed_theta())
    assert reverse_against_forward < 1e-10
    assert against_differences < 1e-8


def rollout(y, z, method, **options):
    problem = mixed()
    return jaxspark.rollout(
        problem.system,
        y,
        z,
        problem.args,
        method=method,
        h=0.05,
        num_steps=8,
        throw=False,
        **options,
    )


@pytest.mark.parametrize("family", ["A-B-C"])
def test_a_batch_is_a_loop(family):
    method, problem = lobatto(family, 3), mixed()
    y = np.tile(problem.y0, (3, 1))
    z = problem.z0[None, :] * np.ones((3, 1))
    project = jax.jit(
        jax.vmap(lambda y, z: jaxspark.project(problem.system, 0.0, y, z, problem.args))
    )
    start = project(y + 0.1 * np.arange(3)[:, None] * np.arange(4), z)
    batch = jax.jit(jax.vmap(lambda y, z: rollout(y, z, method, multipliers=True)))(
        start.y, start.z
    )
    single = jax.jit(lambda y, z: rollout(y, z, method, multipliers=True))
    assert np.all(batch.successful)
    for lane in range(3):
        alone = single(start.y[lane], start.z[lane])
        for name in ("ys", "zs", "multipliers"):
            mine = jax.tree.map(lambda x: x[lane], getattr(batch, name))
            assert largest_difference(mine, getattr(alone, name)) <= 1e-13


@pytest.mark.parametrize("family", ["A-B-C*"])
def test_linear_solvers_agree(family):
    problem, method = mixed(), lobatto(family, 3)
    solvers = [ElementwiseInverse(), DenseInverse(), DenseLU()]
    first, *others = [
        rollout(problem.y0, problem.z0, method, linear_solver=solver) for solver in solvers
    ]
    assert bool(first.successful)
    for other in others:
        assert largest_difference(other.ys, first.ys) <= 1e-14
        assert largest_difference(other.zs, first.zs) <= 1e-14


def test_single_precision():
    problem = mixed()
    double = rollout(problem.y0, problem.z0, Lobatto(3, psi="C"))
    y, z = np.float32(problem.y0), np.float32(problem.z0)
    single = rollout(y, z, Lobatto(3, psi="C"))
    assert single.ys.dtype == np.float32 and bool(single.successful)
    assert np.max(np.abs(np.asarray(single.ys) - np.asarray(double.ys))) <= 2e-6
    assert float(single.stats.max_k) <= 1e-6 and float(single.stats.max_g) <= 1e-6
