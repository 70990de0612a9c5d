"""Redundant constraints: a parallelogram with a third crank, one constraint too many."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxspark
from jaxspark import Joint, MultibodySystem
from jaxspark._blocks import dense
from jaxspark.linear import AcyclicNullSpace, Pattern
from rods import backward_error, flat, relative, right_hand_sides, solve_both, with_values


REDUNDANT = AcyclicNullSpace(redundant=True)
# Three cranks of length 1 on the ground at x = 0, 1 and 2, and a coupler of length 2.
ARGS = {"crank": 0.7, "coupler": 1.9, "g": 9.81}
FEET = np.array([0.0, 1.0, 2.0])


def pattern_at(angle):
    """Cranks are the bodies 0, 1 and 2; two rows for each foot and for each pin."""
    rows, B = [], []
    for crank in range(3):
        turn = 0.5 * np.array([-np.sin(angle), np.cos(angle)])
        for axis in range(2):
            unit = np.eye(3)[axis]
            rows.append((crank, -1))
            B.append([unit - [0, 0, turn[axis]], np.zeros(3)])
        # The coupler is horizontal; the pin is FEET - 1 along it.
        for axis in range(2):
            unit = np.eye(3)[axis]
            lever = 0.0 if axis == 0 else FEET[crank] - 1
            rows.append((crank, 3))
            B.append([unit + [0, 0, turn[axis]], -unit - [0, 0, lever]])
    return Pattern([3] * 4, rows), np.array(B)


@pytest.mark.parametrize("angle", [0.3, 1.1, 2.4])
def test_solutions_and_multipliers_of_minimum_norm(angle):
    pattern, B = pattern_at(angle)
    assert np.linalg.matrix_rank(dense(pattern, with_values(pattern, B))) == 23
    for symmetric in (True, False):
        matrix = with_values(pattern, B)
        if not symmetric:
            # Forces that are not ideal, but as redundant as the constraints.
            turned = np.eye(3) + 0.2 * np.random.default_rng(4).normal(size=(4, 3, 3))
            C = np.einsum("msq,msqp->msp", B, turned[pattern.rows])
            matrix = jaxspark.linear.BlockMatrix(matrix.K, matrix.B, jnp.asarray(C))
        full, (f, g) = np.asarray(dense(pattern, matrix)), right_hand_sides(pattern)
        rows = full[12:, :12]
        # What a motion asks of the constraints.
        g = jnp.asarray(rows @ np.random.default_rng(1).normal(size=(12, 3)))
        (x, lam), _, regular = solve_both(REDUNDANT, pattern, matrix, f, g)
        exact = np.linalg.lstsq(full, flat(pattern, f, g), rcond=1e-10)[0]
        assert bool(regular)
        assert relative(flat(pattern, x, lam), exact) <= 1e-10


def test_rank_is_reported():
    pattern, B = pattern_at(0.8)
    matrix = with_values(pattern, B)
    factors = eqx.filter_jit(REDUNDANT.factor_blocks)(pattern, matrix)
    assert int(jnp.sum(factors.tree.rank)) == pattern.num_rows - 1
    # The combination of rows that vanishes: internal forces in equilibrium.
    rows = np.asarray(dense(pattern, matrix))[12:, :12]
    plan = REDUNDANT.symbolic(pattern)
    null = np.asarray(factors.tree.null)[0][plan.row_back % plan.R]
    assert np.linalg.norm(null @ rows) <= 1e-12 * np.linalg.norm(null)
    # Folded flat one more motion is free, and one more constraint redundant.
    pattern, B = pattern_at(0.0)
    factors = eqx.filter_jit(REDUNDANT.factor_blocks)(pattern, with_values(pattern, B))
    assert int(jnp.sum(factors.tree.rank)) == np.linalg.matrix_rank(
        np.asarray(dense(pattern, with_values(pattern, B)))[12:, :12]
    )
    for solver in (AcyclicNullSpace(loops="cluster"), AcyclicNullSpace(loops="border")):
        factors = eqx.filter_jit(solver.factor_blocks)(pattern, with_values(pattern, B))
        assert not solver.regular_blocks(pattern, factors)


def test_nothing_changes_without_redundancy():
    pattern, B = pattern_at(0.8)
    kept = Pattern(pattern.sizes, pattern.rows[:-1])
    error, regular = backward_error(REDUNDANT, kept, with_values(kept, B[:-1]))
    assert error <= 1e-14 and regular


# In motion.


def of_body(crank, coupler):
    return jnp.stack([crank, crank, crank, coupler])


def own(args):
    crank, coupler = args["crank"], args["coupler"]
    inertias = of_body(crank / 12, coupler * 4 / 12)
    return {"m": of_body(crank, coupler), "J": inertias}


def mass(t, y, own, args):
    del t, y, args
    return jnp.stack([own["m"], own["m"], own["J"]])


def force(t, y, z, own, args):
    del t, z
    return jnp.stack([0 * y[0], -own["m"] * args["g"], 0 * y[0]])


def direction(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def foot(t, crank, ground, where, args):
    del t, ground, args
    return crank[:2] - 0.5 * direction(crank[2]) - jnp.stack([where, 0 * where])


def pin(t, crank, coupler, where, args):
    del t, args
    along = (where - 1) * direction(coupler[2])
    return crank[:2] + 0.5 * direction(crank[2]) - coupler[:2] - along


def half_pin(t, crank, coupler, where, args):
    return pin(t, crank, coupler, where, args)[:1]


@functools.cache
def linkage(redundant):
    feet = Joint(foot, [(0, -1), (1, -1), (2, -1)], own=lambda args: jnp.asarray(FEET))
    if redundant:
        pins = (Joint(pin, [(0, 3), (1, 3), (2, 3)], own=lambda args: jnp.asarray(FEET)),)
    else:
        pins = (
            Joint(pin, [(0, 3), (1, 3)], own=lambda args: jnp.asarray(FEET[:2])),
            Joint(half_pin, [(2, 3)], own=lambda args: jnp.asarray(FEET[2:])),
        )
    return MultibodySystem(mass, force, (feet, *pins), own=own)


def start(angle, rate):
    along, turn = direction(angle), rate * direction(angle + np.pi / 2)
    feet = jnp.stack([jnp.asarray(FEET), jnp.zeros(3)], 1)
    cranks = jnp.concatenate([feet + 0.5 * along[None], jnp.broadcast_to(angle, (3, 1))], 1)
    coupler = jnp.concatenate([along + jnp.asarray([1.0, 0.0]), jnp.zeros(1)])[None]
    still = jnp.broadcast_to(rate, (3, 1))
    speeds = jnp.concatenate([jnp.broadcast_to(0.5 * turn[None], (3, 2)), still], 1)
    moved = jnp.concatenate([turn, jnp.zeros(1)])[None]
    return jnp.concatenate([cranks, coupler]), jnp.concatenate([speeds, moved])


def motion(redundant, angle, args, num_steps=60, multipliers=False):
    y0, z0 = start(angle, jnp.asarray(0.4))
    solver = REDUNDANT if redundant else AcyclicNullSpace(loops="cluster")
    return jaxspark.rollout(
        linkage(redundant), y0, z0, args, method=jaxspark.Gauss(2), h=0.005, num_steps=num_steps,
        save_every=None, multipliers=multipliers, linear_solver=solver,
    )  # fmt: skip


def acceleration(angle, args=ARGS):
    """Of the angle, from the energies of cranks and coupler."""
    inertia = 3 * args["crank"] * (1 / 12 + 1 / 4) + args["coupler"]
    return -args["g"] * np.cos(angle) * (1.5 * args["crank"] + args["coupler"]) / inertia


def test_motion_is_that_of_the_angle():
    solution = motion(True, jnp.asarray(1.9), ARGS)
    exact = solve_ivp(
        lambda t, x: [x[1], acceleration(x[0])], (0, 0.3), [1.9, 0.4], rtol=1e-12, atol=1e-12
    )
    angle, rate = exact.y[:, -1]
    y, z = np.asarray(solution.y1), np.asarray(solution.z1)
    assert np.max(np.abs(y[:3, 2] - angle)) <= 1e-8
    assert np.max(np.abs(z[:3, 2] - rate)) <= 1e-8
    expected = start(jnp.asarray(angle), jnp.asarray(rate))
    assert max(np.max(np.abs(y - expected[0])), np.max(np.abs(z - expected[1]))) <= 1e-8
    assert float(solution.stats.max_g) <= 1e-13
    other = motion(False, jnp.asarray(1.9), ARGS)
    assert np.max(np.abs(y - other.y1)) <= 1e-11


def test_multipliers_of_a_motion():
    """They keep the bodies where they are, and are the smallest that do."""
    solution = motion(True, jnp.asarray(1.9), ARGS, num_steps=5, multipliers=True)
    y, z = np.asarray(solution.y1), np.asarray(solution.z1)
    system, count = linkage(True), 12
    g = lambda y: jnp.concatenate([x.ravel() for x in system.g(0.0, y, ARGS)])
    rows = np.asarray(jax.jacfwd(g)(solution.y1)).reshape(count, 12)
    bend = acceleration(y[0, 2])
    along = np.array([np.cos(y[0, 2]), np.sin(y[0, 2])])
    turn = np.array([-along[1], along[0]])
    a = bend * turn - z[0, 2] ** 2 * along
    accelerations = np.array([[*(0.5 * a), bend]] * 3 + [[*a, 0]])
    inertia = np.array([mass(0.0, None, x, ARGS) for x in zip_rows(own(ARGS))])
    weight = np.array([[0, -m * ARGS["g"], 0] for m in np.asarray(own(ARGS)["m"])])
    missing = (weight - inertia * accelerations).ravel()
    expected = np.linalg.lstsq(rows.T, missing, rcond=1e-10)[0]
    lam = np.concatenate([np.ravel(x[-1]) for x in solution.multipliers.lam])
    assert relative(rows.T @ lam, missing) <= 1e-7
    assert relative(lam, expected) <= 1e-7


def zip_rows(parameters):
    return [jax.tree.map(lambda x: x[i], parameters) for i in range(4)]


def loss(redundant, angle, args):
    solution = motion(redundant, angle, args, num_steps=3)
    return jnp.sum(jnp.sin(solution.y1)) + jnp.sum(solution.z1**2)


@pytest.mark.thorough
def test_gradients_and_batches():
    def everything(redundant):
        args = jax.tree.map(jnp.asarray, ARGS)
        angles = jnp.asarray([0.7, 1.9])
        of = jax.value_and_grad(functools.partial(loss, redundant), (0, 1))
        return eqx.filter_jit(jax.vmap(of, (0, None)))(angles, args)

    found, expected = everything(True), everything(False)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.all(np.isfinite(x)) and relative(x, y) <= 1e-8
    alone = loss(True, jnp.asarray(1.9), jax.tree.map(jnp.asarray, ARGS))
    assert np.abs(found[0][1] - alone) <= 1e-11
