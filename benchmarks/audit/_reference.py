"""References: SciPy's DOP853 on the index-1 equations, from kink to kink."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import DOP853

from ._equations import accelerations, underlying_rate
from ._mechanism import Mechanism, Start


TIGHT = 2.3e-14  # SciPy admits no less
TIGHTER = 10.0  # by so much
TINY = 1e-15  # the absolute tolerance
NEAR = 1e-9  # from here a step of Euler's method to the kink is exact
SPLIT = 0.37  # where the second run begins afresh, in each piece


class _Tighter(DOP853):
    """DOP853 at a tenth of the tolerance: SciPy raises smaller ones to a hundred roundings."""

    def _estimate_error_norm(self, K, h, scale):
        return TIGHTER * super()._estimate_error_norm(K, h, scale)


class End(NamedTuple):
    """The state at a time, shapes `(ny,)`, `(nz,)`, `(nlam + npsi,)`, and what it may be wrong by.

    - `error`: the greatest entry of `|x - x'| / (1 + |x|)`, `x` the states of two runs.
    - `kinks`: the times of those that were passed.
    """

    y: np.ndarray
    z: np.ndarray
    multipliers: np.ndarray
    error: float
    kinks: tuple[float, ...]


def relative(found: np.ndarray, exact: np.ndarray) -> float:
    """The greatest entry of `|found - exact| / (1 + |exact|)`; infinite where not finite."""
    if not np.all(np.isfinite(found)):
        return float("inf")
    return float(np.max(np.abs(found - exact) / (1 + np.abs(exact)), initial=0.0))


class Reference:
    """The motion of a mechanism by a code that is not jaxspark's.

    Two runs, the second of twice the tolerance and restarted within each piece, tell how far
    rounding errors and tolerances carry.

    ??? cite "Reference"
        E. Hairer, S. Norsett & G. Wanner, *Solving Ordinary Differential Equations I*, 2nd
        edition, section II.10; on discontinuities, section II.6.
    """

    def __init__(self, mechanism: Mechanism):
        self._mechanism = mechanism
        system, switch = mechanism.system, mechanism.switch

        @eqx.filter_jit
        def rate(t, state, ny, args):
            return underlying_rate(system, t, state, ny, args)

        @eqx.filter_jit
        def multipliers(t, y, z, args):
            return accelerations(system, t, y, z, args)[1]

        @eqx.filter_jit
        def side(t, state, ny, args):
            return switch(t, state[:ny], state[ny:], args)

        @eqx.filter_jit
        def crossing(t, state, ny, args):
            slope = underlying_rate(system, t, state, ny, args)
            value = partial(side, ny=ny, args=args)
            return jax.jvp(value, (t, state), (jnp.ones_like(t), slope))

        self._rate, self._multipliers = rate, multipliers
        self._side, self._crossing = side, crossing

    def at(self, start: Start, t1: float | None = None, t0: float = 0.0) -> End:
        """The state at `t1`, of the motion from `start` at `t0`. Default: the mechanism's end.

        **Raises:** `RuntimeError` if SciPy gives up or a kink cannot be found.
        """
        t1 = self._mechanism.t1 if t1 is None else t1
        run, kinks = self._run(start, t0, t1, TIGHT, ())
        again, _ = self._run(start, t0, t1, 2 * TIGHT, (SPLIT,))
        ny = len(start.y)
        y, z = run[:ny], run[ny:]
        reactions = np.asarray(self.multipliers(t1, y, z, start.args))
        return End(y, z, reactions, relative(again, run), tuple(kinks))

    def once(self, start: Start, t1: float, t0: float = 0.0, rtol: float = TIGHT) -> np.ndarray:
        """The state `(y, z)` at `t1` by one run, flat."""
        return self._run(start, t0, t1, rtol, ())[0]

    def multipliers(self, t: float, y: np.ndarray, z: np.ndarray, args: Any) -> np.ndarray:
        """`(lam, psi)` at a state."""
        return np.asarray(self._multipliers(jnp.asarray(t, float), y, z, args))

    def _run(self, start: Start, t0: float, t1: float, rtol: float, splits: tuple[float, ...]):
        state, kinks = np.concatenate([start.y, start.z]), []
        for begin, end in self._pieces(start.args, t0, t1):
            inside = [begin + s * (end - begin) for s in splits]
            for a, b in zip([begin, *inside], [*inside, end]):
                piece = _Piece(self, start, np.nextafter(end, begin) if end < t1 else end, rtol)
                state = piece.integrate(a, state, b)
                kinks += piece.kinks
            kinks += [end] if end < t1 else []
        return state, kinks

    def _pieces(self, args: Any, t0: float, t1: float) -> Iterator[tuple[float, float]]:
        """The intervals between the kinks of fixed times."""
        kinks = self._mechanism.kinks
        inside = [] if kinks is None else [float(t) for t in kinks(args) if t0 < float(t) < t1]
        yield from zip([t0, *inside], [*inside, t1])

    def functions(self, start: Start) -> tuple[Callable, Callable | None, Callable]:
        """`(y', z')`, the sign of the switch, if there is one, and its value and rate.

        All of `(t, state)`, whose times must be arrays: of a number each would compile again.
        """
        ny, args = len(start.y), start.args

        def rate(t, state):
            return np.asarray(self._rate(np.asarray(t, float), state, ny, args))

        def side(t, state):
            return np.sign(float(self._side(np.asarray(t, float), state, ny, args)))

        def crossing(t, state):
            value, slope = self._crossing(jnp.asarray(t, float), jnp.asarray(state), ny, args)
            return float(value), float(slope)

        return rate, None if self._mechanism.switch is None else side, crossing


class _Piece:
    """The motion between two kinks of fixed times; those of a switch are found on the way.

    - `last`: the last time at which the equations are those of this piece.
    """

    def __init__(self, reference: Reference, start: Start, last: float, rtol: float):
        rate, self._side, self._crossing = reference.functions(start)
        self._last, self._rtol = last, rtol
        self._rate = lambda t, state: rate(min(t, last), state)
        self.kinks: list[float] = []

    def integrate(self, t: float, state: np.ndarray, end: float) -> np.ndarray:
        """The state at `end`."""
        while t < end:
            solver = self._solver(t, state, end)
            bracket = self._step_until_crossing(solver)
            if bracket is None:
                return solver.y
            t, state = self._cross(*bracket)
            self.kinks.append(t)
        return state

    def _solver(self, t: float, state: np.ndarray, end: float) -> DOP853:
        return _Tighter(self._rate, t, state, end, rtol=self._rtol, atol=TINY)

    def _step_until_crossing(self, solver: DOP853):
        """Step to the end, or to a step in which the switch changes its sign.

        **Returns:** `None`, or time and state before that step, and a time after the change.
        """
        while solver.status == "running":
            before = solver.t, solver.y
            message = solver.step()
            if solver.status == "failed":
                raise RuntimeError(f"DOP853 at {solver.t}: {message}")
            if self._side is None:
                continue
            side = self._side(*before)
            inside = solver.dense_output()
            for t in np.linspace(before[0], solver.t, 6)[1:]:
                if self._side(t, inside(t)) == -side:
                    return *before, t
        return None

    def _cross(self, t: float, state: np.ndarray, after: float) -> tuple[float, np.ndarray]:
        """Approach the sign change from its left, where the equations are smooth; step over it.

        Newton's method for its time, a tenth short of it as long as it is far; then, within
        `NEAR`, Euler's method, whose error there is below rounding.
        """
        side = self._side(t, state)
        for _ in range(100):
            value, slope = self._crossing(t, state)
            ahead = -value / slope if slope * value < 0 else np.inf
            if ahead <= NEAR:
                break
            advance = 0.9 * min(ahead, max(after - t, NEAR))
            while True:
                reached = self._to(t, state, t + advance)
                if self._side(t + advance, reached) == side:
                    break
                advance /= 2
            t, state = t + advance, reached
        else:
            raise RuntimeError(f"The kink near {t} was not found.")
        rate = self._rate(t, state)
        for over in (0.0, *(1e-17 * 2.0 ** np.arange(20))):
            ended = t + ahead + over, state + (ahead + over) * rate
            if self._side(*ended) == -side:
                return ended
        raise RuntimeError(f"The kink near {t} was not passed.")

    def _to(self, t: float, state: np.ndarray, end: float) -> np.ndarray:
        solver = self._solver(t, state, end)
        while solver.status == "running":
            solver.step()
        if solver.status == "failed":
            raise RuntimeError(f"DOP853 failed at {solver.t}.")
        return solver.y
