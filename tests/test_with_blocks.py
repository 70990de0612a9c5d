"""Blocks found in plain functions: values against dense ones, rollouts, derivatives."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks._array_sizes import array_sizes
from helpers import largest_difference
from jaxspark._blocks import dense
from jaxspark._kkt import kkt_blocks
from jaxspark._system import flatten


def rods(q):
    """The constraints of a hanging chain of rods of length 1, for `(N, 3)`: `x`, `y`, angle."""
    arm = 0.5 * jnp.stack([jnp.cos(q[:, 2]), jnp.sin(q[:, 2])], 1)
    before = jnp.concatenate([jnp.zeros((1, 2)), (q[:, :2] + arm)[:-1]])
    return q[:, :2] - arm - before


def inertia(args):
    return args["m"] * jnp.asarray([1.0, 1.0, 1 / 12])


def weight():
    return jnp.asarray([0.0, -9.81, 0.1])


def of_vector():
    """One vector, body after body."""

    def p(t, y, z, args):
        return (inertia(args)[None] * z.reshape(-1, 3)).reshape(-1)

    def f(t, y, z, args):
        return jnp.broadcast_to(weight(), (y.size // 3, 3)).reshape(-1)

    def g(t, y, args):
        return rods(y.reshape(-1, 3)).reshape(-1)

    return jaxspark.ConstrainedSystem(f=f, p=p, g=g), lambda q: q.reshape(-1)


def of_arrays():
    """A dictionary of arrays: all `x`, then all `y`, then all angles."""
    split = lambda q: {"r": q[:, :2].T, "turn": q[:, 2]}
    join = lambda state: jnp.concatenate([state["r"].T, state["turn"][:, None]], 1)

    def p(t, y, z, args):
        return split(inertia(args)[None] * join(z))

    def f(t, y, z, args):
        return split(jnp.broadcast_to(weight(), join(y).shape))

    def g(t, y, args):
        return rods(join(y))

    return jaxspark.ConstrainedSystem(f=f, p=p, g=g), split


CHAINS = [of_vector, of_arrays]
each_chain = pytest.mark.parametrize("build", CHAINS)


def start(split, count, seed=0):
    """A hanging chain at random angles and at rest."""
    angles = np.random.default_rng(seed).uniform(-1.0, 1.0, count)
    arms = 0.5 * np.stack([np.cos(angles), np.sin(angles)], 1)
    ends = np.cumsum(2 * arms, 0)
    q = jnp.asarray(np.concatenate([ends - arms, angles[:, None]], 1))
    return split(q), split(jnp.zeros_like(q))


def end(system, y, z, solver, scale, steps=2):
    args = {"m": scale}
    solution = jaxspark.rollout(
        system, y, z, args, method=jaxspark.Gauss(2), num_steps=steps, h=0.01, linear_solver=solver
    )
    return solution.y1, solution.z1


@pytest.mark.parametrize("build, reverse", [(of_vector, True), (of_arrays, False)])
def test_rollouts_equal_those_of_dense_matrices(build, reverse):
    """Values, and derivatives by a mass."""
    plain, split = build()
    y, z = start(split, 5)

    def derived(system, solver):
        m, run = jnp.asarray(1.3), functools.partial(end, system, y, z, solver)

        def total(m):
            values = run(m)
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(values)), values

        if reverse:
            (_, values), gradient = jax.value_and_grad(total, has_aux=True)(m)
            return values, gradient
        return jax.jvp(run, (m,), (jnp.ones_like(m),))

    found = derived(jaxspark.linear.with_blocks(plain), jaxspark.linear.AcyclicNullSpace())
    expected = derived(plain, jaxspark.linear.DenseLU())
    assert largest_difference(found[0], expected[0]) <= 1e-12
    assert largest_difference(found[1], expected[1]) <= 1e-11
    assert min(jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(expected[1])) >= 1e-3


@pytest.mark.inside
@each_chain
def test_auto_chooses_blocks(build):
    plain, split = build()
    y, z = start(split, 20)
    args = {"m": jnp.asarray(1.3)}
    assert "no blocks" in jaxspark.linear.explain(plain, y, z, args)
    words = jaxspark.linear.explain(jaxspark.linear.with_blocks(plain), y, z, args)
    assert "tree" in words and "null space: 20 blocks" in words, words


def skates():
    """A train of skates, with a constraint on the velocities of each."""
    plain, split = of_vector()

    def k(t, y, z, args):
        angle, v = y.reshape(-1, 3)[:, 2], z.reshape(-1, 3)
        return {"edge": jnp.sin(angle) * v[:, 0] - jnp.cos(angle) * v[:, 1] + args["m"] * v[:, 2]}

    return eqx.tree_at(lambda s: s.k, plain, k, is_leaf=lambda x: x is None), split


def not_ideal(with_k=False):
    """Forces of the holonomic constraints at other angles; of `k`, a little along `x`, too."""
    plain, split = skates() if with_k else of_vector()

    def r(t, y, lam, args):
        return -args["m"] * jax.vjp(lambda y: plain.g(t, y, args), 1.1 * y)[1](lam)[0]

    def reaction(t, y, z, psi, args):
        ideal = jax.vjp(lambda z: plain.k(t, y, z, args), z)[1](psi)[0]
        return (
            -ideal.reshape(-1) + jnp.stack([0.1 * psi["edge"], *2 * [0 * psi["edge"]]], 1).ravel()
        )

    system = jaxspark.ConstrainedSystem(
        f=plain.f, p=plain.p, g=plain.g, r=r, k=plain.k, reaction=reaction if with_k else None
    )
    return system, split


def turned(q, x):
    """A vector turned by a quaternion."""
    w, u = q[0], q[1:]
    return x + 2 * jnp.cross(u, jnp.cross(u, x) + w * x)


def ball_joints():
    """Bodies with quaternions, `(N, 7)`, and angular velocities in their own frames, `(N, 6)`."""
    arm = jnp.asarray([0.5, 0.1, 0.0])

    def of_body(y, z):
        u, w = z[3:], y[3:]
        turn = 0.5 * jnp.concatenate([-jnp.sum(w[1:] * u)[None], w[0] * u + jnp.cross(w[1:], u)])
        return jnp.concatenate([z[:3], turn])

    def v(t, y, z, args):
        return jax.vmap(of_body)(y, z)

    def p(t, y, z, args):
        return args["m"] * jnp.asarray([1, 1, 1, 0.1, 0.2, 0.3])[None] * z

    def g(t, y, args):
        begins = y[:, :3] - jax.vmap(lambda q: turned(q, arm))(y[:, 3:])
        ends = y[:, :3] + jax.vmap(lambda q: turned(q, arm))(y[:, 3:])
        return begins - jnp.concatenate([jnp.zeros((1, 3)), ends[:-1]])

    def f(t, y, z, args):
        return -args["m"] * z

    return jaxspark.ConstrainedSystem(f=f, v=v, p=p, g=g)


def with_clock():
    """Coordinates by a matrix for each body, of bodies of one and of two, and a clock."""
    size = jnp.asarray([1.0, 0.5, 2.0])

    def v(t, y, z, args):
        one, two = z[:1], z[1:]
        there = jnp.stack([two[0] + y[0] * two[1], two[1] * size[0], two[0] - two[1]])
        return jnp.concatenate([one, jnp.ones(1), there])

    def g(t, y, args):
        return (y[0] * t + args["m"] * jnp.sum(size * y[2:]) ** 2)[None]

    return jaxspark.ConstrainedSystem(f=lambda t, y, z, args: -z, v=v, g=g)


CASES = {
    "skates": (lambda: skates()[0], (12,), (12,)),
    "own r and reaction": (lambda: not_ideal(True)[0], (12,), (12,)),
    "quaternions": (ball_joints, (4, 7), (4, 6)),
    "clock": (with_clock, (5,), (3,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_dense_blocks(name):
    build, y_shape, z_shape = CASES[name]
    rng = np.random.default_rng(3)
    y, z = jnp.asarray(rng.normal(size=y_shape)), jnp.asarray(rng.normal(size=z_shape))
    # All unknowns of the clock are in one row: what is found is one block.
    system = jaxspark.linear.with_blocks(build(), [0, 1, 1] if name == "clock" else None)

    @eqx.filter_jit
    def both(t, y, z, args):
        flat, y, z = flatten(system, t, y, z, args)
        lam, psi = jnp.ones(flat.nlam), jnp.ones(flat.npsi)
        return flat.blocks(t, y, z), kkt_blocks(flat, t, y, z, lam, psi), flat.structure

    values, expected, structure = both(jnp.asarray(0.7), y, z, {"m": jnp.asarray(1.3)})
    index, size = structure.z.index.ravel(), structure.z.size
    order = np.concatenate([index[index < size], size + np.arange(structure.pattern.num_rows)])
    K2 = np.asarray(expected.K2)[np.ix_(order, order)]
    np.testing.assert_allclose(dense(structure.pattern, values.matrix), K2, atol=1e-15, rtol=1e-14)
    assert (values.matrix.C is None) == ("own" not in name)
    assert structure.pattern.num_blocks == (2 if name == "clock" else 4)
    padded = np.arange(structure.pattern.width) >= structure.pattern.sizes[:, None]
    np.testing.assert_array_equal(np.diagonal(values.matrix.K, 0, 1, 2)[padded], 1)
    if expected.v_z is None:
        assert values.v_z is None
        return
    v_z = np.zeros((structure.y.size + 1, structure.z.size + 1))
    v_z[structure.y.index[:, :, None], structure.z.index[:, None]] = values.v_z
    np.testing.assert_allclose(v_z[:-1, :-1], expected.v_z, atol=1e-15)
    assert not v_z[-1].any() and not v_z[:, -1].any()


def test_a_rollout_with_forces_that_are_not_ideal():
    plain, split = not_ideal()
    y, z = start(split, 4)
    ends = [
        end(system, y, z, solver, jnp.asarray(1.3))
        for system, solver in (
            (jaxspark.linear.with_blocks(plain), jaxspark.linear.AcyclicNullSpace()),
            (plain, jaxspark.linear.DenseLU()),
        )
    ]
    assert largest_difference(*ends) <= 1e-12


def test_the_structure_does_not_depend_on_values():
    plain, split = skates()
    system = jaxspark.linear.with_blocks(plain)
    y, z = start(split, 4)

    def structure(m):
        return flatten(system, jnp.asarray(0.0), y, z, {"m": m})[0].structure

    found = structure(jnp.asarray(0.0))
    assert found == structure(jnp.asarray(1.3)) == eqx.filter_jit(structure)(jnp.asarray(0.0))
    assert hash(found) == hash(structure(jnp.asarray(1.3)))


def test_what_is_wrapped():
    plain, _ = of_vector()
    once = jaxspark.linear.with_blocks(plain)
    assert jaxspark.linear.with_blocks(once) == once
    bodies = jaxspark.MultibodySystem(lambda *_: jnp.ones(2), lambda t, y, z, own, args: z)
    assert jaxspark.linear.with_blocks(bodies) is bodies


@pytest.mark.inside
def test_nothing_of_quadratic_size():
    count = 200
    plain, split = of_arrays()
    y, z = start(split, count)
    system = jaxspark.linear.with_blocks(plain)

    def step(y, z, m):
        return jaxspark.step(system, jaxspark.Gauss(2), 0.0, y, z, 0.01, args={"m": m})[:2]

    assert max(array_sizes(jax.make_jaxpr(step)(y, z, jnp.asarray(1.3)))) < 128 * count
