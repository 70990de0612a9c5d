"""The test problems state the equations that their reference values solve."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.problems import digits, load_reference, PROBLEMS


POTENTIALS = {
    "chain_rods": lambda y, a: a["gravity"] * np.sum(a["masses"] * y[1::3]),
    "chaplygin_sleigh": lambda y, a: 0.0,
    "heavy_top": lambda y, a: a["m"] * a["g"] * y[2],
    "sleigh_tow": lambda y, a: (
        -a["gs"] * (a["m"] * (y[0] + a["a"] * np.cos(y[2])) + a["mb"] * y[3])
    ),
}
"""Potential energies (J) of the systems that are not given by a Lagrangian."""

WITHOUT_REFERENCE = ("contact_oscillator", "magnetic_particle", "mixed", "planar_chain")
WITHOUT_REFERENCE += ("spherical_kepler", "four_bar", "spatial_four_bar")
WITH_REFERENCE = [name for name in PROBLEMS if name not in WITHOUT_REFERENCE]
CONSERVATIVE = [*POTENTIALS, "nonholonomic_particle", "pendulum", "planar_chain"]
CONSERVATIVE += ["contact_oscillator", "magnetic_particle"]


@functools.cache
def build(name):
    """The problem of that name."""
    return PROBLEMS[name]()


def energy(name, problem, y, z):
    """Of a conservative system whose kinetic energy is quadratic in the velocities (J)."""
    t, args = jnp.asarray(0.0, y.dtype), problem.args
    momentum = problem.system.p(t, y, z, args)
    if name in POTENTIALS:
        return 0.5 * np.sum(z * momentum) + POTENTIALS[name](y, args)
    return np.sum(z * momentum) - problem.system.lagrangian(t, y, z, args)


def rollout(problem, stages, **options):
    """By Gauss' method, from the start of the problem."""
    return jaxspark.rollout(
        problem.system,
        problem.y0,
        problem.z0,
        problem.args,
        method=jaxspark.Gauss(stages),
        **options,
    )


