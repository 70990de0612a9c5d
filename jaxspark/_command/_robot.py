"""`jaxspark fit robot.xml log.csv`: a mechanism from a file, columns by the names of joints."""

import argparse
import csv
import dataclasses
import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..fit import Findings, Model, read_csv, Record
from ._config import Config
from ._errors import blaming, CommandError, no_such


SUFFIXES = (".xml", ".mjcf", ".urdf")
TIMES = ("t", "time")
# What `--torques` identifies besides bodies, by the paths that name it.
OF_JOINTS = ("damping", "friction", "armature")


def is_robot(text: str) -> bool:
    """Whether a model is a file of a robot, not of Python."""
    return text.lower().endswith(SUFFIXES)


@dataclasses.dataclass(frozen=True)
class Robot:
    """A robot, its places and its measurements.

    - `path`, `mechanism`, `parameters`, `places`: of the file and the options.
    - `records`, `held_out`: what was measured.
    """

    path: Path
    mechanism: Any
    parameters: Mapping[str, Any]
    places: Mapping[str, Any]
    records: list[Record]
    held_out: list[Record]


def read_robot(options: argparse.Namespace, config: Config) -> Robot:
    """The file, and the measurements.

    **Raises:** `CommandError` if something is missing or not known, by its name.
    """
    path = Path(options.model)
    if not path.is_file():
        raise CommandError(f"{path}: there is no such file.")
    with blaming(path):
        from .. import multibody
        from ..multibody._channels import is_channel, KINDS
    headers = [_header(file, config.delimiter) for file in (*options.data, *config.held_out)]
    columns = _columns(headers, config, is_channel, KINDS)
    driving = [name for name in columns if name.startswith("ctrl:")]
    control = None
    if driving:
        control = lambda t, args: {x[5:]: args["inputs"][x](t) for x in driving}
    try:
        with blaming(path):
            mechanism = multibody.load(path, ignore=options.ignore, control=control)
            places = multibody.sites(path) | _places(multibody, options.place)
    except ModuleNotFoundError as error:
        raise CommandError(error) from None
    parameters = _changed(mechanism.parameters, dict(options.set))
    read = lambda files: [_record(file, columns, config) for file in files]
    with blaming(path):
        return Robot(path, mechanism, parameters, places, read(options.data), read(config.held_out))


def _header(path: Path, delimiter: str) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [cell.strip() for cell in next(csv.reader(file, delimiter=delimiter), [])]
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: this is no text.") from None


def _columns(
    headers: Sequence[Sequence[str]], config: Config, known: Any, kinds: Sequence[str]
) -> dict[str, str]:
    """Of each channel the column: as the configuration says, or of the same name in all files."""
    columns = dict(config.channels) | dict(config.inputs)
    for header in headers:
        for name in header:
            if known(name):
                columns.setdefault(name, name)
            elif ":" in name and name not in columns.values():
                raise CommandError(
                    f'column "{name}" shows nothing that is known: names begin with '
                    f"{', '.join(f'{kind}:' for kind in kinds)}."
                )
    if not columns:
        raise CommandError(
            f"{no_such('column of a joint', 'q:JOINT', headers[0])} Or name columns in [channels] "
            "of the configuration."
        )
    return columns


def _record(path: Path, columns: Mapping[str, str], config: Config) -> Record:
    drives = ("tau:", "i:", "ctrl:")
    header = _header(path, config.delimiter)
    time = config.time
    if time not in header:
        time = next((name for name in TIMES if name in header), time)
    inputs = {name: column for name, column in columns.items() if name.startswith(drives)}
    channels = {name: column for name, column in columns.items() if name not in inputs}
    units = {name: config.units[name] for name in config.units}
    return read_csv(
        path, time=time, channels=channels, inputs=inputs, delimiter=config.delimiter,
        name=path.stem, units=units, missing=config.missing,
    )  # fmt: skip


