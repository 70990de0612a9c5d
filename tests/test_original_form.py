"""One step against the equations as they are first written down, solved densely.

The library solves the decoupled equations (4)-(7) by modified Newton. Here the original
form of the (s,s)-SPARK method (L. O. Jay, section 2) is solved in NumPy, by Newton's method
with the full Jacobian from complex steps, for random smooth systems. No code is shared but
that of the systems' functions, and derivatives of constraints are written by hand.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, thorough
from jaxspark import Gauss, Lobatto, RadauIIA, RESULTS


T0, H = 0.3, 0.11
METHODS = [
    Gauss(1), Gauss(2), Gauss(3), Gauss(4), RadauIIA(1), RadauIIA(2), RadauIIA(3),
    Lobatto(2), Lobatto(4), Lobatto(3, psi="C"), Lobatto(2, psi="C*"), Lobatto(3, psi="D"),
    Lobatto(3, y="C", f="C*", psi="C"), Lobatto(2, y="D", f="D", psi="D"),
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Random:
    """Seven random functions, `d/dt g` by hand, a consistent start, and the sizes."""

    system: jaxspark.ConstrainedSystem
    v: Callable
    p: Callable
    f: Callable
    r: Callable
    reaction: Callable
    g: Callable
    gdot: Callable
    k: Callable
    y0: np.ndarray
    z0: np.ndarray
    nlam: int
    npsi: int


def random_system(seed, ny, nz, nlam, npsi, *, plain=False):
    """Nonlinear, explicitly time dependent functions with regular K2 and K3.

    They take NumPy and JAX arrays. If `plain`, `v`, `p` and `r` are the library's defaults,
    and the oracle is given them written out by hand.
    """
    rng = np.random.default_rng(seed)
    normal = lambda *shape: rng.normal(size=shape)

    def module(y):
        return jnp if isinstance(y, jax.Array) else np

    def waves(n, inputs, function):
        weights, shift = normal(n, inputs), normal(n)

        def wave(*x, function=function):
            xp = module(x[-1])
            x = xp.concatenate([xp.reshape(x[0], (1,)), *x[1:]])
            return getattr(xp, function)(weights @ x + shift)

        return wave, weights

    full = 1 + ny + nz
    B = np.eye(ny) if plain else normal(ny, nz)
    M = 2 * np.eye(nz) + 0.2 * normal(nz, nz)
    G, K = normal(nlam, ny), normal(npsi, nz)
    (v_waves, _), (p_waves, _) = waves(ny, full, "tanh"), waves(nz, full, "sin")
    (f_waves, _), (k_waves, _) = waves(nz, full, "tanh"), waves(npsi, full, "sin")
    (g_waves, W), (r_waves, _) = waves(nlam, 1 + ny, "sin"), waves(nz, 1 + ny, "cos")
    R, F = normal(nz, nlam), normal(nz, npsi)

    def v(t, y, z, args=None):
        return z if plain else B @ z + 0.2 * v_waves(t, y, z)

    def p(t, y, z, args=None):
        return z if plain else M @ z + 0.2 * p_waves(t, y, z)

    def f(t, y, z, args=None):
        return 2 * f_waves(t, y, z)

    def reaction(t, y, z, psi, args=None):
        return 0.1 * r_waves(t, y) * (F @ module(y).tanh(psi)) - K.T @ psi

    def g(t, y, args=None):
        return G @ y + 0.3 * g_waves(t, y)

    def gdot(t, y, v):
        slope = 0.3 * g_waves(t, y, function="cos")
        return G @ v + slope * (W[:, 0] + W[:, 1:] @ v)

    def r(t, y, lam, args=None):
        if plain:
            slope = 0.3 * g_waves(t, y, function="cos")
            return -(G + slope[:, None] * W[:, 1:]).T @ lam
        return -(G @ B).T @ lam + 0.1 * r_waves(t, y) * (R @ module(y).tanh(lam))

    def k(t, y, z, args=None):
        return K @ z + 0.3 * k_waves(t, y, z)

    system = jaxspark.ConstrainedSystem(
        f,
        v=None if plain else v,
        p=None if plain else p,
        g=g if nlam else None,
        r=r if nlam and not plain else None,
        k=k if npsi else None,
        reaction=reaction if npsi else None,
    )
    y0, z0 = normal(ny), normal(nz)
    if nlam + npsi:
        project = jax.jit(
            lambda y, z: jaxspark.project(system, T0, y, z, metric="identity", throw=False)
        )
        start = project(y0, z0)
        assert bool(start.result == RESULTS.successful)
        y0, z0 = np.asarray(start.y), np.asarray(start.z)
    return Random(system, v, p, f, r, reaction, g, gdot, k, y0, z0, nlam, npsi)


PROBLEMS = {
    "both": lambda: random_system(0, 5, 4, 1, 1),
    "holonomic": lambda: random_system(1, 4, 5, 2, 0),
    "nonholonomic": lambda: random_system(2, 3, 4, 0, 2),
    "none": lambda: random_system(3, 3, 2, 0, 0),
    "defaults": lambda: random_system(4, 4, 4, 1, 1, plain=True),
}
BUILT = {}


def problem(name):
    if name not in BUILT:
        BUILT[name] = PROBLEMS[name]()
    return BUILT[name]


def original_form(case, m):
    """The residual of the original form, and how to read its unknowns."""
    s, y0, z0 = m.stages, case.y0, case.z0
    nodes = m.c_tilde.size
    T, Tt, t1 = T0 + m.c * H, T0 + m.c_tilde * H, T0 + H
    shapes = [(s + 1, y0.size), (s + 1, z0.size), (nodes, case.nlam), (s, case.npsi)]
    ends = np.cumsum([a * b for a, b in shapes])[:-1]

    def unpack(x):
        return [part.reshape(shape) for part, shape in zip(np.split(x, ends), shapes)]

    def over(function, *columns):
        return np.array([function(*row) for row in zip(*columns)])

    def residual(x):
        Y1, Z1, Lam, Psi = unpack(x)
        Y, y1, Z, z1 = Y1[:s], Y1[s], Z1[:s], Z1[s]
        V = over(case.v, T, Y, Z)
        Yt = y0 + H * m.A_bar @ V
        F, S = over(case.f, T, Y, Z), over(case.reaction, T, Y, Z, Psi)
        R = over(case.r, Tt, Yt, Lam)
        P = over(case.p, T, Y, Z)
        p0, p1 = case.p(T0, y0, z0), case.p(t1, y1, z1)
        equations = [
            Y - y0 - H * m.A @ V,
            y1 - y0 - H * m.b @ V,
            P - p0 - H * m.A_hat @ F - H * m.A_psi @ S - H * m.A_tilde @ R,
            p1 - p0 - H * m.b_hat @ F - H * m.b_psi @ S - H * m.b_tilde @ R,
        ]
        if case.nlam:
            equations.append(over(case.g, Tt[1:], Yt[1:]))
            equations.append(case.gdot(t1, y1, case.v(t1, y1, z1)))
        if case.npsi:
            k = over(case.k, T, Y, Z)
            equations += [(m.b * m.c ** (i - 1)) @ k for i in range(1, s)]
            equations.append(case.k(t1, y1, z1))
        return np.concatenate([np.ravel(part) for part in equations])

    return residual, unpack


def solve_original_form(case, tableau):
    residual, unpack = original_form(case, tableau)
    s = tableau.stages
    zeros = np.zeros(tableau.c_tilde.size * case.nlam + s * case.npsi)
    x = np.concatenate([np.tile(case.y0, s + 1), np.tile(case.z0, s + 1), zeros])
    steps = 1e-30j * np.eye(x.size)
    for _ in range(12):
        value = residual(x)
        assert value.size == x.size
        jacobian = np.stack([residual(x + step).imag / 1e-30 for step in steps], 1)
        # Balanced columns, so that the multipliers' factor h does no harm.
        columns = np.max(np.abs(jacobian), 0)
        update = np.linalg.solve(jacobian / columns, value) / columns
        x = x - update
        if np.max(np.abs(update) / (1 + np.abs(x))) <= 1e-11:  # multipliers included
            Y, Z, _, _ = unpack(x)
            return Y[-1], Z[-1]
    raise AssertionError("The oracle's Newton iteration does not converge.")


def library_step(system, method, y0, z0):
    step = jax.jit(lambda y, z: jaxspark.step(system, method, T0, y, z, H))
    y1, z1, _, info = step(y0, z0)
    assert bool(info.result == RESULTS.successful)
    return y1, z1


CASES = [("both", method) for method in METHODS]
CASES += [("nonholonomic", Lobatto(3, psi="C*")), ("nonholonomic", RadauIIA(3))]
CASES += [("holonomic", Lobatto(3, psi="C")), ("holonomic", Gauss(2))]
CASES += [("none", Gauss(3)), ("none", Lobatto(3)), ("defaults", RadauIIA(2))]
CASES += [("defaults", Lobatto(3, psi="D"))]
# Of the kinds of constraints that are also tested together.
THOROUGH = [
    (name, method)
    for name in ("holonomic", "nonholonomic")
    for method in (Gauss(2), Gauss(4), RadauIIA(3), Lobatto(2), Lobatto(4))
    if (name, method) not in CASES
]
ALL = [pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in CASES]
ALL += [thorough(*case, id=f"{case[0]}-{case[1]}") for case in THOROUGH]


@pytest.mark.parametrize("name, method", ALL)
def test_step(name, method, record_property):
    case = problem(name)
    y1, z1 = library_step(case.system, method, case.y0, case.z0)
    expected_y1, expected_z1 = solve_original_form(case, method.tableau)
    # The step is a step: it moves.
    assert np.max(np.abs(expected_y1 - case.y0)) > 1e-2
    difference = max(largest_difference(y1, expected_y1), largest_difference(z1, expected_z1))
    record_property("difference", float(difference))  # the benchmark reports the largest
    assert difference <= 1e-13


def test_step_of_pytrees():
    """The same random system with states and constraints in pieces."""
    case = problem("both")

    def split_y(y):
        y = jnp.asarray(y)
        return {"b": (y[:2], y[2]), "a": y[3:].reshape(1, 2)}

    def split_z(z):
        z = jnp.asarray(z)
        return [z[:1], {"x": z[1:]}]

    def join_y(y):
        return jnp.concatenate([y["b"][0], y["b"][1][None], y["a"][0]])

    def join_z(z):
        return jnp.concatenate([z[0], z[1]["x"]])

    system = jaxspark.ConstrainedSystem(
        f=lambda t, y, z, _: split_z(case.f(t, join_y(y), join_z(z), None)),
        v=lambda t, y, z, _: split_y(case.v(t, join_y(y), join_z(z), None)),
        p=lambda t, y, z, _: split_z(case.p(t, join_y(y), join_z(z), None)),
        r=lambda t, y, lam, _: split_z(case.r(t, join_y(y), lam[0], None)),
        g=lambda t, y, _: (case.g(t, join_y(y), None),),
        k=lambda t, y, z, _: {"edge": case.k(t, join_y(y), join_z(z), None)[0]},
        reaction=lambda t, y, z, psi, _: split_z(
            case.reaction(t, join_y(y), join_z(z), psi["edge"][None], None)
        ),
    )
    method = RadauIIA(2)
    y1, z1 = library_step(system, method, split_y(case.y0), split_z(case.z0))
    expected_y1, expected_z1 = solve_original_form(case, method.tableau)
    assert largest_difference(y1, split_y(expected_y1)) <= 1e-13
    assert largest_difference(z1, split_z(expected_z1)) <= 1e-13
