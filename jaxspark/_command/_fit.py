"""`jaxspark fit`: from measurements to a report."""

import argparse
import contextlib
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..fit import estimate, Findings, Fit, FitError, Model, Profile, profile, Record
from ..fit._parametrise import parametrise
from ..fit._report._verdict import verdict
from ..fit._simulation import simulate, SimulationError
from ._config import Config, load_config
from ._errors import blaming, CommandError, no_such
from ._load_model import loaded_model
from ._output import as_json, as_text, write
from ._records import check_apart, columns_of, read_records
from ._robot import identified, is_robot, read_robot, robot_model, save_robot


ALL = "all"


def fit_command(options: argparse.Namespace) -> int:
    """Fit a model to measurements, write the report and print it.

    **Arguments:**

    - `options`: as `fit_parser` makes them.

    **Returns:** the exit status: 0, or 1 if the fit did not converge.

    **Raises:** `CommandError`.
    """
    config = _merged(load_config(options.config), options)
    _check_places(options)
    if is_robot(options.model):
        return _fit_robot(config, options)
    _check_for_robots(options)
    # With --json nothing else may be printed, whatever the model's file prints.
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with aside, loaded_model(options.model) as model:
        fitted, found = _found(model, config, options)
        page = write(found, options.out, figures=not options.no_plots)
    return _told(fitted.converged, fitted.message, found, page, options)


def _fit_robot(config: Config, options: argparse.Namespace) -> int:
    """The same for a robot."""
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    check_apart(options.data, config.held_out)
    with aside:
        robot = read_robot(options, config)
        if options.torques:
            fitted, found = identified(robot, options, config.level)
            parameters = fitted.parameters if options.save else None
        else:
            model = robot_model(robot, options, config)
            with blaming(robot.path):
                fitted, found = _fitted(model, robot.records, robot.held_out, config, options)
            parameters = fitted.parameters()
        page = write(found, options.out, figures=not options.no_plots)
        if options.save:
            save_robot(options.save, robot, parameters)
    return _told(found.converged, found.message, found, page, options)


def _check_for_robots(options: argparse.Namespace) -> None:
    """That options for robots are given with one."""
    names = ("identify", "torques", "motor", "place", "ignore", "set", "step", "save")
    given = [f"--{name}" for name in names if getattr(options, name)]
    if given:
        raise CommandError(
            f"{given[0]} is for robots, files whose names end with .xml, .mjcf or .urdf; "
            f"{options.model} is none."
        )


def _told(
    converged: bool, message: str, found: Findings, page: Path, options: argparse.Namespace
) -> int:
    """Print what was found; the exit status."""
    if options.json:
        print(as_json(found))
    elif options.quiet:
        print(verdict(found).replace("R²", "R^2"))
    else:
        print(f"\n{as_text(found)}\n\nReport: {page}")
    if not converged:
        print(f"jaxspark fit: error: {message}", file=sys.stderr)
    return 0 if converged else 1


def _merged(config: Config, options: argparse.Namespace) -> Config:
    """The configuration with the options, which go before it."""
    changed = {
        "window": options.window, "level": options.level,
        "max_iterations": options.max_iterations,
        "held_out": tuple(options.held_out) or None, "profiles": tuple(options.profile) or None,
    }  # fmt: skip
    given = {name: value for name, value in changed.items() if value is not None}
    return dataclasses.replace(config, **given)


def _check_places(options: argparse.Namespace) -> None:
    """That what is written can be, before a long fit."""
    # It is made only when there is something to write.
    there = next(path for path in (options.out, *options.out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise CommandError(f"--out {options.out}: it cannot be made a folder: {there} is a file.")
    if not os.access(there, os.W_OK):
        raise CommandError(f"--out {options.out}: nothing can be written to {there}.")
    file = options.checkpoint
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise CommandError(f"--checkpoint {file}: it must be a file in a folder that exists.")


def _found(model: Model, config: Config, options: argparse.Namespace) -> tuple[Fit, Findings]:
    check_apart(options.data, config.held_out)
    columns = columns_of(model, config)
    if config.noise:
        model = dataclasses.replace(model, noise={**(model.noise or {}), **config.noise})
    records = read_records(options.data, columns, config)
    held_out = read_records(config.held_out, columns, config)
    return _fitted(model, records, held_out, config, options)


def _fitted(
    model: Model,
    records: Sequence[Record],
    held_out: Sequence[Record],
    config: Config,
    options: argparse.Namespace,
) -> tuple[Fit, Findings]:
    names = _profiled(model, config, len(records))
    try:
        fitted = estimate(
            model, records, window=config.window, max_iterations=config.max_iterations,
            checkpoint=options.checkpoint, progress=not options.quiet, throw=False,
        )  # fmt: skip
    except FitError as error:
        reason = _reason(model, records) if "cannot be simulated" in str(error) else ""
        raise CommandError(f"{error}{reason}", 1) from None
    except OSError as error:
        raise CommandError(f"the checkpoint cannot be written: {error}", 1) from None
    profiles = _profiles(fitted, names, config.level)
    return fitted, fitted.findings(held_out=list(held_out), profiles=profiles, level=config.level)


def _profiled(model: Model, config: Config, num_trials: int) -> tuple[str, ...]:
    """The parameters to profile, known before the fit."""
    names = parametrise(model.parameters, num_trials).names
    if ALL in config.profiles:
        return names
    for name in config.profiles:
        if name not in names:
            raise CommandError(f"profile: {no_such('free parameter', name, names)}")
    return tuple(dict.fromkeys(config.profiles))


def _profiles(fitted: Fit, names: Sequence[str], level: float) -> tuple[Profile, ...]:
    if names and not fitted.converged:
        print("jaxspark fit: no profiles, since the fit did not converge.", file=sys.stderr)
        return ()
    return tuple(profile(fitted, name, level=level) for name in names)


def _reason(model: Model, records: Sequence[Record]) -> str:
    """When, and why, the first record that cannot be simulated from the start cannot."""
    for trial, record in enumerate(records):
        try:
            simulate(model, record, trial=trial)
        except SimulationError as error:
            return f"\n{error}"
    return ""
