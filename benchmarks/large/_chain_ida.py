"""The planar chain by IDA with a sparse Jacobian: what a user of SUNDIALS in Python can reach."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..peers._require import peer
from ._angles import acceleration
from ._chains import GRAVITY, Model


PER_LINK = 10  # coordinates, velocities, integrals of two multipliers and of two more
ORDER = ((0, 3), (3, 6), (6, 8), (8, 10))


def installed() -> bool:
    """Whether CasADi and scikit-sundae are."""
    try:
        peer("casadi"), peer("sksundae")
    except SystemExit:
        return False
    return True


def ida_run(model: Model, tolerance: float, t_end: float = 1.0) -> Callable[[], np.ndarray]:
    """A function that integrates and returns the angles at the end.

    Constraints of both levels, with the integrals of the multipliers as unknowns: index 1.
    Residual and Jacobian are compiled by CasADi and called without copies, the Jacobian is
    factorised by SuperLU.

    **Raises:** `RuntimeError` if the start is inconsistent, or if IDA fails.
    """
    sundae, n = peer("sksundae"), model.bodies
    function, jacobian, pattern = _compiled(n, model.args["length"])
    size, worst = PER_LINK * n, np.zeros(PER_LINK * n)
    x0, xdot0 = _start(model)
    function(0.0, x0, xdot0, worst)
    if np.max(np.abs(worst)) > 1e-8:
        raise RuntimeError("The start of the chain is not consistent.")

    def run():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Custom sparse Jacobian")
            solver = sundae.ida.IDA(
                function, jacfn=jacobian, rtol=tolerance, atol=np.full(size, tolerance),
                linsolver="sparse", sparsity=pattern, max_num_steps=10**6,
            )  # fmt: skip
            # With two times it would save every step.
            found = solver.solve([0.0, t_end / 2, t_end], x0, xdot0)
        if not found.success:
            raise RuntimeError(str(found.message))
        return found.y[-1].reshape(n, PER_LINK)[:, 2]

    return run


@functools.lru_cache(maxsize=1)
def _compiled(n: int, length: float) -> tuple[Any, Any, sparse.csc_matrix]:
    """Residual, Jacobian and its pattern, unknowns link by link."""
    casadi = peer("casadi")
    x, xdot, c = (casadi.SX.sym("x", PER_LINK * n), casadi.SX.sym("xdot", PER_LINK * n),
                  casadi.SX.sym("c"))  # fmt: skip
    equations = _equations(casadi, n, length, x, xdot)
    matrix = casadi.jacobian(equations, x) + c * casadi.jacobian(equations, xdot)
    function = casadi.Function("function", [x, xdot], [equations])
    jacobian = casadi.Function("jacobian", [x, xdot, c], [matrix])
    rows, columns = (np.array(part) for part in jacobian.sparsity_out(0).get_triplet())
    values, out = np.zeros(len(rows)), np.zeros(PER_LINK * n)
    at, at_dot, at_c = np.zeros(PER_LINK * n), np.zeros(PER_LINK * n), np.zeros(1)
    buffers = function.buffer(), jacobian.buffer()
    for (buffer, _), result in zip(buffers, (out, values)):
        buffer.set_arg(0, memoryview(at))
        buffer.set_arg(1, memoryview(at_dot))
        buffer.set_res(0, memoryview(result))
    buffers[1][0].set_arg(2, memoryview(at_c))

    def residual(t, x, xdot, res):
        at[:], at_dot[:] = x, xdot
        buffers[0][1]()
        res[:] = out

    def combined(t, x, xdot, res, c, jac):
        at[:], at_dot[:], at_c[0] = x, xdot, c
        buffers[1][1]()
        jac[:] = values

    pattern = sparse.csc_matrix((np.ones(len(rows)), (rows, columns)), (PER_LINK * n,) * 2)
    return residual, combined, pattern


def _equations(casadi: Any, n: int, length: float, x: Any, xdot: Any) -> Any:
    """`q' = v - g_q^T mu'`, `M v' = f - g_q^T lam'`, `g_q v = 0`, `g = 0`."""
    new = casadi.SX.sym
    q, v = new("q", 3, n), new("v", 3, n)
    half = length / 2 * casadi.vertcat(casadi.cos(q[2, :]), casadi.sin(q[2, :]))
    end = q[:2, :] + half
    before = casadi.horzcat(casadi.SX(2, 1), end[:, :-1])
    g = casadi.vec(q[:2, :] - half - before)
    flat = casadi.vec(q)
    rows = casadi.jacobian(g, flat)
    mass = casadi.repmat(casadi.DM([1 / n, 1 / n, length**2 / (12 * n)]), n, 1)
    force = casadi.repmat(casadi.DM([0, -GRAVITY / n, 0]), n, 1)
    (at, speed, _, _), (dot, rate, lam, mu) = (_split(casadi, n, part) for part in (x, xdot))
    put = lambda e: casadi.substitute(e, casadi.vertcat(flat, casadi.vec(v)),
                                      casadi.vertcat(at, speed))  # fmt: skip
    rows, g = put(rows), put(g)
    parts = (
        dot - speed + casadi.mtimes(rows.T, mu),
        mass * rate - force + casadi.mtimes(rows.T, lam),
        casadi.mtimes(rows, speed),
        g,
    )
    blocks = [casadi.reshape(part, -1, n) for part in parts]
    return casadi.vec(casadi.vertcat(*blocks))


def _split(casadi: Any, n: int, x: Any) -> list[Any]:
    block = casadi.reshape(x, PER_LINK, n)
    return [casadi.vec(block[a:b, :]) for a, b in ORDER]


def _start(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """At rest, with the accelerations and forces of the joints."""
    n, length, angle = model.bodies, model.args["length"], model.y0[:, 2]
    turning = acceleration(angle, np.zeros(n))
    across = np.stack([-np.sin(angle), np.cos(angle)], 1) * turning[:, None]
    moving = length * (np.cumsum(across, 0) - across / 2)
    inertial = (moving + [0.0, GRAVITY]) / n
    lam = -np.cumsum(inertial[::-1], 0)[::-1]
    three, two = np.zeros((n, 3)), np.zeros((n, 2))
    x0 = np.concatenate([model.y0, three, two, two], 1)
    xdot0 = np.concatenate([three, moving, turning[:, None], lam, two], 1)
    return x0.ravel(), xdot0.ravel()
