"""Derivatives of a rollout: forward, reverse, differences; Hessians inside the scan."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.core._gradients import (
    batch_against_loop,
    chain_loss,
    CHAIN_THETA,
    CHECKPOINTS,
    differences,
    first_order,
    hessians,
    mixed_loss,
    mixed_theta,
    relative,
)
from helpers import thorough
from jaxspark._implicit import preconditioned_solve


def test_forward_is_reverse_is_differences():
    reverse_against_forward, against_differences = first_order(mixed_loss, mixed_theta())
    assert reverse_against_forward < 1e-10
    assert against_differences < 1e-8


@pytest.mark.parametrize(
    "checkpoint",
    [choice if choice in ("stages", "none") else thorough(choice) for choice in CHECKPOINTS],
)
def test_hessians_inside_the_scan(checkpoint):
    # Reverse over reverse is where a wrong rule hides; the others do not depend on the choice.
    assert hessians(checkpoint, ["rev(rev)"])["rev(rev)"] < 1e-7


@pytest.mark.parametrize("mode", ["fwd(rev)", thorough("fwd(fwd)")])
def test_other_hessians_inside_the_scan(mode):
    assert hessians("stages", [mode])[mode] < 1e-7


def test_gradients_of_a_batch():
    assert batch_against_loop() < 1e-12


def test_directions_of_time():
    """Backward in time, by the transpose of the same factorisation."""

    def loss(h):
        return chain_loss(jnp.asarray(CHAIN_THETA).at[9].set(h), num_steps=6)

    numeric = differences(lambda h: jax.jit(loss)(h[0]), np.array([-0.02]))[0]
    assert relative(jax.grad(loss)(-0.02), numeric) < 1e-8


def test_newton_runs_once_a_step():
    """The backward pass must not repeat it, whatever it keeps of a step.

    Counted in compiled code, from which what nobody needs is gone.
    """
    jax.clear_caches()

    def newton_loops(function):
        text = jax.jit(function).lower(CHAIN_THETA).compile().as_text()
        lines = [line for line in text.splitlines() if " while(" in line]
        return sum("jaxspark_newton" in line for line in lines)

    assert newton_loops(chain_loss) == 1
    assert newton_loops(jax.grad(chain_loss)) == 1
    assert newton_loops(jax.grad(lambda t: chain_loss(t, "none"))) == 1


@pytest.mark.parametrize("transposed", [False, True])
def test_linear_solve_without_contraction_falls_back(transposed):
    """With a useless preconditioner the solution is still exact, and so are derivatives."""
    rng = np.random.default_rng(0)
    matrix = jnp.asarray(rng.normal(size=(6, 6)))
    rhs = jnp.asarray(rng.normal(size=6))

    def solve(matrix, rhs):
        return preconditioned_solve(
            lambda x: matrix @ x, lambda b: 0.1 * b, lambda b: 0.1 * b, rhs, (1.0,)
        )

    if transposed:
        _, pull = jax.vjp(lambda b: solve(matrix, b), rhs)
        assert relative(pull(rhs)[0], np.linalg.solve(matrix.T, rhs)) < 1e-12
        return
    assert relative(jax.jit(solve)(matrix, rhs), np.linalg.solve(matrix, rhs)) < 1e-12
    gradient = jax.grad(lambda a: jnp.sum(solve(a, rhs) ** 2))(matrix)
    x = np.linalg.solve(matrix, rhs)
    exact = -np.outer(np.linalg.solve(matrix.T, 2 * x), x)
    assert relative(gradient, exact) < 1e-11


def test_derivatives_do_not_suffer_from_a_loose_newton_iteration():
    """They are those of the steps as they are, whatever constraints these leave."""
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, a: 0.5 * jnp.sum(v**2) - a * q[1],
        holonomic=lambda t, q, a: 0.5 * (jnp.sum(q**2) - 1),
    )

    def end(gravity, rtol):
        newton = jaxspark.NewtonOptions(rtol, rtol)
        solution = jaxspark.rollout(
            system, jnp.array([1.0, 0.0]), jnp.zeros(2), gravity, method=jaxspark.Gauss(2),
            h=0.1, num_steps=50, newton=newton, save_every=None, throw=False,
        )  # fmt: skip
        return solution.y1

    forward = jax.jit(jax.jacfwd(end), static_argnums=1)(9.81, 1e-6)
    reverse = jax.jit(jax.jacrev(end), static_argnums=1)(9.81, 1e-6)
    assert relative(reverse, forward) <= 1e-11


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_solves_are_as_accurate_as_asked_for(tolerance):
    rng = np.random.default_rng(2)
    matrix = jnp.asarray(np.eye(6) + 0.1 * rng.normal(size=(6, 6)))
    rhs = jnp.asarray(rng.normal(size=6))

    def solve(rhs):
        same = lambda x: x
        return preconditioned_solve(lambda x: matrix @ x, same, same, rhs, (1.0,), tolerance)

    errors = [
        relative(solve(rhs), np.linalg.solve(matrix, rhs)),
        relative(jax.vjp(solve, rhs)[1](rhs)[0], np.linalg.solve(matrix.T, rhs)),
    ]
    # And no more: it is asked for to save time.
    assert all(1e-3 * tolerance <= error <= max(tolerance, 1e-14) for error in errors)


@pytest.mark.parametrize("rate", [0.9, 1.5, 30.0])
def test_linear_solve_with_a_rough_inverse(rate):
    """Refinement contracts slowly or not at all; the solution and its transpose are exact."""
    rng = np.random.default_rng(3)
    n = 40
    error = rng.normal(size=(n, n))
    error *= rate / np.max(np.abs(np.linalg.eigvals(error)))
    rough = rng.normal(size=(n, n)) + 10 * np.eye(n)
    matrix = np.linalg.inv(rough) @ (np.eye(n) - error)
    A, B = jnp.asarray(matrix), jnp.asarray(rough)

    def solve(rhs):
        return preconditioned_solve(
            lambda x: A @ x, lambda b: B @ b, lambda b: B.T @ b, rhs, (1.0,)
        )

    exact = np.linalg.inv(matrix)
    tolerance = 1e-15 * np.linalg.cond(matrix) * n
    rhs = jnp.asarray(rng.normal(size=n))
    assert relative(jax.jit(solve)(rhs), exact @ rhs) < tolerance
    assert relative(jax.jit(jax.jacrev(solve))(rhs), exact) < tolerance


@pytest.mark.parametrize("singular", [False, True])
def test_linear_solve_with_an_exact_inverse(singular):
    """By refinement alone, of a condition of 1e8 or where only a pseudo-inverse exists."""
    rng = np.random.default_rng(4)
    left, right = (np.linalg.qr(rng.normal(size=(8, 8)))[0] for _ in range(2))
    sizes = np.r_[np.logspace(0, -2, 7), 0.0] if singular else np.logspace(0, -8, 8)
    matrix, pinv = (left * sizes) @ right.T, (right[:, :7] / sizes[:7]) @ left[:, :7].T
    inverse = pinv if singular else np.linalg.inv(matrix)
    A, B = jnp.asarray(matrix), jnp.asarray(inverse)

    def solve(rhs, B=B):
        return preconditioned_solve(
            lambda x: A @ x, lambda b: B @ b, lambda b: B.T @ b, rhs, (1.0,), exact=True
        )

    x = rng.normal(size=8)
    rhs, rhs_transposed = jnp.asarray(matrix @ x), jnp.asarray(matrix.T @ x)
    found, back = solve(rhs), jax.linear_transpose(solve, rhs)(rhs_transposed)[0]
    tolerance = 1e-15 * 8 * (1e2 if singular else 1e8)
    nearest = pinv @ matrix if singular else np.eye(8)
    assert relative(found, nearest @ x) < tolerance
    assert relative(back, (matrix @ pinv if singular else np.eye(8)) @ x) < tolerance
    # What is no inverse gives no number, rather than a wrong one.
    assert jnp.all(jnp.isnan(solve(rhs, -B)))


def test_gradient_with_large_steps():
    """Where Newton contracts slowly, the derivative is still exact."""

    def loss(theta):
        return chain_loss(theta.at[9].set(0.12), num_steps=3)

    theta = jnp.asarray(CHAIN_THETA)
    reverse = jax.jit(jax.grad(loss))(theta)
    numeric = differences(jax.jit(lambda t: loss(jnp.asarray(t))), CHAIN_THETA)
    assert relative(reverse, numeric) < 1e-7


def test_no_derivative_is_hidden_from_checkpoint():
    """Gradients do not depend on what the backward pass keeps."""
    values = [jax.jit(jax.grad(lambda t, c=c: chain_loss(t, c)))(CHAIN_THETA) for c in CHECKPOINTS]
    for value in values[1:]:
        assert relative(value, values[0]) < 1e-12


def driven(free):
    """A coordinate that the constraint determines, beside `free` ones that nothing drives."""
    return jaxspark.MechanicalSystem(
        mass=lambda t, q, a: jnp.eye(1 + free),
        force=lambda t, q, v, a: -q.at[0].set(0.0),
        holonomic=lambda t, q, a: q[0] ** 3 + q[0] - a - t,
    )


@pytest.mark.parametrize("free", [thorough(0), 1])
def test_gradient_of_what_constraints_determine(free):
    """Here only multipliers tell the transposed solve that it has not converged."""

    def end(a):
        start = jnp.ones(1 + free)
        solution = jaxspark.rollout(
            driven(free), 0 * start, start, a, method=jaxspark.Gauss(2),
            h=0.1, num_steps=5, save_every=None, throw=False, consistency_tol=None,
        )  # fmt: skip
        return solution.y1[0]

    y = float(end(0.2))
    slope = 1 / (3 * y**2 + 1)
    curvature = -6 * y * slope**3
    assert relative(jax.grad(end)(0.2), slope) < 1e-13
    assert relative(jax.jacfwd(end)(0.2), slope) < 1e-13
    assert relative(jax.grad(jax.grad(end))(0.2), curvature) < 1e-12
    assert relative(jax.jacfwd(jax.jacfwd(end))(0.2), curvature) < 1e-12


def test_gradient_in_float32():
    theta = jnp.asarray(CHAIN_THETA, jnp.float32)
    single = jax.jit(jax.grad(chain_loss))(theta)
    assert single.dtype == jnp.float32
    double = jax.jit(jax.grad(chain_loss))(CHAIN_THETA)
    assert relative(np.asarray(single, float), double) < 1e-4


def test_user_scan_over_steps():
    """The step itself is right to second order inside a scan that the user writes."""
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, a: 0.5 * jnp.sum(v**2) - a * q[1],
        holonomic=lambda t, q, a: 0.5 * (jnp.sum(q**2) - 1),
    )

    # Where Newton starts is of no consequence for derivatives.
    guess = jaxspark.step(
        system, jaxspark.Gauss(2), 0.0, jnp.array([1.0, 0.0]), jnp.zeros(2), 0.05, None, 9.81
    )[2]

    def loss(gravity):
        def body(carry, _):
            y, z, guess = carry
            y, z, guess, _ = jaxspark.step(
                system, jaxspark.Gauss(2), 0.0, y, z, 0.05, guess, gravity
            )
            return (y, z, guess), None

        carry = jnp.array([1.0, 0.0]), jnp.zeros(2), guess
        (y, z, _), _ = jax.lax.scan(body, carry, None, length=6)
        return jnp.sum(y**3) + jnp.sum(z**2)

    first, second = jax.jit(jax.grad(loss)), jax.jit(jax.grad(jax.grad(loss)))
    at = np.array([9.81])
    assert relative(first(9.81), differences(lambda x: jax.jit(loss)(x[0]), at)[0]) < 1e-9
    assert relative(second(9.81), differences(lambda x: first(x[0]), at)[0]) < 1e-8