def _places(multibody: Any, given: Sequence[tuple[str, str, tuple[float, ...]]]) -> dict[str, Any]:
    return {
        name: multibody.Place(body, at[:3], *([at[3:]] if at[3:] else []))
        for name, body, at in given
    }


def _changed(parameters: Any, values: Mapping[str, float]) -> dict[str, Any]:
    """Parameters with other numbers in some places."""
    paths = [
        "/".join(str(key.key) for key in path)
        for path, _ in jax.tree_util.tree_flatten_with_path(parameters)[0]
    ]
    for name in values:
        if not any(fnmatch.fnmatchcase(path, name) for path in paths):
            raise CommandError(f"--set: {no_such('parameter', name, paths)}")

    def new(path: Any, leaf: Any) -> Any:
        own = "/".join(str(key.key) for key in path)
        found = [value for name, value in values.items() if fnmatch.fnmatchcase(own, name)]
        return np.full(np.shape(leaf), found[-1]) if found else leaf

    return jax.tree_util.tree_map_with_path(new, parameters)


def robot_model(robot: Robot, options: argparse.Namespace, config: Config) -> Model:
    """The model of a fit of simulated motions.

    **Raises:** `CommandError` for columns or paths that the robot does not have.
    """
    from .. import multibody

    if not options.identify:
        raise CommandError(
            "say what to identify: --identify bodies/NAME, --identify 'joints/*/damping' and so on;"
            " "
            "or --torques, for base parameters from measured torques."
        )
    with blaming(robot.path):
        return multibody.model(
            robot.mechanism, [*robot.records, *robot.held_out], options.identify,
            places=robot.places, constants=dict(options.motor), parameters=robot.parameters,
            noise=dict(config.noise) or None, title=robot.path.name,
            **({} if options.step is None else {"step": options.step}),
        )  # fmt: skip


def identified(robot: Robot, options: argparse.Namespace, level: float) -> tuple[Any, Findings]:
    """Base parameters from torques, and what was found.

    **Raises:** `CommandError` for columns or paths that are not for this.
    """
    from .. import multibody

    bodies, joints, offsets = _asked(robot, options.identify)
    with blaming(robot.path):
        found = multibody.identify(
            robot.mechanism, robot.records, bodies=bodies, joints=joints, offsets=offsets,
            constants=dict(options.motor), parameters=robot.parameters,
        )  # fmt: skip
        findings = found.findings(level)
    return found, dataclasses.replace(findings, title=robot.path.name)


def _asked(robot: Robot, paths: Sequence[str]) -> tuple[list[str] | None, list[str], bool]:
    """Bodies, words of joints, and whether there are offsets, from paths."""
    if not paths:
        return None, ["damping"], False
    every = [body.name for body in robot.mechanism.tree.bodies if body.mass > 0]
    bodies: list[str] = []
    joints: list[str] = []
    offsets = False
    for path in paths:
        named = [name for name in every if fnmatch.fnmatchcase(f"bodies/{name}", path)]
        words = [word for word in OF_JOINTS if path == f"joints/*/{word}"]
        if path == "sensors/*/zero":
            offsets = True
        elif not named and not words:
            known = ["bodies/NAME", *(f"joints/*/{word}" for word in OF_JOINTS), "sensors/*/zero"]
            raise CommandError(f"--identify with --torques: {no_such('path', path, known)}")
        bodies += [name for name in named if name not in bodies]
        joints += [word for word in words if word not in joints]
    return bodies, joints, offsets


def save_robot(target: Path, robot: Robot, parameters: Any) -> None:
    """A copy of the robot's file with other parameters.

    **Raises:** `CommandError`, of status 1, if it cannot be written.
    """
    from .. import multibody

    own = {name: parameters[name] for name in robot.mechanism.parameters}
    try:
        multibody.save(target, robot.path, own)
    except (OSError, ValueError) as error:
        raise CommandError(f"--save {target}: {error}", 1) from None
