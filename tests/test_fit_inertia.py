"""Inertia of bodies: consistent for any coordinates, and the formulas of Rucker and Wensing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark.fit._inertia import LogCholesky, LogPlanar, PlanarBody, RigidBody, UPPER
from jaxspark.fit._parameters import planar_body, rigid_body


def as_body(values):
    upper = np.zeros((3, 3))
    upper[UPPER] = values[4:]
    return RigidBody(values[0], values[1:4], upper + np.triu(upper, 1).T)


def points_body(seed=0):
    """Mass, centre and inertia of some point masses, by their definitions."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1, 8), rng.normal(size=(8, 3)) + [0.3, -1.0, 0.5]
    mass = masses.sum()
    centre = masses @ points / mass
    arms = points - centre
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms))
    return masses, points, (mass, centre, inertia)


def test_pseudo_inertia_is_the_sum_over_points():
    masses, points, (mass, centre, inertia) = points_body()
    homogeneous = np.concatenate([points, np.ones((8, 1))], 1)
    expected = np.einsum("n,ni,nj->ij", masses, homogeneous, homogeneous)
    found = RigidBody(mass, centre, inertia).pseudo_inertia()
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_inertia_about_another_point():
    masses, points, body = points_body()
    point = np.array([0.7, 0.2, -0.4])
    arms = points - point
    expected = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms))
    found = RigidBody(*body).inertia_about(point)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    arms2 = points[:, :2] - point[:2]
    planar = PlanarBody(body[0], body[1][:2], body[2][2, 2])
    np.testing.assert_allclose(
        planar.inertia_about(point[:2]), masses @ (arms2**2).sum(1), rtol=1e-13
    )


def test_formulas_of_rucker_and_wensing():
    """Mass, first moments and inertia about the origin, written out as in their paper."""
    rng = np.random.default_rng(1)
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = rng.normal(size=10)
    u = jnp.array([a, t1, t2, t3, d1, s12, s13, d2, s23, d3])
    body = as_body(np.asarray(LogCholesky(1.0, 1.0, 1.0).forward(u)))
    m = np.exp(2 * a)
    xx = s23**2 + t2**2 + t3**2 + np.exp(2 * d2) + np.exp(2 * d3)
    yy = s12**2 + s13**2 + t1**2 + t3**2 + np.exp(2 * d1) + np.exp(2 * d3)
    zz = s12**2 + s13**2 + s23**2 + t1**2 + t2**2 + np.exp(2 * d1) + np.exp(2 * d2)
    xy = -s12 * np.exp(d2) - s13 * s23 - t1 * t2
    yz = -s23 * np.exp(d3) - t2 * t3
    xz = -s13 * np.exp(d3) - t1 * t3
    expected = m * np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    np.testing.assert_allclose(body.mass, m, rtol=1e-14)
    np.testing.assert_allclose(body.mass * body.centre, m * np.array([t1, t2, t3]), rtol=1e-13)
    np.testing.assert_allclose(body.inertia_about(jnp.zeros(3)), expected, rtol=1e-12)


def test_factor_of_the_pseudo_inertia():
    """`J = U U^T` with the upper triangular `U`, made here from its entries, with units."""
    rng = np.random.default_rng(2)
    mass, length, lever = 3.0, 0.2, 1.5
    u = rng.normal(size=10)
    s = np.zeros((3, 3))
    s[UPPER] = u[4:]
    s[np.arange(3), np.arange(3)] = np.exp(np.diag(s))
    factor = np.eye(4)
    factor[:3, :3], factor[:3, 3] = length * s, lever * u[1:4]
    factor *= np.sqrt(mass) * np.exp(u[0])
    body = as_body(np.asarray(LogCholesky(mass, length, lever).forward(jnp.asarray(u))))
    np.testing.assert_allclose(body.pseudo_inertia(), factor @ factor.T, rtol=1e-12, atol=1e-12)


def test_any_coordinates_are_a_body():
    rng = np.random.default_rng(3)
    u = jnp.asarray(2 * rng.normal(size=(300, 10)))
    values = np.asarray(jax.vmap(LogCholesky(0.7, 0.1, 2.0).forward)(u))
    for value in values:
        body = as_body(value)
        moments = np.linalg.eigvalsh(body.inertia)
        assert body.mass > 0
        assert moments[0] > 0
        assert moments[0] + moments[1] >= moments[2] * (1 - 1e-12)
        second = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
        assert np.linalg.eigvalsh(second)[0] > -1e-12 * np.trace(second)
    mild = np.asarray(jax.vmap(LogCholesky(0.7, 0.1, 0.1).forward)(0.2 * u))
    for value in mild:
        assert np.linalg.eigvalsh(as_body(value).pseudo_inertia())[0] > 0
    flat = np.asarray(jax.vmap(LogPlanar(0.7, 0.1, 2.0).forward)(u[:, :4]))
    assert (flat[:, [0, 3]] > 0).all()


