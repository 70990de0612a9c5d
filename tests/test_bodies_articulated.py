"""Equations of many bodies by articulated bodies, against those with dense matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark import multibody as mb
from jaxspark.multibody import _system
from jaxspark.multibody._articulated import Articulated, FEWEST
from jaxspark.multibody._dynamics import in_ground
from jaxspark.multibody._kinematics import LARGE, places


AXES = ((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0))
# Far from stretched.
BENT = {f"joint {k}": 0.9 * (-1.0) ** (k // 3) for k in range(FEWEST + 3)}
BRICK = {"com": (0.05, 0.01, 0.0), "inertia": np.diag([2e-4, 3e-4, 4e-4])}


def tree():
    """A free body with three limbs, each of joints of other kinds."""
    bodies, joints = [mb.Body("trunk", 3.0, inertia=np.diag([0.1, 0.2, 0.15]))], []
    joints.append(mb.Free("free", "ground", "trunk"))
    kinds = (mb.Spherical, mb.Revolute, mb.Cylindrical, mb.Prismatic, mb.Universal)
    for limb in range(3):
        parent = "trunk"
        for k in range(4 + limb):
            name = f"{limb}, {k}"
            kind = kinds[(k + limb) % len(kinds)]
            own = {} if kind is mb.Spherical else {"armature": 0.01 * k}
            if kind in (mb.Revolute, mb.Prismatic):
                own["axis"] = AXES[(k + limb) % 3]
            bodies.append(mb.Body(name, 0.2 + 0.1 * k, **BRICK))
            joints.append(kind(f"to {name}", parent, name, position=(0.1, 0.02 * limb, 0), **own))
            parent = name
    return mb.Mechanism(bodies, joints)


def chain(count, *, closed=False, last=1.0):
    """Hinges about all axes in turn; `last`: the mass of the last body, by that of the others."""
    bodies, joints, parent = [], [], "ground"
    for k in range(count):
        name, share = f"body {k}", last if k == count - 1 else 1.0
        inertia = share * np.asarray(BRICK["inertia"])
        bodies.append(mb.Body(name, 0.2 * share, com=BRICK["com"], inertia=inertia))
        joints.append(
            mb.Revolute(
                f"joint {k}", parent, name, axis=AXES[k % 3], damping=0.05,
                position=(0.1 if k else 0.0, 0, 0),
            )
        )  # fmt: skip
        parent = name
    if closed:
        far = (0.08 * count, 0, 0)
        joints.append(
            mb.Spherical(
                "end", "ground", parent, position=far, child_position=(0.1, 0, 0), cut=True
            )
        )
    return mb.Mechanism(bodies, joints, guess=BENT if closed else None)


def dense(monkeypatch):
    monkeypatch.setattr(_system, "FEWEST", 10**6)
    jax.clear_caches()


def state(made, seed=0):
    rng = np.random.default_rng(seed)
    y, z = made.state()
    turned = made.tree.turned_y[:, None] + np.arange(4)
    y = np.asarray(y) + 0.3 * rng.normal(size=y.size)
    y[turned] /= np.linalg.norm(y[turned], axis=1, keepdims=True)
    return jnp.asarray(y), jnp.asarray(rng.normal(size=z.size))


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_solutions_are_those_with_the_matrix(dtype):
    made = tree()
    assert made.tree.nz >= FEWEST
    y, _ = state(made)
    args = jax.tree.map(lambda x: x.astype(dtype), made.parameters)
    tables = made.system.prepared(args)
    at = places(made.tree, tables, y.astype(dtype))
    masses = Articulated(at.S, in_ground(at, tables), tables.armature, made.tree)
    rhs = jnp.asarray(np.random.default_rng(1).normal(size=(made.tree.nz, 3)), dtype)
    found, good = jax.jit(lambda masses, rhs: masses.solve(rhs))(masses, rhs)
    M = np.asarray(masses.matrix(), float)
    exact = np.linalg.solve(M, np.asarray(rhs, float))
    backward = np.max(np.abs(M @ np.asarray(found, float) - np.asarray(rhs, float)))
    scale = np.max(np.abs(M)) * np.max(np.abs(exact))
    assert bool(good) and backward <= 50 * jnp.finfo(dtype).eps * scale


def test_many_links_have_the_transforms_of_a_product():
    made = chain(LARGE + 3)
    y, _ = state(made)
    found = places(made.tree, made.system.prepared(made.parameters), y).T
    T = np.eye(4)
    for k, angle in enumerate(np.asarray(y)):
        a, c, s = np.asarray(AXES[k % 3]), np.cos(angle), np.sin(angle)
        cross = np.cross(np.eye(3), a)
        own = np.eye(4)
        own[:3, :3] = np.outer(a, a) + s * cross + c * (np.eye(3) - np.outer(a, a))
        own[0, 3] = 0.1 if k else 0.0
        T = T @ own
        np.testing.assert_allclose(found[k], T, atol=1e-14)


def test_a_motion_and_its_gradient_are_those_with_the_matrix(monkeypatch):
    made = chain(FEWEST + 2)
    y, z = state(made)

    def end(bodies):
        args = made.parameters | {"bodies": bodies}
        options = {"t1": 0.1, "rtol": 1e-11, "atol": 1e-11, "max_steps": 512}
        found = jaxspark.solve(made.system, y, z, args, **options)
        return jnp.sum(found.y1**2) + jnp.sum(found.z1 * y)

    of = jax.value_and_grad(end)
    value, slope = jax.jit(of)(made.parameters["bodies"])
    along = jax.tree.map(jnp.ones_like, slope)
    forward = jax.jit(lambda b: jax.jvp(end, (b,), (along,))[1])(made.parameters["bodies"])
    total = sum(jnp.sum(x) for x in jax.tree.leaves(slope))
    np.testing.assert_allclose(forward, total, rtol=1e-9)
    dense(monkeypatch)
    again, other = jax.jit(of)(made.parameters["bodies"])
    np.testing.assert_allclose(value, again, rtol=1e-9)
    for a, b in zip(jax.tree.leaves(slope), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * float(jnp.max(jnp.abs(b))))


def test_a_closed_chain_is_that_with_the_matrix(monkeypatch):
    made = chain(FEWEST + 3, closed=True)
    y, z = made.state(guess=BENT)
    z = jaxspark.project(
        made.system, 0.0, y, z + 0.3 * jnp.cos(jnp.arange(z.size)), made.parameters
    ).z
    run = lambda: jaxspark.solve(
        made.system, y, z, made.parameters, t1=0.2, rtol=1e-10, atol=1e-10, max_steps=None
    )
    found = run()
    assert found.stats.max_g <= 1e-13 and found.stats.max_gdot <= 1e-11
    dense(monkeypatch)
    np.testing.assert_allclose(found.y1, run().y1, atol=1e-9)


@pytest.mark.parametrize("closed", [True, False])
def test_a_body_without_mass(closed):
    """It has accelerations if the closure holds it, and is named as singular if nothing does."""
    made = chain(FEWEST + 3, closed=closed, last=0.0)
    y, z = made.state(guess=BENT)
    found = jaxspark.solve(made.system, y, z, made.parameters, t1=0.05, max_steps=None, throw=False)
    if closed:
        assert found.result == jaxspark.RESULTS.successful and found.stats.max_g <= 1e-13
    else:
        assert found.result == jaxspark.RESULTS.singular


def test_batches_are_loops():
    made = chain(FEWEST + 2)
    states = [state(made, seed) for seed in range(3)]
    y, z = (jnp.stack(x) for x in zip(*states, strict=True))

    def end(y, z):
        return jaxspark.solve(made.system, y, z, made.parameters, t1=0.05, max_steps=None).y1

    for k, found in enumerate(jax.jit(jax.vmap(end))(y, z)):
        np.testing.assert_allclose(found, end(y[k], z[k]), rtol=1e-12, atol=1e-13)
