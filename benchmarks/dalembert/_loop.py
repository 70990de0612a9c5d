"""Symplecticity: the loop integral of Poincaré."""

import dataclasses
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure
from ..problems import planar_chain, Problem
from ._families import lobatto


POINTS = 192


def anchored_chain() -> Problem:
    """Two unit links whose last mass hangs on a spring of 4 N/m, too, with a cubic part.

    Without a force that depends on the position every method would be symplectic: the
    constraint forces are weighed symplectically by all.
    """
    chain = planar_chain(2)

    def lagrangian(t, q, v, args):
        stretch = jnp.sum((q[2:] - jnp.asarray([0.3, -1.7], q.dtype)) ** 2)
        return chain.system.lagrangian(t, q, v, args) - 2 * stretch - 5 * stretch**2

    system = jaxspark.LagrangianSystem(lagrangian, holonomic=chain.system.holonomic)
    return dataclasses.replace(chain, name="anchored_chain", system=system)


def closed_curve(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Consistent states of the two-link chain around a closed curve, one in each row.

    Angles and rates vary with the curve's parameter, so that the loop encloses an area in
    both degrees of freedom. `planar_chain` has unit lengths and hangs from the origin.
    """
    theta = 2 * np.pi * np.arange(points) / points
    angles = np.stack([-1.2 + 0.1 * np.cos(theta), -1.5 + 0.1 * np.sin(theta)], 1)
    rates = np.stack([0.2 * np.sin(theta), 0.2 * np.cos(theta) + 0.1 * np.sin(2 * theta)], 1)
    along = np.stack([np.cos(angles), np.sin(angles)], 2)
    across = np.stack([-np.sin(angles), np.cos(angles)], 2)
    y = np.cumsum(along, 1).reshape(points, -1)
    z = np.cumsum(rates[:, :, None] * across, 1).reshape(points, -1)
    return y, z


def loop_integral(momenta: np.ndarray, positions: np.ndarray) -> float:
    """The integral of `p dq` around a closed curve, by the trapezoidal rule.

    The derivative along the curve is that of its trigonometric interpolation: both are of
    spectral accuracy. Arrays of shape `(points, n)`.

    Source: V. I. Arnold, *Mathematical Methods of Classical Mechanics*, section 44; E. Hairer,
    C. Lubich & G. Wanner, *Geometric Numerical Integration*, VI.2, for one-step methods.
    """
    points = len(positions)
    modes = np.fft.fftfreq(points, 1 / points)[:, None]
    slope = np.real(np.fft.ifft(1j * modes * np.fft.fft(positions, axis=0), axis=0))
    return float(np.sum(momenta * slope) * 2 * np.pi / points)


def drift(problem: Problem, method, steps: int, points: int) -> float:
    """The largest change of the loop integral over `steps` steps of 0.01 s."""
    y, z = closed_curve(points)

    def follow(y, z):
        return jaxspark.rollout(
            problem.system, y, z, problem.args, method=method, h=0.01, num_steps=steps,
            save_every=steps // 10, consistency_tol=None, throw=False,
        )  # fmt: skip

    solution = jax.jit(jax.vmap(follow))(jnp.asarray(y), jnp.asarray(z))
    if not bool(jnp.all(solution.successful)):
        raise RuntimeError(f"{method}: a step failed.")
    momentum = jax.vmap(jax.vmap(lambda t, y, z: problem.system.p(t, y, z, problem.args)))
    p, q = np.asarray(momentum(solution.ts, solution.ys, solution.zs)), np.asarray(solution.ys)
    integrals = [loop_integral(p[:, row], q[:, row]) for row in range(q.shape[1])]
    return float(np.max(np.abs(np.array(integrals) - integrals[0])))


def loop(tiny: bool) -> Iterator[Figure]:
    """How well methods keep the integral, in a holonomic system of two degrees of freedom."""
    problem = anchored_chain()
    steps, points = (20, 16) if tiny else (1000, POINTS)
    symplectic = [jaxspark.Gauss(2), jaxspark.Gauss(3)]
    symplectic += [lobatto("A-B-B", s) for s in (2, 3, 4)]
    symplectic += [lobatto("C-C*-C", 3), lobatto("D-D-D", 3)]
    what = f"Poincaré's loop integral, two links, change over {steps} steps"
    for method in symplectic[:1] if tiny else symplectic:
        yield at_most(f"{what}, {method}", drift(problem, method, steps, points), 1e-12)
        jax.clear_caches()
    for method in (jaxspark.RadauIIA(2), jaxspark.Lobatto(2, y="C", f="C", psi="C")):
        change = drift(problem, method, steps, points)
        yield at_least(f"{what}, control {method}", change, 1e-12 if tiny else 1e-9, ".2e")
