"""What a problem of identification is: a mechanism, what is measured of it, and the truth."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate
from jaxtyping import Array, Float

import jaxspark
from jaxspark import fit


Numbers: TypeAlias = Float[np.ndarray, " n"]
Channels: TypeAlias = dict[str, Float[np.ndarray, " n"]]


@dataclass(frozen=True, eq=False)
class Trial:
    """One measurement.

    - `name`: of the record.
    - `times`: of the samples (s), evenly spaced.
    - `start`: the true state at the first of them in minimal coordinates, their rates last.
    - `guess`: where a search begins that does not know the start.
    - `inputs`: what drives the mechanism, as functions of time (NumPy); known exactly.
    """

    name: str
    times: Numbers
    start: Numbers
    guess: Numbers
    inputs: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FitProblem:
    """Parameters of a mechanism that are to be found from records of it, in SI units.

    - `name`: of the problem.
    - `system`: in Cartesian coordinates, with constraints; functions of `args`.
    - `observe`: `observe(t, y, z, lam, psi, args)`, the channels at a state, by name.
    - `truth`: the true `args`, without inputs.
    - `guess`: by name, where the search begins; 10 to 50 % off.
    - `specs`: makes the `args` in which specifications stand for what is unknown.
    - `trials`: the measurements, all at the same times.
    - `state`: `state(start, args)`, consistent `(y0, z0)` of minimal coordinates; traceable.
    - `reduced`: `reduced(trial, start, args)`, the channels by SciPy from equations of motion
        in minimal coordinates that were derived by hand: nothing of jaxspark is in them.
    - `units`: of channels and inputs.
    - `method`: with `steps` of it in each sampling interval, `simulate` agrees with `reduced`
        to 1e-7 of the channels' standard deviations.
    """

    name: str
    system: jaxspark.AbstractConstrainedSystem
    observe: Callable[..., dict[str, Any]]
    truth: dict[str, Any]
    guess: dict[str, float]
    specs: Callable[[], dict[str, Any]]
    trials: tuple[Trial, ...]
    state: Callable[[Any, Any], tuple[Any, Any]]
    reduced: Callable[[Trial, Numbers, dict[str, Any]], Channels]
    units: dict[str, str]
    method: jaxspark.methods.AbstractSparkMethod
    steps: int = 1

    @functools.cached_property
    def clean(self) -> tuple[Channels, ...]:
        """The channels of every trial without noise."""
        return tuple(self.reduced(trial, trial.start, self.truth) for trial in self.trials)

    def sigmas(self, noise: float = 0.01) -> dict[str, float]:
        """Standard deviations of the noise: this share of the channel's, in all trials together."""
        return {
            name: noise * float(np.std(np.concatenate([one[name] for one in self.clean])))
            for name in self.clean[0]
        }

    def data(self, seed: int, noise: float = 0.01) -> list[fit.Record]:
        """A record of each trial, with normally distributed noise.

        **Arguments:**

        - `seed`: of `numpy.random.default_rng`.
        - `noise`: as a share of the standard deviation of each channel.

        **Returns:** the records, in the order of `trials`.
        """
        rng, sigmas = np.random.default_rng(seed), self.sigmas(noise)
        return [
            fit.record(
                trial.times,
                {name: x + sigmas[name] * rng.standard_normal(x.size) for name, x in clean.items()},
                {name: function(trial.times) for name, function in trial.inputs.items()} or None,
                name=f"{self.name}, {trial.name}",
                units=self.units,
            )
            for trial, clean in zip(self.trials, self.clean, strict=True)
        ]

    def with_inputs(self, trial: Trial, args: dict[str, Any]) -> dict[str, Any]:
        """`args` with the inputs of a trial, splines through their samples."""
        if not trial.inputs:
            return args
        signals = {
            name: fit.Signal.cubic(trial.times, function(trial.times))
            for name, function in trial.inputs.items()
        }
        return {**args, "inputs": signals}

    def simulate(self, times: Numbers, start: Any, args: dict[str, Any]) -> dict[str, Array]:
        """The channels by `jaxspark.rollout`, traceable; `args` hold the inputs, if any."""
        y0, z0 = self.state(jnp.asarray(start), args)
        solution = jaxspark.rollout(
            self.system, y0, z0, args, method=self.method, t0=float(times[0]), t1=float(times[-1]),
            num_steps=self.steps * (times.size - 1), save_every=self.steps, multipliers=True,
        )  # fmt: skip
        found = solution.multipliers
        assert found is not None
        rows = solution.ts, solution.ys, solution.zs, found.lam, found.psi
        return jax.vmap(lambda *row: self.observe(*row, args))(*rows)

    @functools.cached_property
    def compiled(self) -> Callable[[Any, dict[str, Any]], dict[str, Array]]:
        """`simulate` at the times of the trials, which are the same in all."""
        return eqx.filter_jit(lambda *at: self.simulate(self.trials[0].times, *at))

    def error(self, trial: int) -> float:
        """Of `simulate` at the truth, as a multiple of the channels' standard deviations."""
        one, sigmas = self.trials[trial], self.sigmas(1.0)
        observed = self.compiled(one.start, self.with_inputs(one, self.truth))
        differences = {
            name: np.asarray(observed[name]) - clean for name, clean in self.clean[trial].items()
        }
        return max(float(np.max(abs(x)) / sigmas[name]) for name, x in differences.items())


def integrate(
    derivative: Callable[[float, Any], Any],
    start: Numbers,
    times: Numbers,
    rtol: float = 1e-11,
    longest: float = np.inf,
) -> Float[np.ndarray, "states n"]:
    """Solve an ordinary differential equation by DOP853.

    **Arguments:**

    - `derivative`: of time and state.
    - `start`: the state at the first time.
    - `times`: where the solution is wanted.
    - `rtol`: the relative tolerance; the absolute one is a tenth of it.
    - `longest`: step.

    **Raises:** `RuntimeError` if the tolerance cannot be met.
    """
    solution = scipy.integrate.solve_ivp(
        derivative, (times[0], times[-1]), start, method="DOP853", t_eval=times,
        rtol=rtol, atol=rtol / 10, max_step=longest,
    )  # fmt: skip
    if not solution.success:
        raise RuntimeError(f"The reference solution failed: {solution.message}")
    return solution.y
