"""IFToMM's problems: energies and points against references, CPU times beside published ones."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import jaxspark

from .._figures import at_most, Figure, note
from ..fresh._work import seconds
from ..problems import andrews as andrews_problem
from . import _library as library
from ._natural import Natural


G = 9.81
# The library's limit of a point's error (high precision of A01 and A02), and ours of the energy,
# in J: half of what Exudyn 1.10 reports of A02 at 8000 steps a second, 1.8e-5.
POINT, ENERGY, LINES, MOST = 1e-3, 1e-5, 20, 100_000
# CPU seconds of L. Tagliapietra, M. Vivian, E. Ceseracciu & M. Reggiani, *MBS Benchmarks in
# OpenSim*, on a Core i5-4570 at 3.2 GHz.
PUBLISHED = {"A01": 0.637, "A02": 0.455, "A03": 0.384, "A04": 0.258, "A05": 0.233}
# Exudyn's tip of A02 with two windows at 10 s, from steps of 2.5e-4 and 1.25e-4 s, extrapolated.
EXUDYN = (0.3284581, 0.9445185)


class Case(NamedTuple):
    """A problem and how it is solved.

    - `build`: the mechanism and its state; `t1`: the end (s).
    - `point`: `point(mechanism, y)`, what is compared; `reference`: `reference(t1)`, the same.
    - `options`: of [`jaxspark.solve`][].
    - `supplied`: `supplied(mechanism, y)`, energy that is no part of `Mechanism.energy`; `None`
        where energy is lost.
    - `row`: which of the saved times the point is compared at.
    - `energy`: whether its change has our limit.
    """

    build: Callable[[], library.Built]
    t1: float
    point: Callable[[Any, Any], Any]
    reference: Callable[[float], Any]
    options: dict[str, Any]
    supplied: Callable[[Any, Any], Any] | None
    row: int = -1
    energy: bool = True


def iftomm(tiny: bool) -> Iterator[Figure]:
    """Each problem: lines, the point, the energy, loops, CPU time."""
    builds = (
        library.pendulum, library.four_bars, library.andrews, library.bricard, library.governor
    )  # fmt: skip
    lines = {build.__name__: lines_of(build) for build in builds}
    words = ", ".join(f"{name} {count}" for name, count in lines.items())
    yield at_most(f"lines of each problem ({words}), most", max(lines.values()), LINES, "d")
    for name, case in list(CASES.items())[:1] if tiny else CASES.items():
        yield from _measured(name, case, 0.1 if tiny else case.t1)
        jax.clear_caches()
    if not tiny:
        tip = _windows(2)(10.0)
        what = "A02, 2 windows: the reference's tip from Exudyn's, extrapolated"
        yield at_most(what, float(np.max(np.abs(tip - np.array(EXUDYN)))), 3e-7)


def _measured(name: str, case: Case, t1: float) -> Iterator[Figure]:
    mechanism, (y, z) = case.build()
    times = jnp.linspace(0.0, t1, 101)

    @jax.jit
    def motion(args):
        found = jaxspark.solve(
            mechanism.system, y, z, args, t1=t1, ts=times, max_steps=MOST, **case.options
        )
        return found.ys, found.zs, found.stats.num_steps, found.stats.max_g

    ys, zs, steps, worst = motion(mechanism.parameters)
    at, point = float(times[case.row]), np.asarray(case.point(mechanism, ys[case.row]))
    error = float(np.max(np.abs(point - np.asarray(case.reference(at)))))
    yield at_most(f"{name}: error of the point at {at:g} s", error, POINT)
    if case.supplied is not None:
        energies = jax.vmap(lambda y, z: sum(mechanism.energy(y, z)))(ys, zs)
        supplied = case.supplied
        energies = energies + jax.vmap(lambda y: supplied(mechanism, y))(ys)
        drift = float(jnp.max(jnp.abs(energies - energies[0])))
        what = f"{name}, {t1:g} s: change of the energy, J"
        yield at_most(what, drift, ENERGY) if case.energy else note(what, f"{drift:.2e}")
    yield note(f"{name}: largest residual of a loop", f"{float(worst):.1e}")
    spent = seconds(lambda: motion(mechanism.parameters))
    published = PUBLISHED.get(name[:3]) if "40" not in name else None
    beside = f"; OpenSim {published:g}" if published else ""
    yield note(f"{name}: CPU s, {int(steps)} steps", f"{spent:.4f}{beside}")


def lines_of(function: Callable[..., Any]) -> int:
    """How many lines build a problem, without its name and docstring."""
    source = inspect.getsource(function)
    code = source.split('"""')[2] if '"""' in source else source
    return sum(bool(line.strip()) for line in code.splitlines())


def _pendulum(t: float) -> np.ndarray:
    """The angle from below has `sin(angle / 2) = -k cd(w t)`, `k^2 = 1/2`."""
    _, cn, dn, _ = ellipj(np.sqrt(G) * t, 0.5)
    angle = 2 * np.arcsin(-np.sqrt(0.5) * cn / dn)
    return np.array([np.sin(angle), -np.cos(angle)])


def _windows(count: int) -> Callable[[float], np.ndarray]:
    """All rods turn as one: the tip of the first."""
    inertia = (count + 1) / 3 + count
    weight = G * ((count + 1) / 2 + count)

    def tip(t: float) -> np.ndarray:
        found = solve_ivp(
            lambda t, x: [x[1], weight / inertia * np.sin(x[0])], (0, t), [0.0, 1.0],
            method="DOP853", rtol=1e-13, atol=1e-13,
        )  # fmt: skip
        angle = found.y[0, -1]
        return np.array([np.sin(angle), np.cos(angle)])

    return tip


def _bricard(t: float) -> np.ndarray:
    """The third corner, in natural coordinates."""
    start = np.concatenate([library.CORNERS, library.AXES])
    cube = Natural(start, [0, 5, 6, 11], library.GRAVITY, range(6))
    for k in range(5):
        cube.block((k, k + 1), (6 + k, 7 + k), 1.0, library.THICK)
    return cube.motion(np.zeros_like(start), [t])[-1, 3]


def _governor(t: float) -> float:
    """The height of the slider: two coordinates, the turn by its angular momentum."""
    rod, slider = library.brick(1.0, 0.01, 0.01), library.brick(0.1, 0.1, 0.1)
    m, (thin, wide, _), ball = rod["mass"], rod["inertia"], library.BALL
    rest = library.brick(0.01, 0.01, 1.0)["inertia"][2] + slider["inertia"][2]
    swing, weight = 2 * (wide + m / 4 + ball), 2 * G * (m / 2 + ball)

    def turning(a: float) -> tuple[float, float]:
        c, s = np.cos(a), np.sin(a)
        near, far = 0.05 + c / 2, 0.05 + c
        value = rest + 2 * (m * near**2 + thin * s**2 + wide * c**2 + ball * far**2)
        return value, 2 * (-m * near * s + 2 * (thin - wide) * s * c - 2 * ball * far * s)

    momentum = turning(np.pi / 6)[0] * 2 * np.pi

    def rate(t: float, x: np.ndarray) -> list[float]:
        del t
        a, s, va, vs = x
        inertia, slope = turning(a)
        out, up = np.cos(a) / 2, 1 - np.sin(a) / 2 - s
        length = np.hypot(out, up)
        by_a, by_s = -(out * np.sin(a) + up * np.cos(a)) / 2 / length, -up / length
        tension = library.STIFFNESS * (length - library.LENGTH)
        tension += library.DAMPING * (by_a * va + by_s * vs)
        push = slope * (momentum / inertia) ** 2 / 2 + weight * np.cos(a) - 2 * tension * by_a
        return [va, vs, push / swing, -G - 2 * tension * by_s / slider["mass"]]

    start = [np.pi / 6, 0.5, 0.0, 0.0]
    return solve_ivp(rate, (0, t), start, method="Radau", rtol=1e-10, atol=1e-12).y[1, -1]


def _of_andrews(t: float) -> np.ndarray:
    """The angles, of which there is a reference at 0.03 s alone."""
    del t
    reference = andrews_problem().reference
    assert reference is not None
    return np.asarray(reference()["y_end"])


def _angles(mechanism: Any, y: Any) -> Any:
    found = mechanism.coordinates(y)
    return jnp.stack([found[name][0] for name in ("be", "th", "ga", "ph", "de", "om", "ep")])


def _work(mechanism: Any, y: Any) -> Any:
    """What the squeezer's motor has yet to do; its spring is part of the energy."""
    return -library.PARAMETERS["mom"] * mechanism.coordinates(y)["be"][0]