@pytest.mark.parametrize(
    "transform, size",
    [(LogCholesky(2.0, 0.3, 0.8), 10), (LogPlanar(2.0, 0.3, 0.8), 4)],
)
def test_round_trip_and_jacobian(transform, size):
    u = jnp.asarray(0.5 * np.random.default_rng(4).normal(size=size))
    value = transform.forward(u)
    np.testing.assert_allclose(transform.inverse(value), u, rtol=0, atol=1e-13)
    jacobian = jax.jacfwd(transform.forward)(u)
    step = 1e-6
    for i in range(size):
        e = step * jnp.eye(size)[i]
        difference = (transform.forward(u + e) - transform.forward(u - e)) / (2 * step)
        np.testing.assert_allclose(jacobian[:, i], difference, rtol=1e-7, atol=1e-8)
    back = jax.jacfwd(transform.inverse)(value)
    np.testing.assert_allclose(back @ jacobian, np.eye(size), rtol=0, atol=1e-11)
    # The mass depends on its own coordinate only, and so does each entry of the centre.
    first = size // 3 + 1
    block = np.asarray(jacobian[:first])
    assert np.array_equal(block != 0, np.eye(first, size, dtype=bool))


def test_start_of_a_body_is_reproduced():
    _, _, (mass, centre, inertia) = points_body(5)
    body = rigid_body(mass, centre, inertia)
    u = body.transform.inverse(jnp.asarray(body.start))
    again = as_body(np.asarray(body.transform.forward(u)))
    np.testing.assert_allclose(again.mass, mass, rtol=1e-14)
    np.testing.assert_allclose(again.centre, centre, rtol=1e-14)
    np.testing.assert_allclose(again.inertia, inertia, rtol=1e-12, atol=1e-13)
    assert u[0] == 0
    # Coordinates are of order one whatever the units: here grams and millimetres.
    small = rigid_body(1e3 * mass, 1e3 * centre, 1e9 * inertia)
    v = small.transform.inverse(jnp.asarray(small.start))
    np.testing.assert_allclose(v, u, rtol=1e-9, atol=1e-12)
    assert np.abs(u).max() < 3


def test_box_on_its_axes():
    """A box of edges a, b, c: known moments, and no products of inertia."""
    m, a, b, c = 2.0, 0.3, 0.2, 0.1
    inertia = m / 12 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    body = rigid_body(m, [0, 0, 0], inertia)
    u = np.asarray(body.transform.inverse(jnp.asarray(body.start)))
    edges = np.exp(u[[4, 7, 9]]) * np.asarray(body.transform.length) * np.sqrt(12)
    np.testing.assert_allclose(edges, [a, b, c], rtol=1e-12)
    np.testing.assert_allclose(u[[1, 2, 3, 5, 6, 8]], 0, atol=1e-14)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_dtypes(dtype):
    u = jnp.ones(10, dtype)
    transform = LogCholesky(2.0, 0.3, 0.8)
    value = eqx.filter_jit(transform.forward)(u)
    assert value.dtype == dtype and transform.inverse(value).dtype == dtype
    np.testing.assert_allclose(transform.inverse(value), u, atol=100 * jnp.finfo(dtype).eps)


@pytest.mark.parametrize(
    "mass, centre, inertia, message",
    [
        (-1.0, [0, 0, 0], np.eye(3), "the mass is -1 kg; it must be positive"),
        (0.0, [0, 0, 0], np.eye(3), "the mass is 0 kg"),
        (1.0, [0, 0], np.eye(3), r"the centre has shape \(2,\); it must have shape \(3,\)"),
        (1.0, [0, 0, 0], np.ones(3), r"the inertia has shape \(3,\)"),
        (1.0, [0, np.nan, 0], np.eye(3), "the centre is .*nan.*not finite"),
        (1.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0]), r"triangle inequality, 1 \+ 1 < 3"),
        (1.0, [0, 0, 0], np.diag([1.0, 1.0, 2.0]), "lamina without thickness"),
        (1.0, [0, 0, 0], np.diag([0.0, 1.0, 1.0]), "moments of inertia are 0, 1, 1 .* positive"),
        (1.0, [0, 0, 0], np.eye(3) + np.eye(3, k=1), "not a symmetric matrix"),
    ],
)
def test_bodies_which_are_none(mass, centre, inertia, message):
    with pytest.raises(ValueError, match=f"fit.rigid_body: .*{message}"):
        rigid_body(mass, centre, inertia)


@pytest.mark.parametrize(
    "mass, centre, inertia, message",
    [
        (-1.0, [0, 0], 1.0, "the mass is -1 kg"),
        (1.0, [0, 0], -2.0, "the moment of inertia is -2 kg m\\^2"),
        (1.0, [0, 0, 0], 1.0, r"the centre has shape \(3,\)"),
    ],
)
def test_planar_bodies_which_are_none(mass, centre, inertia, message):
    with pytest.raises(ValueError, match=f"fit.planar_body: {message}"):
        planar_body(mass, centre, inertia)
