"""Entries taken by index have sums for transposes, and the same derivatives of every order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference
from jaxspark._jax_internals import with_gathers_summed
from jaxspark._jax_internals._gathered import FEW


pytestmark = pytest.mark.inside

ROWS, COLUMNS = np.array([0, 1, 2, 1]), np.array([2, 0, 1, 1])
GRID = np.array([[0, 3], [1, 1]])
TAKEN = {
    "rows": lambda x: x[ROWS],
    "columns": lambda x: x[:, COLUMNS],
    "entries": lambda x: x[ROWS, COLUMNS],
    "a grid": lambda x: x[GRID, GRID % 3],
    "from the end": lambda x: x[jnp.array([-1, 2])],
    "apart": lambda x: x[ROWS, None, COLUMNS],
    "in the middle": lambda x: x.reshape(2, 2, 3)[:, np.array([1, 0, 1])],
    "twice": lambda x: x[ROWS][:, COLUMNS],
    "take": lambda x: jnp.take(x, ROWS, axis=0),
    "clipped": lambda x: jnp.take(x, np.array([0, 7, -9]), axis=0, mode="clip"),
    "filled": lambda x: x.at[np.array([0, 7])].get(mode="fill", fill_value=3.0),
}
# Left as they are: parts of rows.
LEFT = {"parts of rows": lambda x: x[GRID, :2]}


def x0():
    return jax.random.normal(jax.random.key(0), (4, 3))


def total(function):
    return lambda x: jnp.sum(jnp.sin(function(x)) * function(x))


@pytest.mark.parametrize("name", [*TAKEN, *LEFT])
def test_values_and_derivatives_are_those_of_gathers(name):
    plain = {**TAKEN, **LEFT}[name]
    summed = with_gathers_summed(plain)
    batch = jnp.stack([x0(), 2 * x0(), x0() ** 2], 1)
    transformed = [
        lambda f: f(x0()),
        lambda f: jax.grad(total(f))(x0()),
        lambda f: jax.jacfwd(jax.grad(total(f)))(x0()),
        lambda f: jax.jacrev(jax.grad(total(f)))(x0()),
        lambda f: jax.vmap(jax.grad(total(f)), 1)(batch),
        lambda f: jax.grad(total(jax.vmap(f, 1)))(batch),
        lambda f: jax.jacrev(jax.jacfwd(total(f)))(x0()),
    ]
    for of in transformed:
        assert largest_difference(jax.jit(lambda of=of: of(summed))(), of(plain)) <= 1e-14


@pytest.mark.parametrize("name", TAKEN)
def test_no_scatter_is_left(name):
    def program(function):
        return str(jax.make_jaxpr(jax.vmap(jax.grad(total(function))))(x0()[None]))

    assert "scatter" in program(TAKEN[name])
    assert "scatter" not in program(with_gathers_summed(TAKEN[name]))


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32])
def test_indices_of_small_integers(dtype, mode):
    """An axis is longer than they count."""
    x, places = jnp.linspace(1.0, 2.0, 300), np.array([7, 100])
    summed = with_gathers_summed(lambda x: jnp.take(x, places.astype(dtype), mode=mode))
    # Of usual integers: with others JAX 0.10 loses an entry of the scatter at times.
    expected = jax.grad(total(lambda x: x[places]))(x)
    assert largest_difference(jax.grad(total(summed))(x), expected) <= 1e-14


def test_where_much_is_taken_scatters_stay():
    n = FEW // 16 + 1
    function = with_gathers_summed(lambda x: x[np.arange(16) % n])
    assert "scatter" in str(jax.make_jaxpr(jax.grad(total(function)))(jnp.ones(n)))


def test_indices_of_lanes():
    """Each lane takes others."""

    def taken(x, index):
        return jnp.sum(with_gathers_summed(lambda x: x[index])(x) ** 3)

    index = jnp.array([[0, 1, 1], [3, 2, 0]])
    found = jax.vmap(jax.grad(taken), (None, 0))(x0(), index)
    one = [jax.grad(lambda x, i=i: jnp.sum(x[i] ** 3))(x0()) for i in index]
    assert largest_difference(found, jnp.stack(one)) <= 1e-14


def test_gradients_of_a_solve():
    """A net of rods, whose ends are taken by index."""
    first, second = np.array([3, 0, 1]), np.array([0, 1, 2])

    def lengths(t, q, args):
        x = jnp.concatenate([q.reshape(3, 2), jnp.zeros((1, 2))])
        return 0.5 * (jnp.sum((x[first] - x[second]) ** 2, 1) - args["length"] ** 2)

    def force(t, q, v, args):
        return jnp.tile(jnp.array([0.0, -9.81]), 3) - args["drag"] * v

    mass = lambda t, q, args: jnp.eye(6)
    system = jaxspark.MechanicalSystem(mass, force, holonomic=lengths)
    q0 = jnp.array([1.0, 0.0, 2.0, 0.0, 3.0, 0.0])

    def end(args, method):
        solution = jaxspark.solve(system, q0, jnp.zeros(6), args, t1=0.5, method=method)
        return jnp.sum(solution.y1**2)

    args = {"length": jnp.ones(3), "drag": jnp.asarray(0.1)}
    for method in (None, jaxspark.methods.Gauss(2)):
        of = jax.jit(jax.grad(end), static_argnums=1)
        found = of(args, method)
        # What was traced before stays as it was.
        jax.clear_caches()
        with jaxspark.jax_internals(False):
            plain = jax.grad(end)(args, method)
        jax.clear_caches()
        assert largest_difference(found, plain) <= 1e-10
