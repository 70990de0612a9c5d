"""Springs as coordinates: the same mechanics, whatever the system they are attached to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from helpers import largest_difference
from jaxspark import GGL, LagrangianSystem, RadauIIA


SPRUNG = [
    (problems.yen_petzold_spring, problems.yen_petzold_spring_elongated, 1e-3),
    (problems.stiff_spring_double_pendulum, problems.stiff_spring_double_pendulum_elongated, 1e4),
]


@pytest.mark.parametrize("plain, elongated, stiffness", SPRUNG)
def test_against_references(plain, elongated, stiffness):
    """Nine digits, by springs as forces and as coordinates, in quadruple precision elsewhere."""
    for problem in (plain(stiffness), elongated(stiffness)):
        start = jax.tree.map(jnp.asarray, (problem.y0, problem.z0))
        found = jaxspark.solve(
            problem.system,
            *start,
            problem.args,
            method=GGL(RadauIIA(5)),
            t1=problem.t_end,
            rtol=1e-12,
        )
        y = found.y1[0] if isinstance(found.y1, tuple) else found.y1
        assert problems.digits(y, problem.reference()["y_end"]) >= 9


def rolling():
    """A skate whose blade may not slip, tied by a spring to a point that moves, in PyTrees."""

    def lagrangian(t, q, v, args):
        del t, q
        return 0.5 * jnp.sum(v["x"] ** 2) + 0.1 * v["angle"] ** 2

    def blade(t, q, v, args):
        along = jnp.stack([-jnp.sin(q["angle"]), jnp.cos(q["angle"])])
        return jnp.sum(along * v["x"], keepdims=True)

    def stretch(t, q, args):
        anchor = jnp.stack([jnp.cos(t), jnp.zeros_like(t)])
        return jnp.sqrt(jnp.sum((q["x"] - anchor) ** 2, keepdims=True)) - 0.5

    def pulled(t, q, v, args):
        e, edot = jax.jvp(lambda t, q: stretch(t, q, args), (t, q), (jnp.ones_like(t), v))
        return jax.vjp(lambda q: stretch(t, q, args), q)[1](-args["k"] * e - args["d"] * edot)[0]

    free = jaxspark.LagrangianSystem(lagrangian, nonholonomic=blade)
    sprung = jaxspark.LagrangianSystem(lagrangian, force=pulled, nonholonomic=blade)
    elongated = jaxspark.stiff.Elongated(free, stretch, lambda a: a["k"], lambda a: a["d"])
    return sprung, elongated


def test_nonholonomic_rheonomic_pytrees():
    """The same motion, and the multiplier is the tension."""
    sprung, elongated = rolling()
    args = {"k": jnp.array(20.0), "d": jnp.array(0.3)}
    y0 = {"x": jnp.array([2.0, 0.0]), "angle": jnp.array(0.3)}
    z0 = {"x": 0.5 * jnp.array([jnp.cos(0.3), jnp.sin(0.3)]), "angle": jnp.array(0.2)}
    options = dict(t1=1.0, num_steps=100, multipliers=True)
    plain = jaxspark.rollout(sprung, y0, z0, args, method=jaxspark.Gauss(3), **options)
    start = jaxspark.stiff.elongate(elongated, 0.0, y0, z0, args)
    found = jaxspark.rollout(elongated, *start, args, method=jaxspark.Gauss(3), **options)
    assert largest_difference(found.ys[0], plain.ys) <= 1e-10
    assert largest_difference(found.zs[0], plain.zs) <= 1e-9
    tension = args["k"] * found.ys[1] + args["d"] * found.zs[1]
    assert np.max(np.abs(found.multipliers.lam - tension)) <= 1e-7
    assert largest_difference(found.multipliers.psi, plain.multipliers.psi) <= 1e-8
    damped = jaxspark.solve(elongated, *start, args, method=GGL(RadauIIA(3)), t1=1.0, rtol=1e-9)
    last = jax.tree.map(lambda x: x[-1], plain.ys)
    assert largest_difference(damped.y1[0], last) <= 1e-7


def test_forces_that_are_not_ideal():
    """`v != z`, `r` and `friction` of the system reach the springs' equations."""

    def make(**forces):
        return jaxspark.ConstrainedSystem(
            f=lambda t, y, z, args: jnp.array([0.0, -9.81]) - 0.1 * z,
            v=lambda t, y, z, args: 2.0 * z,
            g=lambda t, y, args: y[:1] + 0.2 * y[1:] ** 2,
            **forces,
        )

    def friction(t, y, z, lam, args):
        return -0.05 * jnp.sum(lam**2) * z

    def reaction(t, y, lam, args):
        return -2.0 * jnp.stack([lam[0], 0.4 * y[1] * lam[0]])

    def stretch(t, y, args):
        return jnp.sqrt(jnp.sum((y - 1.0) ** 2, keepdims=True))

    y, lam, z = jnp.array([0.3, -0.7]), (jnp.array([0.6]), jnp.array([1.7])), jnp.array([0.4, 0.2])
    given = jaxspark.stiff.Elongated(make(r=reaction, friction=friction), stretch, 3.0)
    default = jaxspark.stiff.Elongated(make(), stretch, 3.0)
    assert default.r is None and default.friction is None
    state, rates = jaxspark.stiff.elongate(given, 0.0, y, z)
    assert abs(float(rates[1][0] - 2 * jnp.sum((y - 1.0) * z) / state[1][0])) <= 1e-14
    # The default is the transpose of the velocity constraints.
    moved = jaxspark.multipliers(default, 0.0, state, rates)
    explicit = jaxspark.stiff.Elongated(make(r=reaction), stretch, 3.0)
    same = jaxspark.multipliers(explicit, 0.0, state, rates)
    assert largest_difference(moved.zdot, same.zdot) <= 1e-12
    forces = given.friction(0.0, state, rates, lam, None)
    assert largest_difference(forces[0], friction(0.0, y, z, lam[0], None)) == 0
    assert float(jnp.sum(forces[1] ** 2)) == 0


