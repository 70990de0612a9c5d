"""Computations that are written out number by number are those that they were."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark._jax_internals import written_out
from jaxspark._jax_internals._written_out import PLAIN_FROM


if jax.__version_info__ >= PLAIN_FROM:
    pytest.skip("nothing is written out by this release of JAX", allow_module_level=True)

from jaxspark._jax_internals._written_out._lower import numbers_program


X, A = jnp.array([0.3, -0.4]), jnp.array([[1.0, 2.0], [0.0, 3.0]])


def mixed(x, matrix):
    """Much that functions of users contain, with loops and branches."""

    def body(carry, g):
        y, z = carry
        y = y + g * jnp.sin(z) @ matrix
        z = z + g * (matrix.T @ y)
        return (y, z), (y**2).sum()

    (y, z), sums = jax.lax.scan(body, (x, 2 * x), jnp.array([0.1, 0.2, 0.3]))
    branch = jax.lax.cond(y[0] > 0, lambda a: a * 2.0, jnp.cos, z)
    norm = jnp.linalg.norm(jnp.concatenate([x, branch])) + jnp.max(jnp.abs(x))
    placed = jnp.zeros(3).at[1].set(x[0] ** 3).at[2].add(jnp.arctan2(x[1], x[0]))
    chosen = jnp.where(x > 0, jnp.exp(x), x / (1 + x**2))[jnp.array([1, 0])]
    outer = jnp.outer(x, chosen) @ matrix
    return dict(y=y, sums=sums, branch=branch, norm=norm, placed=placed, outer=outer)


def newton(x, matrix):
    """A loop of unknown length, and integers and truth values among the results."""

    def body(carry):
        root, count = carry
        return root - (root**3 - x[0] ** 2 - 1) / (3 * root**2), count + 1

    def unfinished(carry):
        root, count = carry
        return (jnp.abs(root**3 - x[0] ** 2 - 1) > 1e-12) & (count < 50)

    root, count = jax.lax.while_loop(unfinished, body, (1.5 + 0 * matrix[0, 0], 0))
    return root, count, root > 1


def assert_equal(a, b, rtol=1e-13):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("function", [mixed, newton])
def test_values(function):
    assert numbers_program(jax.make_jaxpr(function)(X, A)) is not None
    assert_equal(jax.jit(lambda x, m: written_out(function, x, m))(X, A), jax.jit(function)(X, A))
    # Without jit, too.
    assert_equal(written_out(function, X, A), function(X, A))


@pytest.mark.parametrize("function", [mixed, newton])
def test_batches(function):
    # Lanes of one operand and of both; each lane makes trips of its own.
    xs, matrices = jnp.stack([X, -X, 20 * X]), jnp.stack([A, 2 * A, A.T])
    loop = [function(x, m) for x, m in zip(xs, matrices, strict=True)]
    both = jax.jit(jax.vmap(lambda x, m: written_out(function, x, m)))(xs, matrices)
    assert_equal(both, jax.tree.map(lambda *leaves: jnp.stack(leaves), *loop))
    one = jax.jit(jax.vmap(lambda x: written_out(function, x, A)))(xs)
    loop = [function(x, A) for x in xs]
    assert_equal(one, jax.tree.map(lambda *leaves: jnp.stack(leaves), *loop))
    nested = jax.vmap(jax.vmap(lambda x, m: written_out(function, x, m), (0, None)), (None, 0))
    plain = jax.vmap(jax.vmap(function, (0, None)), (None, 0))
    assert_equal(jax.jit(nested)(xs, matrices), jax.jit(plain)(xs, matrices))


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_derivatives(mode):
    ours = jax.jit(mode(lambda x, m: written_out(mixed, x, m), (0, 1)))(X, A)
    assert_equal(ours, jax.jit(mode(mixed, (0, 1)))(X, A))


def total(function):
    return lambda x, m: sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(function(x, m)))


def test_second_derivatives_and_their_batches():
    ours, plain = total(lambda x, m: written_out(mixed, x, m)), total(mixed)
    assert_equal(jax.jit(jax.hessian(ours))(X, A), jax.jit(jax.hessian(plain))(X, A), 1e-12)
    xs = jnp.stack([X, 2 * X, -X])
    gradients = [jax.jit(jax.vmap(jax.grad(f, (0, 1)), (0, None))) for f in (ours, plain)]
    assert_equal(*[gradient(xs, A) for gradient in gradients])

    # What all lanes share takes the sum of their cotangents.
    def shared(function):
        return jax.jit(jax.grad(lambda m: jnp.sum(jax.vmap(function, (0, None))(xs, m))))

    assert_equal(shared(ours)(A), shared(plain)(A), 1e-12)


def test_hessian_through_a_scan_in_reverse():
    # Reverse mode of a scan takes programs apart: the rule must hold there, too.
    def loss(function):
        def run(x):
            def body(x, _):
                return x + 0.1 * function(x, A)["y"], None

            return jnp.sum(jax.lax.scan(body, x, None, length=4)[0] ** 2)

        return jax.jit(jax.jacfwd(jax.grad(run)))

    assert_equal(loss(lambda x, m: written_out(mixed, x, m))(X), loss(mixed)(X), 1e-12)


def test_what_is_known_to_be_zero_is_left_out():
    def product(x):
        sparse = jnp.zeros((6, 6)).at[jnp.arange(6), jnp.arange(6)].set(x)
        return sparse @ jnp.eye(6) @ x

    program = numbers_program(jax.make_jaxpr(product)(jnp.ones(6)))
    assert program is not None
    names = [eqn.primitive.name for eqn in program.jaxpr.eqns]
    assert names.count("mul") == 6 and "add" not in names


def test_one_kernel():
    def run(x):
        return jax.lax.fori_loop(0, 5, lambda _, x: written_out(mixed, x, A)["y"], x)

    calls = [
        line
        for line in jax.jit(run).lower(X).compile().as_text().splitlines()
        if " call(" in line and 'xla_cpu_small_call="true"' in line
    ]
    # One call has all operands, packed, for its operand; those inside it are between levels.
    assert any(re.search(r"f64\[1,\d+\]\S* call\(", line) for line in calls), calls


def test_what_is_too_large_or_has_no_rule_is_left_as_it_is():
    def large(x):
        return jnp.tanh(jnp.outer(x, x)) @ jnp.cos(jnp.outer(x, 2 * x))

    def sorted_products(x):
        return jnp.sort(x) * x, jnp.cumsum(x)

    x = jnp.linspace(-1, 1, 40)
    for function in (large, sorted_products):
        assert numbers_program(jax.make_jaxpr(function)(x)) is None
        assert_equal(jax.jit(lambda x, f=function: written_out(f, x))(x), jax.jit(function)(x))


def test_single_precision():
    x, matrix = X.astype(jnp.float32), A.astype(jnp.float32)

    def function(x, m):
        return m @ jnp.sin(x), x[0] > 0

    ours = jax.jit(lambda x, m: written_out(function, x, m))(x, matrix)
    assert ours[0].dtype == jnp.float32
    assert_equal(ours, jax.jit(function)(x, matrix), 1e-6)


def test_numbers_that_are_not_finite():
    def function(x):
        return 1 / x, jnp.log(x), jnp.where(x > 0, x, 1.0)

    x = jnp.array([0.0, -1.0, jnp.nan])
    assert_equal(jax.jit(lambda x: written_out(function, x))(x), function(x))


def test_other_platforms_get_it_as_it_is():
    exported = jax.export.export(
        jax.jit(lambda x: written_out(mixed, x, A)["y"]), platforms=("cpu", "cuda", "tpu")
    )(X)
    np.testing.assert_allclose(exported.call(X), mixed(X, A)["y"], rtol=1e-14)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (0 * x + 7.0, jnp.asarray(False)),
        lambda x: (
            jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] + 1, c[1] + 1), (x, 0))[0] * 0
        ),
    ],
)
def test_results_that_depend_on_nothing(function):
    x = jnp.array([1.0, 2.0])
    for a, b in zip(
        jax.tree.leaves(jax.jit(lambda x: written_out(function, x))(x)),
        jax.tree.leaves(function(x)),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_empty_batch():
    def run(x):
        return written_out(lambda x: jnp.sin(x) * jnp.sum(x), x)

    assert jax.jit(jax.vmap(run))(jnp.zeros((0, 3))).shape == (0, 3)


def test_large_integers_and_keys_keep_their_bits():
    x = jnp.ones(2, jnp.float32)
    count = jnp.asarray(2**24 + 1, jnp.int32)
    key = jax.random.key(3)

    def by_bits(x, count):
        return x * (count % 2).astype(x.dtype)

    def by_key(x, key):
        return x * jax.random.normal(key, (), x.dtype)

    found = jax.jit(lambda *a: written_out(by_bits, *a))(x, count)
    np.testing.assert_array_equal(found, x)
    found = jax.jit(lambda *a: written_out(by_key, *a))(x, key)
    np.testing.assert_allclose(found, by_key(x, key), rtol=1e-6)


def test_functions_with_reverse_rules_of_their_own():
    @jax.custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, cotangent: (2 * x * cotangent,))
    gradient = jax.jit(jax.grad(lambda x: written_out(lambda x: square(x) * x, x)))(2.0)
    assert float(gradient) == pytest.approx(12)
