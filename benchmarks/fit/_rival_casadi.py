"""CasADi's integrators: on the reduced equation, and on the linkage in Cartesian coordinates."""

from typing import Any, Literal

import numpy as np

from ..peers._require import peer
from ._fourbar_motion import acceleration, GRAVITY, GROUND, loop, slopes
from ._problem import FitProblem
from ._rivals import added, assembled, measured, of_trial, parameters, point, Rival


Form = Literal["reduced", "index 1"]
Plugin = Literal["cvodes", "idas", "rk", "collocation"]
JIT = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O2"], "verbose": False}}
UNKNOWNS = 10  # of a trial


def by_casadi(
    problem: FitProblem,
    setting: float,
    plugin: Plugin = "cvodes",
    form: Form = "reduced",
    mode: Literal["forward", "adjoint"] = "adjoint",
    compiled: bool = False,
) -> Rival:
    """Residuals by an integrator, their Jacobian by its forward sensitivities.

    **Arguments:**

    - `problem`: the four-bar linkage.
    - `setting`: the tolerance of cvodes and idas; steps in each sampling interval of rk, the
        method of Runge and Kutta of order four; stages of collocation at Gauss points, with one
        step in each interval.
    - `plugin`: of `casadi.integrator`. Of `"cvodes"` and `"rk"` the form must be reduced.
    - `form`: which equations: of the crank angle, or in nine coordinates with accelerations
        and multipliers as algebraic variables.
    - `mode`: of the gradient of the sum of squares: by the Jacobian, or by adjoints.
    - `compiled`: whether expressions become C, compiled by gcc.
    """
    ca = peer("casadi")
    data, start = measured(problem), point(problem)
    dae, initial, angle_row = (_reduced if form == "reduced" else _index_1)(ca)
    own = ca.MX.sym("own", UNKNOWNS)
    times = data[0].times
    options = _options(plugin, setting, times.size - 1)
    if compiled:
        options |= JIT
    run = ca.integrator("F", plugin, dae, float(times[0]), times[1:].tolist(), options)

    values, both, slope = [], [], []
    for trial, one in enumerate(data):
        guess = initial(of_trial(start, trial))
        x0, z0 = initial(own)[0], np.array(guess[1])
        given = {"x0": x0, "p": own[: UNKNOWNS - 2]}
        if form != "reduced":
            given["z0"] = z0
        crank = ca.horzcat(own[UNKNOWNS - 2], run(**given)["xf"][angle_row, :])
        rocker = _rocker(ca).map(times.size)(crank, ca.repmat(own[: UNKNOWNS - 2], 1, times.size))
        rows = [
            channel.T / sigma - measured
            for channel, sigma, measured in zip((crank, rocker), one.sigmas, one.channels)
        ]
        r = ca.vertcat(*rows)
        half = 0.5 * ca.sumsqr(r)
        jacobian = ca.jtimes(r, own, ca.DM.eye(UNKNOWNS))
        values.append(ca.Function("r", [own], [r]))
        both.append(ca.Function("j", [own], [r, jacobian]))
        slope.append(ca.Function("g", [own], [half, ca.gradient(half, own)]))

    def each(functions: list[Any], x: Any) -> list[list[np.ndarray]]:
        found = [function.call([of_trial(x, trial)]) for trial, function in enumerate(functions)]
        return [[np.array(part) for part in parts] for parts in found]

    def iteration(x):
        return assembled([(r.ravel(), jacobian) for r, jacobian in each(both, x)])

    def gradient(x):
        if mode == "adjoint":
            return added([(float(v.item()), g.ravel()) for v, g in each(slope, x)])
        r, jacobian = iteration(x)
        return 0.5 * float(r @ r), jacobian.T @ r

    words = f"CasADi {plugin}, {form}{', compiled' if compiled else ''}, gradient by {mode}"
    return Rival(
        f"{words} mode" if mode == "forward" else f"{words}s",
        f"{setting:g}",
        lambda x: np.concatenate([r.ravel() for (r,) in each(values, x)]),
        iteration,
        gradient,
    )