def _tip(mechanism: Any, y: Any) -> Any:
    return mechanism.position("rod 0", y, (0.0, 1.0))[:2]


def _nothing(mechanism: Any, y: Any) -> Any:
    del mechanism
    return 0.0 * y[0]


EXACT = {"rtol": 1e-10, "atol": 1e-10}
# Through singular positions steps must not end too close to them.
COARSE, COARSEST = {"rtol": 1e-8, "atol": 1e-8}, {"rtol": 1e-5, "atol": 1e-5}
STIFF = {"method": jaxspark.GGL(jaxspark.RadauIIA(3)), "rtol": 1e-7, "atol": 1e-7}
CASES = {
    "A01": Case(
        library.pendulum, 10.0, lambda m, y: m.position("mass", y, (-1.0, 0.0))[:2], _pendulum,
        EXACT, _nothing,
    ),
    "A02, 2 windows": Case(
        lambda: library.four_bars(2), 10.0, _tip, _windows(2), COARSE, _nothing
    ),
    "A02, 40 windows": Case(
        lambda: library.four_bars(40), 20.0, _tip, _windows(40), COARSEST, _nothing, energy=False
    ),
    "A03": Case(library.andrews, 0.05, _angles, _of_andrews, EXACT, _work, 60),
    "A04": Case(
        library.bricard, 10.0, lambda m, y: m.position("rod 3", y), _bricard, EXACT, _nothing
    ),
    "A05": Case(
        library.governor, 10.0, lambda m, y: m.coordinates(y)["s"][0], _governor, STIFF, None
    ),
}  # fmt: skip
