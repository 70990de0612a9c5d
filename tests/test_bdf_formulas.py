"""The formulas of coordinate splitting: annihilators, Newton matrices and their solves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.stiff._rates import projected_matrix
from jaxspark import MechanicalSystem
from jaxspark._bdf._equations import residuals, stabilised
from jaxspark._bdf._formulations import matrix_at, splits_at
from jaxspark._bdf._linear import bordered, reduced, Splits
from jaxspark._bdf._split import split, split_as
from jaxspark._system import flatten


N, M = 5, 2
B, T = jnp.asarray(37.0), jnp.asarray(0.3)
rng = np.random.default_rng(3)
A1, A2, A3 = (jnp.asarray(rng.normal(size=shape)) for shape in ((N, N), (M, N), (M, N, N)))
K = jnp.asarray(rng.normal(size=(N, N)))


@pytest.fixture(autouse=True)
def the_same_numbers_whatever_ran_before():
    global rng
    rng = np.random.default_rng(4)


def mass(t, q, args):
    return jnp.eye(N) * (3 + jnp.sum(q**2)) + A1 @ A1.T + jnp.diag(jnp.sin(q))


def force(t, q, v, args):
    return K @ jnp.sin(q) - 0.3 * v * jnp.sum(v**2) + jnp.cos(t) * q


def constraints(t, q, args):
    return A2 @ q + 0.2 * q @ A3 @ q + 0.1 * jnp.sin(q[:M]) + 0.05 * t * q[1:3]


def nonholonomic(t, q, v, args):
    return (jnp.sin(q[0]) * v[3] - jnp.cos(q[1]) * v[4] + 0.2 * t)[None]


def setting(k=None):
    """A random state of a random system, and a discrete derivative linear in it."""
    system = MechanicalSystem(mass, force, constraints, k)
    q, v = (jnp.asarray(rng.normal(size=N)) for _ in range(2))
    flat, _, _ = flatten(system, T, q, v, None)
    size = 2 * N + 2 * flat.nlam + flat.npsi
    x = jnp.concatenate([q, v, jnp.zeros(size - 2 * N)])
    offset = jnp.asarray(rng.normal(size=size)) * B
    return flat, x, offset


def projected(flat, offset, splits, at):
    """The equations (2.12), as a function of `(q, v)`."""

    def equations(states):
        x = at.at[: 2 * N].set(states)
        there = splits_at(flat, T, x, splits)
        found = there.project(residuals(flat, T, x, B * x + offset))
        return jnp.concatenate([found.kinematic, found.dynamic, found.velocity, found.position])

    return equations


def largest(x):
    return float(jnp.max(jnp.abs(x)))


def test_annihilator():
    G = jnp.asarray(rng.normal(size=(M, N)))
    found = split(G)
    T_, Q = found.tangent(), found.Q
    P = jax.vmap(found.annihilate, 1, 1)(jnp.eye(N))
    assert largest(P @ G.T) <= 1e-14 and largest(G @ T_) <= 1e-14
    assert largest(P - T_.T) == 0
    # Not the identity, as Remark 2.1 of the paper has it.
    assert largest(P @ P.T - (jnp.eye(N - M) + Q.T @ Q)) <= 1e-14 and largest(Q) > 0.1
    assert largest(G @ found.normal() - jnp.eye(M)) <= 1e-13
    r = jnp.asarray(rng.normal(size=N))
    s = found.multipliers(r)
    assert largest((r + G.T @ s)[found.dependent]) <= 1e-14
    assert largest(found.lift(found.annihilate(r))[found.dependent]) == 0


def test_annihilators_under_jit_and_vmap():
    G = jnp.asarray(rng.normal(size=(300, M, N)))
    products = jax.jit(jax.vmap(lambda G: split(G).tangent().T @ G.T))(G)
    assert largest(products) <= 1e-9


def test_derivative_of_the_projection():
    """Lemma 2.2: `d(P r)/dq = P d(G^T s)/dq`, and nothing flows through the choice."""
    q, r = (jnp.asarray(rng.normal(size=N)) for _ in range(2))

    def jacobian(q):
        return jax.jacfwd(lambda q: constraints(T, q, None))(q)

    here = split(jacobian(q))
    s = here.multipliers(r)
    direct = jax.jacfwd(lambda q: split_as(here.order, jacobian(q)).annihilate(r))(q)
    lemma = here.tangent().T @ jax.jacfwd(lambda q: jacobian(q).T @ s)(q)
    assert largest(direct - lemma) <= 1e-12 * largest(lemma)
    chosen = jax.jacfwd(lambda q: split(jacobian(q)).annihilate(r))(q)
    assert largest(chosen - direct) <= 1e-13 * largest(direct)


@pytest.mark.parametrize("k", [None, nonholonomic])
def test_matrix_and_steps(k):
    """The matrix (2.14) is the derivative of (2.12); both solves give its Newton step."""
    flat, x, offset = setting(k)
    splits = splits_at(flat, T, x)
    assert largest(jax.vmap(splits.velocity.annihilate, 1)(splits.velocity.normal())) > 0
    found = residuals(flat, T, x, B * x + offset)
    s = splits.multipliers(found)
    full = matrix_at(flat, T, x, B * x + offset, B, s)
    equations = projected(flat, offset, splits, x)
    exact = jax.jacfwd(equations)(x[: 2 * N])
    assert largest(projected_matrix(splits, full) - exact) <= 1e-10 * largest(exact)
    newton = jnp.linalg.solve(exact, equations(x[: 2 * N]))
    rhs = splits.project(found)
    for linear in (bordered(full), reduced(flat, splits, full)):
        assert largest(linear.solve(splits, rhs) - newton) <= 1e-12 * largest(newton)
    # With multipliers: residuals with s in them vanish at the dependent coordinates.
    whole = stabilised(flat, T, x.at[2 * N :].set(s), B * x + offset)
    step = bordered(full).solve_all(whole)[: 2 * N]
    assert largest(step - newton) <= 1e-12 * largest(newton)


def test_newton_converges_quadratically():
    flat, x, offset = setting()
    splits = splits_at(flat, T, x)
    # Rates of a step of implicit Euler from nearby.
    start = x[: 2 * N]
    end = x.at[: 2 * N].set(start + 0.02 * jnp.asarray(rng.normal(size=2 * N)))
    offset = -B * end
    equations = projected(flat, offset, splits, x)
    states, sizes = start, []
    for _ in range(8):
        step = jnp.linalg.solve(jax.jacfwd(equations)(states), equations(states))
        states = states - step
        sizes.append(largest(step))
    sizes = np.array(sizes)
    small = sizes[(sizes < 0.1) & (sizes > 1e-8)]
    assert small.size >= 2 and sizes[-1] <= 1e-12
    assert np.all(np.log(small[1:]) <= 1.6 * np.log(small[:-1]))


def test_published_algorithm_is_not_newton():
    """Algorithm 2.1 projects the unconstrained step: right only for a multiple of the identity.

    Neither is the residual to be divided by the mass matrix first (Remark 3.1).
    """
    flat, x, offset = setting()
    splits = splits_at(flat, T, x)
    found = residuals(flat, T, x, B * x + offset)
    full = matrix_at(flat, T, x, B * x + offset, B, splits.multipliers(found))
    newton = bordered(full).solve(splits, splits.project(found))
    free = jnp.linalg.solve(
        full[: 2 * N, : 2 * N], jnp.concatenate([found.kinematic, found.dynamic])
    )
    # (2.23) and (2.24), their signs made consistent: P u = P u_free, G u = b.
    P, here = splits.position.tangent().T, splits.position
    G = full[2 * N + M :, :N]
    onto = jnp.concatenate([P, G])
    dq = jnp.linalg.solve(onto, jnp.concatenate([here.annihilate(free[:N]), found.position]))
    rates = full[2 * N : 2 * N + M, :N]
    velocity = found.velocity - rates @ dq
    dv = jnp.linalg.solve(onto, jnp.concatenate([here.annihilate(free[N:]), velocity]))
    literal = jnp.concatenate([dq, dv])
    assert jnp.linalg.norm(literal - newton) >= 0.05 * jnp.linalg.norm(newton)
    inverse_mass = jnp.linalg.inv(mass(T, x[:N], None))
    assert largest(P @ inverse_mass @ G.T) > 1e-2


def test_splits_without_nonholonomic_constraints_are_one():
    flat, x, _ = setting()
    splits = splits_at(flat, T, x)
    assert isinstance(splits, Splits) and splits.position is splits.velocity