def test_errors_name_what_is_wrong():
    free = jaxspark.MechanicalSystem(lambda t, q, args: jnp.eye(2), lambda t, q, v, args: 0 * q)

    def solve(eta, e):
        system = jaxspark.stiff.Elongated(free, eta, 1.0)
        states = (jnp.ones(2), e), (jnp.zeros(2), jnp.zeros_like(e))
        return jaxspark.solve(system, *states, method=GGL(RadauIIA(2)), t1=1.0)

    with pytest.raises((TypeError, ValueError), match="eta"):
        solve(lambda t, q, args: q, jnp.zeros(1))
    with pytest.raises(TypeError, match="Elongated"):
        jaxspark.stiff.elongate(free, 0.0, jnp.ones(2), jnp.zeros(2))


def test_energy():
    """That of the springs is counted: the same as where they are part of the Lagrangian."""
    args = {"k": 1e4, "m": 1.3}

    def stretch(t, q, args):
        return jnp.sqrt(jnp.sum(q**2, keepdims=True)) - 1

    def free(t, q, v, args):
        return args["m"] * (v @ v / 2 - 9.81 * q[1])

    def sprung(t, q, v, args):
        return free(t, q, v, args) - args["k"] * jnp.sum(stretch(t, q, args) ** 2) / 2

    elongated = jaxspark.stiff.Elongated(LagrangianSystem(free), stretch, lambda args: args["k"])
    y, z = jnp.array([1.01, 0.02]), jnp.array([0.3, 0.4])
    start = jaxspark.stiff.elongate(elongated, 0.0, y, z, args)
    expected = jaxspark.diagnostics.energy(LagrangianSystem(sprung), 0.0, y, z, args)
    for system in (elongated, jaxspark.linear.with_blocks(elongated)):
        found = jaxspark.diagnostics.energy(system, 0.0, *start, args)
        assert abs(found - expected) <= 1e-13 * abs(expected)
    with pytest.raises(ValueError, match="not given by a Lagrangian"):
        other = jaxspark.stiff.Elongated(
            jaxspark.MechanicalSystem(lambda t, q, args: jnp.eye(2), lambda t, q, v, args: -q),
            stretch, 1.0,
        )  # fmt: skip
        jaxspark.diagnostics.energy(other, 0.0, *start, args)
