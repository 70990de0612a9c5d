"""How fast Newton's iteration converges from a prediction off the slow motion."""

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxspark._bdf._equations import residuals, stabilised
from jaxspark._bdf._formulations import matrix_at, splits_at
from jaxspark._bdf._linear import Splits
from jaxspark._system import FlatSystem, flatten

from .._figures import Figure, near, note
from ..problems import Problem, spring_pendulum, yen_petzold_spring


SHIFTS = (-2.0, -0.9, -0.5, 0.1, 1.0, 10.0)


class ImplicitEuler:
    """One step of implicit Euler from a state, its prediction the state itself.

    Unknowns are `(q, v, mu, lam)`, of which coordinate-split forms use `(q, v)`.
    """

    def __init__(self, system: FlatSystem, y: Any, z: Any, h: Any):
        self.system, self.h, self.t = system, h, h
        none = jnp.zeros(2 * system.nlam + system.npsi)
        self.start = jnp.concatenate([y, z, none])
        self.splits = splits_at(system, self.t, self.start)

    def rate(self, x: Any) -> Any:
        """The discrete derivative."""
        return (x - self.start) / self.h

    def residual(self, states: Any) -> Any:
        """The equations (2.12) of Yen & Petzold, a function of `(q, v)`."""
        x = self.start.at[: states.size].set(states)
        splits = splits_at(self.system, self.t, x, self.splits)
        found = splits.project(residuals(self.system, self.t, x, self.rate(x)))
        return jnp.concatenate([found.kinematic, found.dynamic, found.velocity, found.position])

    def solution(self) -> Any:
        """`(q, v)` at the end of the step, by Newton's method with multipliers, 0 at first."""

        def equations(x):
            return stabilised(self.system, self.t, x, self.rate(x))

        def body(_, x):
            return x - jnp.linalg.solve(jax.jacfwd(equations)(x), equations(x))

        return jax.lax.fori_loop(0, 40, body, self.start)[: 2 * self.system.ny]

    def matrix(self, multipliers: Any) -> Any:
        """The matrix (2.14) at the prediction, with the multipliers `[s1; s2]` in `G^T s`."""
        x, leading = self.start, 1 / self.h
        full = matrix_at(self.system, self.t, x, self.rate(x), leading, multipliers)
        return projected_matrix(self.splits, full)

    def iteration(self, form: str) -> Any:
        """`I - J0^{-1} J(z*)`, for the iteration `"cs"` or `"cm"`."""
        found = residuals(self.system, self.t, self.start, self.rate(self.start))
        s = self.splits.multipliers(found)
        first = self.matrix(s if form == "cs" else jnp.zeros_like(s))
        states = self.solution()
        last = jax.jacfwd(self.residual)(states)
        return jnp.eye(states.size) - jnp.linalg.solve(first, last)


def projected_matrix(splits: Splits, full: Any) -> Any:
    """The rows of the bordered matrix, multiplied by the annihilators, without multipliers.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equation (2.14).
    """
    n = splits.position.order.size
    P1, P2 = splits.position.tangent().T, splits.velocity.tangent().T
    states = full[:, : 2 * n]
    return jnp.concatenate([P1 @ states[:n], P2 @ states[n : 2 * n], states[2 * n :]])


def rate(problem: Problem, h: float, form: str) -> float:
    """The rate of convergence of one step of implicit Euler from the start of a problem."""
    args = {key: jnp.asarray(value) for key, value in problem.args.items()}
    y, z = jnp.asarray(problem.y0), jnp.asarray(problem.z0)
    matrix = _iteration(problem.system, y, z, args, jnp.asarray(h), form)
    return float(np.max(np.abs(np.linalg.eigvals(np.asarray(matrix)))))


@eqx.filter_jit
def _iteration(system: Any, y: Any, z: Any, args: Any, h: Any, form: str) -> Any:
    flat, y, z = flatten(system, jnp.asarray(0.0), y, z, args)
    return ImplicitEuler(flat, y, z, h).iteration(form)


def shifted(x: float, eps: float, h: float) -> Problem:
    """The spring pendulum with its spring off by `d = x eps^2 / h^2`."""
    return spring_pendulum(eps, x * eps**2 / h**2)


def rates(tiny: bool) -> Iterator[Figure]:
    """Theory: `|x / (1 + x)|` for CS and `O(h^2)` for CM, with `x = d k h^2` and `k = eps^-2`.

    The constraint force of the spring of Table 5.2 is as stiff as the spring: what CM leaves out of
    its matrix is not small there.
    """
    everywhere = [1e-4] if tiny else [10.0**-n for n in range(3, 9)]
    for eps in everywhere:
        what = f"spring pendulum off by d, eps = {eps:.0e}, h = 0.05"
        for x in SHIFTS[-1:] if tiny else SHIFTS:
            theory = abs(x / (1 + x))
            measured = rate(shifted(x, eps, 0.05), 0.05, "cs")
            yield near(f"{what}: rate of CS, x = {x:g}", measured, theory, 0.03 * theory)
        for x in SHIFTS[-1:] if tiny else SHIFTS:
            measured = rate(shifted(x, eps, 0.05), 0.05, "cm")
            name = f"{what}: rate of CM, x = {x:g}"
            if abs(x) * eps / 0.05**2 < 0.5:
                ok = abs(measured / 2.1e-3 - 1) <= 0.1
                yield Figure(name, "2.1e-3 +- 10 %", f"{measured:.2e}", ok)
            else:
                yield note(f"{name}, where d is not small beside eps", f"{measured:.4f}")
    half, full = (rate(shifted(1.0, 1e-4, h), h, "cm") for h in (0.05, 0.1))
    yield near("order of the rate of CM in h", float(np.log2(full / half)), 2.0, 0.1)
    spring = yen_petzold_spring(1e-4)
    for form, expected in (("cm", 0.49), ("cs", 0.11)):
        what = f"spring of Table 5.2, eps = 1e-4, h = 1e-3: rate of {form.upper()}"
        yield near(what, rate(spring, 1e-3, form), expected, 0.02)
