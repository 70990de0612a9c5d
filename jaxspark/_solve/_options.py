"""Which options a method has, and an error for those that it has not."""

from typing import Any, NamedTuple

from .._blocks import AbstractBlockSolver
from .._driver import ProgressBar
from .._kkt import LinearSolver
from .._rollout import Checkpoint, EqualSteps, KnownSteps
from .._step import NewtonOptions


OPTIONAL = (
    "rtol atol first_step max_step ts events checkpoint progress_meter newton linear_solver"
).split()


class Options(NamedTuple):
    """What `solve` is asked for beyond the initial value problem; `None` where by default."""

    steps: KnownSteps | None
    rtol: Any
    atol: Any
    first_step: Any
    max_step: Any
    max_steps: int | None
    ts: Any
    save_every: int | None
    dense: bool
    multipliers: bool
    events: Any
    max_events: int
    checkpoint: Checkpoint | None
    progress_meter: Any
    newton: NewtonOptions | None
    linear_solver: LinearSolver | None
    predict: bool

    def asked(self) -> dict[str, bool]:
        """By name, whether an option that not all methods have is asked for."""
        asked = {name: getattr(self, name) is not None for name in OPTIONAL}
        asked["dense=True"], asked["predict=False"] = self.dense, not self.predict
        return asked


OF_TOLERANCES = "rtol atol first_step max_step ts events progress_meter dense=True".split()
OF_NEWTON = "checkpoint newton predict=False".split()


def as_meter(progress_meter: Any) -> Any:
    """What shows the progress, or `None`; `True` is our own bar.

    **Raises:** `TypeError` for what is not a meter.
    """
    if progress_meter is None or progress_meter is False:
        return None
    if progress_meter is True:
        return ProgressBar()
    if isinstance(progress_meter, type) or not all(
        callable(getattr(progress_meter, name, None)) for name in ("init", "step", "close")
    ):
        raise TypeError(
            "progress_meter must be True, or have the methods init, step and close, as those of "
            f"diffrax have; got {progress_meter!r}."
        )
    return progress_meter


def refuse_of_tolerances(options: Options) -> None:
    """Raise where steps are known and an option is for steps that follow from tolerances.

    **Raises:** `ValueError`.
    """
    found = [name for name in OF_TOLERANCES if options.asked()[name]]
    if found:
        raise ValueError(
            f"Steps whose sizes are known have no {', '.join(found)}: leave out steps, and their "
            "sizes follow from tolerances; or leave out these options."
        )


def refuse_of_newton(options: Options) -> None:
    """Raise where a method is explicit and an option is for implicit ones.

    **Raises:** `ValueError`.
    """
    found = beyond_explicit(options)
    if found:
        raise ValueError(
            f"Explicit methods are not for {', '.join(found)}. For these use a SPARK method such "
            "as jaxspark.Gauss(3)."
        )


def beyond_explicit(options: Options) -> list[str]:
    """The options that explicit methods do not have."""
    asked = options.asked()
    if not (options.steps is None or isinstance(options.steps, EqualSteps)):
        asked["steps other than EqualSteps"] = True
    names = [*OF_NEWTON, "steps other than EqualSteps"]
    found = [name for name in names if asked.get(name, False)]
    linear = options.linear_solver
    if not (linear is None or linear == "auto" or isinstance(linear, AbstractBlockSolver)):
        found.append(f"linear_solver={linear!r}")
    return found
