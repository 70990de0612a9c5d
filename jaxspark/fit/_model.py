"""What is fitted: a system, what of it is measured, and what is unknown."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._explicit import ExplicitMethod
from .._jax_internals import depends_on
from .._system import AbstractConstrainedSystem
from .._tableau import AbstractSparkMethod, Composition, Gauss
from ._initial import Start
from ._robust import AbstractLoss, Squares
from ._sensor import acting, any_lag, Input, Interpolation, lags_of, Sensor


class Model(eqx.Module):
    r"""A mechanism, its sensors and its unknown parameters.

    **Arguments:**

    - `system`: any jaxspark system. Its functions get as `args` the tree `parameters` with
        numbers in place of specifications; and, if the records have inputs, `args["inputs"]`,
        functions of time by name (then `parameters` must be a dictionary).
    - `observe`: `observe(t, y, z, lam, psi, args)`, a dictionary of scalars, one for each channel
        of the records: sensors with their gain and bias; `lam`, `psi` are the multipliers, for
        reaction forces. Or a dictionary of such functions, of scalars, by channel, where a
        [`jaxspark.fit.Sensor`][] has a zero, gain and lag. A record may lack some of the channels.
    - `parameters`: any PyTree of specifications ([`jaxspark.fit.positive`][] and others) and
        constants.
    - `start`: where trials start, a [`jaxspark.fit.Start`][].
    - `step`: the longest step (s); samples closer than this have one step between them.
    - `method`: of the steps: a SPARK method, by default `Gauss(2)`, of order 4; or an explicit one,
        such as `jaxspark.DOP853()`, whose steps follow from `rtol` alone. That takes less time for
        motions that are not stiff.
    - `rtol`: relative and absolute tolerance of an explicit method. Default: 1e-8 in double and
        1e-5 in single precision.
    - `noise`: standard deviation of each channel's noise, by name, in its unit; what is not given
        is estimated.
    - `inputs`: how each input is interpolated, by name, `"cubic"` (default), `"linear"` or
        `"previous"`; or a [`jaxspark.fit.Input`][], which may be late. What prescribes a motion
        in a constraint must be `"cubic"`.
    - `delays`: `delays(args)`, a dictionary of the delays (s) of some channels: these show what
        was that long ago. Before the start of a record, or window, motions are extrapolated: delays
        are to be a few steps at most.
    - `loss`: [`jaxspark.fit.Squares`][], or a robust one, [`jaxspark.fit.Huber`][] or
        [`jaxspark.fit.Cauchy`][].
    - `points`: `points(t, y, args)`, positions of points of the mechanism, shape `(n, 2)` or
        `(n, 3)` (m), for the animation in reports.
    - `lines`: pairs of numbers of points, from 0, that the animation joins.
    - `title`: the title of reports.

    **Raises:** `TypeError` if `system`, `start`, `inputs` or `loss` are of another kind;
    `ValueError` if `step`, `rtol` or the threshold of `loss` is not positive, or `observe` is
    empty.
    """

    system: AbstractConstrainedSystem
    observe: Callable[..., Mapping[str, Any]] | Mapping[str, Sensor | Callable[..., Any]]
    parameters: Any
    start: Start
    step: float = eqx.field(static=True)
    method: AbstractSparkMethod | Composition | ExplicitMethod = Gauss(2)
    rtol: float | None = eqx.field(static=True, default=None)
    noise: Mapping[str, float] | None = None
    inputs: Mapping[str, Interpolation | Input] | None | Any = None
    delays: Callable[[Any], Mapping[str, Any]] | None = None
    loss: AbstractLoss = Squares()
    points: Callable[..., Any] | None = None
    lines: tuple[tuple[int, int], ...] = eqx.field(static=True, default=())
    title: str = eqx.field(static=True, default="Parameter identification")

    def __check_init__(self):
        if not isinstance(self.system, AbstractConstrainedSystem):
            raise TypeError(f"system must be a jaxspark system; got {self.system!r}.")
        if not isinstance(self.start, Start):
            raise TypeError(f"start must be jaxspark.fit.Start(y, z); got {self.start!r}.")
        if not (np.isfinite(self.step) and self.step > 0):
            raise ValueError(f"step must be a positive time (s); got {self.step}.")
        if not (self.rtol is None or (np.isfinite(self.rtol) and self.rtol > 0)):
            raise ValueError(f"rtol must be positive, or None; got {self.rtol}.")
        if isinstance(self.observe, Mapping) and not self.observe:
            raise ValueError('observe has no channel: give {"channel": Sensor(...), ...}.')
        if not (self.inputs is None or isinstance(self.inputs, Mapping)):
            raise TypeError(
                'inputs must be a dictionary by the name of the input, {"torque": "linear"}; got '
                f"{self.inputs!r}."
            )
        if not isinstance(self.loss, AbstractLoss):
            raise TypeError(f"loss must be one such as fit.Huber(); got {self.loss!r}.")
        threshold = getattr(self.loss, "threshold", 1.0)
        if not (np.isfinite(threshold) and threshold > 0):
            raise ValueError(
                f"loss: the threshold of {type(self.loss).__name__} must be positive, in standard "
                f"deviations; got {threshold}."
            )

    def args(self, parameters: Any, inputs: Mapping[str, Any]) -> Any:
        """What the system's functions get: the parameters, and the inputs beside them."""
        if not inputs:
            return parameters
        if not isinstance(parameters, dict) or "inputs" in parameters:
            raise ValueError(
                "The records have inputs, which go to args['inputs']: the parameters must be a "
                f"dictionary without that key; got {jax.tree.structure(parameters)}."
            )
        return {**parameters, "inputs": acting(self.inputs, inputs, parameters)}

    def finer(self, factor: float) -> "Model":
        """The same with steps shorter by a factor, and `rtol`, if it is given, by its fourth power.

        A fourth power, as errors of the default method of order 4.
        """
        rtol = self.rtol and factor**4 * self.rtol
        return dataclasses.replace(self, step=factor * self.step, rtol=rtol)

    @property
    def delayed(self) -> bool:
        """Whether any channel shows the past."""
        return self.delays is not None or any_lag(self.observe)

    def lags(self, args: Any) -> dict[str, Any]:
        """The delays (s), by name, of the channels that may be late.

        **Raises:** `ValueError` if a channel has a delay and a lag.
        """
        found = {} if self.delays is None else dict(self.delays(args))
        for name, lag in lags_of(self.observe, args).items():
            if name in found:
                raise ValueError(
                    f"{name} has a delay, in delays(args), and its sensor a lag: give one of them."
                )
            found[name] = lag
        return found

    def needs_multipliers(self, t: Any, y: Any, z: Any, lam: Any, psi: Any, args: Any) -> bool:
        """Whether what is observed depends on multipliers."""
        arrays, rest = eqx.partition((t, y, z, args), eqx.is_array)

        def observed(forces, arrays):
            t, y, z, args = eqx.combine(arrays, rest)
            lam, psi = forces
            return self.observed(t, y, z, lam, psi, args)

        cost = "Multipliers are computed for all samples."
        return depends_on(observed, (lam, psi), arrays, which=(0,), cost=cost)

    def observed(self, t: Any, y: Any, z: Any, lam: Any, psi: Any, args: Any) -> dict[str, Any]:
        """What the sensors show, by channel.

        **Raises:** `TypeError` if `observe` does not return a dictionary.
        """
        if isinstance(self.observe, Mapping):
            now = {
                name: of.without_lag if isinstance(of, Sensor) else of
                for name, of in self.observe.items()
            }
            return {name: of(t, y, z, lam, psi, args) for name, of in now.items()}
        shown = self.observe(t, y, z, lam, psi, args)
        if not isinstance(shown, Mapping):
            what = f"an array of shape {shown.shape}" if eqx.is_array(shown) else repr(shown)
            raise TypeError(
                "observe(t, y, z, lam, psi, args) must return a dictionary, a scalar for each "
                f'channel by its name, for instance {{"angle": y[0]}}; it returned {what}.'
            )
        return dict(shown)

    def channels(self, observed: Mapping[str, Any], names: tuple[str, ...]) -> Float[Array, " c"]:
        """The observed values as a vector, in the order of the names."""
        return jnp.stack([jnp.asarray(observed[name]).reshape(()) for name in names])
