"""Redundant constraints in systems of every class, against the reduced ones."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.trust._redundant import (
    ARGS,
    CASES,
    differences,
    linkage,
    mechanical,
    METHODS,
    solved,
    START,
    start,
)
from jaxspark.linear import explain, redundant, with_blocks


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_motion_and_multipliers_of_minimum_norm(case, method):
    if method == "DOP853" and "own" in case:
        with pytest.raises(ValueError, match="whose forces are ideal"):
            differences(case, METHODS[method])
        return
    assert np.max(list(differences(case, METHODS[method]).values())) <= 1e-10


@pytest.mark.parametrize("case", ["mechanical", "own r", "sledge"])
@pytest.mark.parametrize("method", ["DOP853", "Lobatto"])
def test_gradients_are_those_of_the_reduced_system(case, method):
    if method == "DOP853" and "own" in case:
        method = "Gauss"
    system, reduced, at = CASES[case]

    def loss(system, args):
        solution = solved(system, at, METHODS[method], args)
        return jnp.sum(jnp.sin(solution.y1)) + jnp.sum(solution.z1**2)

    args = jax.tree.map(jnp.asarray, ARGS)
    found, expected = (jax.grad(functools.partial(loss, s))(args) for s in (system, reduced))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)
    forward = jax.jacfwd(functools.partial(loss, system))(args)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(forward), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("case", ["mechanical", "own r", "sledge"])
def test_derivatives_of_multipliers_keep_the_norm_minimal(case):
    system, _, (y, z) = CASES[case]
    y = jnp.asarray(y)

    def multipliers(angle, args):
        if case == "sledge":
            # Off the motion all three conditions turn, and remain dependent.
            found = jaxspark.multipliers(system, jnp.asarray(0.0), y.at[2].add(angle), z, args)
            return found.psi
        return jaxspark.multipliers(system, jnp.asarray(0.0), *start(1.2 + angle, 0.3), args).lam

    args = jax.tree.map(jnp.asarray, ARGS)
    along = jax.tree.map(lambda x: 0.3 * jnp.ones_like(x), args)
    slope = jax.jvp(multipliers, (jnp.asarray(0.0), args), (jnp.asarray(1.0), along))[1]

    def at(h):
        return multipliers(h, jax.tree.map(lambda x, d: x + h * d, args, along))

    h = 1e-3
    coarse, fine = ((at(s) - at(-s)) / (2 * s) for s in (h, h / 2))
    expected = (4 * fine - coarse) / 3
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-8 * np.max(np.abs(expected)))
    reverse = jax.jacrev(multipliers, (0, 1))(jnp.asarray(0.0), args)
    total = reverse[0] + jnp.tensordot(reverse[1]["m"], along["m"], 1)
    total = total + reverse[1]["g"] * along["g"]
    np.testing.assert_allclose(total, slope, rtol=0, atol=1e-11 * np.max(np.abs(expected)))


def test_batches_are_loops():
    system = CASES["mechanical"][0]

    def end(angle):
        solution = jaxspark.solve(
            system, *start(angle, 0.3), ARGS, t1=0.5, method=jaxspark.DOP853(), rtol=1e-8
        )  # fmt: skip
        return solution.y1

    angles = jnp.asarray([0.4, 1.2, 2.0])
    together = jax.vmap(end)(angles)
    np.testing.assert_allclose(together, [end(a) for a in angles], rtol=0, atol=1e-13)


def test_composition_and_programs_that_are_not_read():
    system, reduced, at = CASES["mechanical"]
    method = jaxspark.Composition(jaxspark.Lobatto(2), 4)
    with jaxspark.jax_internals(False):
        ends = [
            jaxspark.rollout(s, *at, ARGS, t1=0.5, method=method, num_steps=50, save_every=None)
            for s in (system, reduced)
        ]
    np.testing.assert_allclose(ends[0].y1, ends[1].y1, rtol=0, atol=1e-12)


def test_contradictions_and_independent_constraints_are_told():
    # Without `redundant`, by name.
    bare = mechanical(linkage)
    found = jaxspark.solve(bare, *START, ARGS, t1=1.0, method=jaxspark.Gauss(2), throw=False)
    assert found.result == jaxspark.RESULTS.singular

    # Conditions that contradict each other have no consistent start.
    def contradictory(t, y, args):
        # No tip is so far away.
        return jnp.concatenate([linkage(t, y, args), y[:1] - 10.0])

    with pytest.raises(Exception, match="projection onto the constraints did not converge"):
        jaxspark.project(redundant(mechanical(contradictory)), 0.0, *START, ARGS)


@pytest.mark.parametrize("method", [jaxspark.DOP853(), jaxspark.Gauss(2)], ids=str)
def test_contradictions_on_the_way_are_told(method):
    def g(t, y, args):
        circle = y @ y - 1.0
        return jnp.stack([circle, circle + 1e-2 * t**3])

    system = redundant(
        jaxspark.MechanicalSystem(
            lambda t, y, args: jnp.eye(2), lambda t, y, z, args: -9.81 * y, holonomic=g
        )
    )
    at = jnp.asarray([1.0, 0.0]), jnp.asarray([0.0, 1.0])
    found = jaxspark.solve(system, *at, t1=0.5, method=method, rtol=1e-9, throw=False)
    assert found.result == jaxspark.RESULTS.projection_failed


def test_who_refuses_and_words():
    system, _, at = CASES["mechanical"]
    assert "redundant" in explain(system, *at, ARGS)
    inner = system.system
    assert redundant(with_blocks(inner)) == redundant(system) == system
    with pytest.raises(ValueError, match="independent: use Gauss"):
        solved(system, at, jaxspark.GGL(jaxspark.RadauIIA(3)))
    with pytest.raises(ValueError, match=r"independent: solve a system of jaxspark.linear.redu"):
        jaxspark.stiff.bdf(system, *at, ARGS, t1=0.1)
    with pytest.raises(ValueError, match=r"leave linear_solver out, or give .*redundant=True"):
        jaxspark.solve(system, *at, ARGS, t1=0.1, linear_solver=jaxspark.linear.DenseLU())
    with pytest.raises(ValueError, match="solved as one block"):
        with_blocks(system)
    with pytest.raises(TypeError, match="must be a jaxspark system"):
        redundant(linkage)