def _options(plugin: Plugin, setting: float, intervals: int) -> dict[str, Any]:
    if plugin == "rk":
        return {"number_of_finite_elements": int(setting) * intervals, "simplify": False}
    if plugin == "collocation":
        newton = {"abstol": 1e-11, "abstolStep": 1e-12, "max_iter": 50}
        return {
            "collocation_scheme": "legendre", "interpolation_order": int(setting),
            "number_of_finite_elements": intervals, "rootfinder": "fast_newton",
            "rootfinder_options": newton,
        }  # fmt: skip
    options = {"abstol": setting, "reltol": setting, "max_num_steps": 10**6}
    if plugin == "idas":
        return options | {"calc_icB": False}
    # The equation is not stiff: Adams' formulas without Newton's method are four times as fast.
    adams = {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"}
    return options | adams


def _rocker(ca: Any) -> Any:
    crank, shared = ca.SX.sym("crank"), ca.SX.sym("shared", UNKNOWNS - 2)
    return ca.Function("rocker", [crank, shared], [loop(ca, crank, parameters(shared))[1]])


def _reduced(ca: Any) -> tuple[dict[str, Any], Any, int]:
    """The equation of the crank angle, its initial values, and the row of the angle."""
    x, shared, own = ca.SX.sym("x", 2), ca.SX.sym("p", UNKNOWNS - 2), ca.SX.sym("own", UNKNOWNS)
    ode = ca.vertcat(x[1], acceleration(ca, x[0], x[1], parameters(shared)))
    none = ca.SX(0, 1)
    initial = ca.Function("initial", [own], [own[UNKNOWNS - 2 :], none])
    return {"x": x, "p": shared, "ode": ode}, initial, 0


def _index_1(ca: Any) -> tuple[dict[str, Any], Any, int]:
    """Three bodies: `x` is coordinates and velocities, `z` accelerations and multipliers."""
    q, v, a, lam = (ca.SX.sym(name, size) for name, size in zip("qval", (9, 9, 9, 8)))
    shared, own = ca.SX.sym("p", UNKNOWNS - 2), ca.SX.sym("own", UNKNOWNS)
    mass, force, joints = _bodies(ca, q, v, parameters(shared))
    slope = ca.jacobian(joints, q)
    velocity = slope @ v
    algebraic = ca.vertcat(
        mass * a - force + slope.T @ lam, slope @ a + ca.jacobian(velocity, q) @ v
    )
    unknown = ca.vertcat(a, lam)
    dae = {"x": ca.vertcat(q, v), "z": unknown, "p": shared, "alg": algebraic}
    dae["ode"] = ca.vertcat(v, a)

    # Linear in accelerations and multipliers: one Newton step from zero solves it.
    at_zero = ca.substitute(algebraic, unknown, ca.SX.zeros(17))
    parts = [dae["x"], shared]
    system = ca.Function("system", parts, [ca.jacobian(algebraic, unknown), -at_zero])
    state = ca.Function("state", [own], [_state(ca, own)])
    given = ca.MX.sym("own", UNKNOWNS)
    matrix, right = system(state(given), given[: UNKNOWNS - 2])
    return dae, ca.Function("initial", [given], [state(given), ca.solve(matrix, right)]), 2


def _bodies(ca: Any, q: Any, v: Any, p: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Masses, forces and joints of crank, coupler and rocker."""
    m1, m2, m3 = (p[name] for name in ("crank_mass", "coupler_mass", "rocker_mass"))
    lengths = [p[name] for name in ("crank", "coupler", "rocker")]
    j2, j3 = m2 * lengths[1] ** 2 / 12, m3 * lengths[2] ** 2 / 12
    mass = ca.vertcat(m1, m1, p["crank_inertia"], m2, m2, j2, m3, m3, j3)
    moment = -p["stiffness"] * (q[2] - p["rest"]) - p["damping"] * v[2]
    weights = [-GRAVITY * m for m in (m1, m2, m3)]
    force = ca.vertcat(0, weights[0], moment, 0, weights[1], 0, 0, weights[2], 0)
    centre = [q[3 * body : 3 * body + 2] for body in range(3)]
    half = [
        length / 2 * ca.vertcat(ca.cos(q[3 * body + 2]), ca.sin(q[3 * body + 2]))
        for body, length in enumerate(lengths)
    ]
    joints = ca.vertcat(
        centre[0] - half[0],
        centre[0] + half[0] - centre[1] + half[1],
        centre[1] + half[1] - centre[2] - half[2],
        centre[2] - half[2] - ca.vertcat(GROUND, 0),
    )
    return mass, force, joints


def _state(ca: Any, own: Any) -> Any:
    """Coordinates and velocities at angle and rate of the crank."""
    p, angle, rate = parameters(own), own[UNKNOWNS - 2], own[UNKNOWNS - 1]
    two, three = loop(ca, angle, p)
    rates = (1, *slopes(ca, (angle, two, three), p)[0])
    links = zip((angle, two, three), rates, (p["crank"], p["coupler"], p["rocker"]))
    q, v, end, end_rate = [], [], ca.SX.zeros(2), ca.SX.zeros(2)
    for body, (own_angle, slope, length) in enumerate(links):
        along = length / 2 * ca.vertcat(ca.cos(own_angle), ca.sin(own_angle))
        across = slope * rate * ca.vertcat(-along[1], along[0])
        if body == 2:
            end, end_rate = ca.vertcat(GROUND, 0), ca.SX.zeros(2)
        q += [end + along, own_angle]
        v += [end_rate + across, slope * rate]
        end, end_rate = end + 2 * along, end_rate + 2 * across
    return ca.vertcat(*q, *v)