def largest(x):
    """The largest absolute value, zero if there is none."""
    return float(np.max(np.abs(x), initial=0.0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_start_is_consistent(name):
    problem = build(name)
    at = (problem.t0, problem.y0, problem.z0, problem.args)
    residuals = jaxspark.diagnostics.constraint_residuals(problem.system, *at)
    assert largest(residuals.g) <= 1e-13 * (1 + largest(problem.y0))
    assert largest(residuals.gdot) <= 1e-13 * (1 + largest(problem.z0))
    assert largest(residuals.k) <= 1e-13 * (1 + largest(problem.z0))


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_the_start_is_that_of_the_reference(name):
    problem = build(name)
    reference = problem.reference()
    assert problem.name == reference["name"]
    assert (problem.t0, problem.t_end) == (reference["t0"], reference["t_end"])
    np.testing.assert_allclose(problem.y0, reference["y0"], rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(problem.z0, reference["z0"], rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_multipliers_of_reference_states(name):
    # No integration: this compares all forces with the independent implementation that
    # computed the reference values.
    problem = build(name)

    @jax.jit
    def multipliers(t, y, z):
        return jaxspark.multipliers(problem.system, t, y, z, problem.args)

    for checkpoint in problem.reference()["checkpoints"]:
        y, z = np.array(checkpoint["y"]), np.array(checkpoint["z"])
        found = multipliers(checkpoint["t"], y, z)
        both = np.concatenate([np.ravel(found.lam), np.ravel(found.psi)])
        assert digits(both, checkpoint["lambda"] + checkpoint["psi"]) >= 12


@pytest.mark.parametrize("name", PROBLEMS)
def test_functions_follow_the_dtype_of_the_state(name):
    problem = build(name)
    y, z = np.float32(problem.y0), np.float32(problem.z0)

    def values(t, y, z):
        residuals = jaxspark.diagnostics.constraint_residuals(problem.system, t, y, z, problem.args)
        return residuals, jaxspark.multipliers(problem.system, t, y, z, problem.args)

    outputs = jax.tree.leaves(jax.eval_shape(values, np.float32(0.0), y, z))
    assert {leaf.dtype.name for leaf in outputs} <= {"float32", "bool"}


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_energy_is_conserved(name):
    problem = build(name)
    solution = rollout(problem, 3, h=2e-4 if name == "heavy_top" else 2e-3, num_steps=5)
    energies = [energy(name, problem, y, z) for y, z in zip(solution.ys, solution.zs, strict=True)]
    kinetic = 0.5 * np.sum(
        solution.z1 * problem.system.p(solution.t1, solution.y1, solution.z1, problem.args)
    )
    np.testing.assert_allclose(energies, energies[0], rtol=0, atol=1e-12 * (1 + kinetic))
    if problem.reference is not None:
        expected = problem.reference().get("invariants", {}).get("energy", energies[0])
        np.testing.assert_allclose(energies[0], expected, rtol=1e-13, atol=1e-13)


def rolling_disk(t, a):
    """Exact solution: the disk runs on a circle of radius `rho`."""
    turn, roll, start = 0.8, 3.0, 0.3
    phi, rho = start + turn * t, a["R"] * roll / turn
    psi = a["m"] * a["R"] * roll * turn * np.array([np.sin(phi), -np.cos(phi)])
    x = 1 + rho * (np.sin(phi) - np.sin(start))
    return np.array([x, -rho * (np.cos(phi) - np.cos(start)), phi, roll * t]), psi


def skate_incline(t, a):
    """Exact solution: a cycloid across the slope."""
    turn = 1.5
    size = a["g"] / (4 * turn**2)
    y = size * (turn * t - 0.5 * np.sin(2 * turn * t))
    psi = 2 * a["m"] * a["g"] * a["sin_alpha"] * np.sin(turn * t)
    return np.array([size * np.sin(turn * t) ** 2, y, turn * t]), psi[None]


def isokinetic(t, a):
    """Exact solution, by the Gudermannian function."""
    start = np.arctanh(np.sin(np.pi / 3))
    s = start - a["g"] * t / a["c"]
    scale = a["c"] ** 2 / a["g"]
    x = scale * (np.arctan(np.sinh(start)) - np.arctan(np.sinh(s)))
    y = -scale * np.log(np.cosh(s) / np.cosh(start))
    return np.array([x, y]), (-a["g"] * np.tanh(s) / a["c"])[None]


EXACT = {
    "rolling_disk": rolling_disk,
    "skate_incline": skate_incline,
    "isokinetic": isokinetic,
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_solutions(name):
    problem = build(name)
    for checkpoint in load_reference(name)["checkpoints"]:
        y, psi = EXACT[name](np.asarray(checkpoint["t"]), problem.args)
        assert min(digits(y, checkpoint["y"]), digits(psi, checkpoint["psi"])) >= 12
    solution = rollout(problem, 4, t1=2.0, num_steps=60, save_every=10, multipliers=True)
    ys, psis = EXACT[name](np.asarray(solution.ts), problem.args)
    np.testing.assert_allclose(solution.ys, ys.T, rtol=0, atol=1e-10)
    np.testing.assert_allclose(solution.multipliers.psi, psis.T, rtol=0, atol=1e-9)


def test_mixed_stays_regular_and_consistent():
    problem = build("mixed")
    solution = rollout(problem, 3, t1=problem.t_end, num_steps=40, save_every=4)

    @jax.jit
    @jax.vmap
    def singular_values(t, y, z):
        rank = jaxspark.diagnostics.constraint_rank(problem.system, t, y, z, problem.args)
        return rank.singular_values

    assert np.min(singular_values(solution.ts, solution.ys, solution.zs)) >= 0.3
    assert largest([solution.stats.max_g, solution.stats.max_k]) <= 1e-14
    assert largest(solution.stats.max_gdot) <= 1e-14
    assert largest(solution.zs[-1]) >= 0.1


@pytest.mark.parametrize("name", ["chain_rods", "planar_chain"])
def test_chains_of_any_length(name):
    for n in (1, 3):
        problem = PROBLEMS[name](n)
        at = (problem.t0, problem.y0, problem.z0, problem.args)
        rank = jaxspark.diagnostics.constraint_rank(problem.system, *at)
        assert int(rank.rank) == rank.size == (2 * n if name == "chain_rods" else n)
