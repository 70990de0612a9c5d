"""Sensors and inputs with errors of their own: zero, gain, lag, delay."""

from collections.abc import Callable, Mapping
from typing import Any, get_args, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ._signal import Signal


Interpolation = Literal["cubic", "linear", "previous"]
# A number, the name of a parameter, or a function of `args`.
Setting = float | int | np.integer | np.floating | str | Callable[[Any], Any]


class Sensor(eqx.Module):
    """What one channel shows of a quantity.

        gain * quantity(t - lag) + zero

    Each of the three is a number, the name of a parameter (a key of the model's dictionary of
    parameters), or a function of `args`. A zero that differs from record to record is a parameter
    with `per_trial=True`. A sensor of angles that begins anew after each turn is unwrapped in the
    record: [`jaxspark.fit.Record.unwrapped`][].

    **Arguments:**

    - `quantity`: `quantity(t, y, z, lam, psi, args)`, a scalar.
    - `zero`: what is shown for a quantity of zero, in the unit of the channel.
    - `gain`: the factor by which the quantity is shown, in the unit of the channel over its own.
    - `lag`: by how much the channel is late (s), a few steps at most; see `delays` of
        [`jaxspark.fit.Model`][]. Default: it is not late.

    **Raises:** `TypeError` for a quantity that is not a function, or settings that are none of
    these.
    """

    quantity: Any
    zero: Any = 0.0
    gain: Any = 1.0
    lag: Any = None

    def __check_init__(self):
        if not callable(self.quantity):
            raise TypeError(
                "Sensor: the quantity must be a function (t, y, z, lam, psi, args) -> scalar; got "
                f"{self.quantity!r}."
            )
        for name in ("zero", "gain", "lag"):
            given = getattr(self, name)
            if not (name == "lag" and given is None):
                _check_setting(f"Sensor: {name}", given)

    def __call__(self, t: Any, y: Any, z: Any, lam: Any, psi: Any, args: Any) -> Any:
        """What a sensor without a lag shows, for use in an `observe` of your own.

        **Raises:** `ValueError` if it has a lag, which only the model can account for.
        """
        if self.lag is not None:
            raise ValueError(
                "Sensor: what it shows at a time depends on the past, as it has a lag. Give the "
                'sensor itself to the model, observe={"channel": Sensor(...)}; do not call it.'
            )
        return self.without_lag(t, y, z, lam, psi, args)

    def without_lag(self, t: Any, y: Any, z: Any, lam: Any, psi: Any, args: Any) -> Any:
        """What would be shown without the lag."""
        shown = self.quantity(t, y, z, lam, psi, args)
        return _value(self.gain, args) * jnp.asarray(shown) + _value(self.zero, args)


class Input(eqx.Module):
    """A measured input: how it is interpolated, and how late it acts.

    **Arguments:**

    - `kind`: `"cubic"`, `"linear"` or `"previous"`.
    - `delay`: how long after it was recorded the input acts (s): a number, the name of a parameter,
        or a function of `args`. It is negative where the record is late. Before the first and after
        the last sample these are held. It cannot be estimated with `"previous"`, whose derivative
        by time is zero.

    **Raises:** `ValueError` for another kind, or a delay to be estimated with `"previous"`;
    `TypeError` for a delay that is none of these.
    """

    kind: Any = eqx.field(static=True, default="cubic")
    delay: Any = 0.0

    def __check_init__(self):
        check_kind("Input: kind", self.kind)
        _check_setting("Input: delay", self.delay)
        if self.kind == "previous" and not isinstance(self.delay, (int, float)):
            raise ValueError(
                'Input: a delay cannot be estimated where samples are held ("previous"): nothing '
                'changes with it until it passes a sample. Use "linear".'
            )

    @property
    def late(self) -> bool:
        """Whether the input may act at another time than it was recorded."""
        return not _is_zero(self.delay)


class Delayed(eqx.Module):
    """A signal that acts late."""

    signal: Signal
    delay: Any

    def __call__(self, t: Any) -> Any:
        return self.signal(t - self.delay)


def check_kind(what: str, kind: Any) -> None:
    """Raise a `ValueError` for what is no kind of interpolation."""
    kinds = get_args(Interpolation)
    if kind not in kinds:
        raise ValueError(f"{what} must be one of {', '.join(kinds)}; got {kind!r}.")


def acting(inputs: Mapping[str, Any] | None, signals: Mapping[str, Any], args: Any) -> dict:
    """Signals as they act on the system, those of a delayed `Input` late."""
    found = dict(signals)
    for name, given in (inputs or {}).items():
        if isinstance(given, Input) and given.late and name in signals:
            found[name] = Delayed(signals[name], _value(given.delay, args))
    return found


def kind_of(given: Any) -> Any:
    """How an input of a model is interpolated."""
    return given.kind if isinstance(given, Input) else given


def lags_of(observe: Any, args: Any) -> dict[str, Any]:
    """The lags of sensors that have one (s), by channel."""
    return {name: _value(sensor.lag, args) for name, sensor in _late(observe).items()}


def any_lag(observe: Any) -> bool:
    """Whether any sensor has a lag."""
    return bool(_late(observe))


def _late(observe: Any) -> dict[str, Any]:
    sensors = observe.items() if isinstance(observe, Mapping) else ()
    return {key: one for key, one in sensors if isinstance(one, Sensor) and one.lag is not None}


def _is_zero(setting: Any) -> bool:
    return isinstance(setting, (int, float)) and setting == 0


def _check_setting(what: str, given: Any) -> None:
    number = isinstance(given, (int, float, np.integer, np.floating)) and np.isfinite(given)
    number = number and not isinstance(given, bool)
    if not (number or isinstance(given, str) or callable(given)):
        raise TypeError(
            f"{what} must be a finite number, the name of a parameter or a function of args; "
            f"got {given!r}."
        )


def _value(setting: Setting, args: Any) -> Any:
    if isinstance(setting, str):
        if not isinstance(args, Mapping) or setting not in args:
            of = (
                [str(name) for name in args if name != "inputs"]
                if isinstance(args, Mapping)
                else []
            )
            names = ", ".join(of) or "no dictionary"
            raise ValueError(f"There is no parameter {setting!r}; the parameters are: {names}.")
        return args[setting]
    if isinstance(setting, np.generic):
        return setting.item()
    return setting(args) if callable(setting) else setting
