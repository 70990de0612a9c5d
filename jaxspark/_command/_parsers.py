"""The options of each command."""

import argparse
from pathlib import Path
from typing import Any

from ._words import CHECK, FIT, fit_epilog, SIMULATE, SIMULATE_REST


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _level(text: str) -> float:
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1, as 0.95 is")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, at least 1")
    return int(text)


def _index(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a trial, from 0 on")
    return int(text)


def _assignment(text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name.strip(), _number(value)


def _place(text: str) -> tuple[str, str, tuple[float, ...]]:
    name, equals, rest = text.partition("=")
    body, *numbers = rest.split(",")
    if not equals or not name.strip() or not body or len(numbers) not in (3, 7):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form name=body,x,y,z or name=body,x,y,z,w,x,y,z"
        )
    return name.strip(), body.strip(), tuple(_number(number) for number in numbers)


def _parser(command: str, description: str, epilog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"jaxspark {command}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "model", metavar="MODEL.py", help="defines `model`; MODEL.py:name for another name"
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE.toml",
        help="which columns are which channels, and more",
    )
    return parser


def fit_parser() -> argparse.ArgumentParser:
    """Of `jaxspark fit`."""
    parser = _parser("fit", FIT, fit_epilog())
    add = parser.add_argument
    add("data", nargs="+", type=Path, metavar="DATA.csv", help="measurements, to be fitted")
    add(
        "--out", default="report", type=Path, metavar="DIR",
        help="folder for the report (default: %(default)s)",
    )  # fmt: skip
    add(
        "--held-out", action="append", type=Path, default=[], metavar="FILE.csv",
        help="a measurement to be predicted only; may be given several times",
    )  # fmt: skip
    add(
        "--profile", action="append", default=[], metavar="NAME",
        help="profile likelihood of a parameter, or of `all`; may be given several times",
    )  # fmt: skip
    add("--window", type=_positive, metavar="S", help="multiple shooting: length of windows")
    add("--checkpoint", type=Path, metavar="FILE", help="written at every step; resumed if there")
    add("--level", type=_level, metavar="P", help="of confidence intervals (default: 0.95)")
    add("--max-iterations", type=_count, metavar="N", help="give up after these (default: 100)")
    add("--no-plots", action="store_true", help="a report without figures")
    add("--json", action="store_true", help="print the report as JSON, and nothing else")
    add("--quiet", action="store_true", help="no progress bar, and a result of one line")
    _add_robots(parser)
    return parser


def _add_robots(parser: argparse.ArgumentParser) -> None:
    """Options of `jaxspark fit robot.xml`."""
    add = parser.add_argument_group("robots").add_argument
    several: dict[str, Any] = {"action": "append", "default": []}
    add(
        "--identify", **several, metavar="PATH",
        help="what is identified: bodies/hand, 'joints/*/damping', sensors/q:elbow/zero, ...",
    )  # fmt: skip
    add(
        "--torques", action="store_true",
        help="base parameters from measured torques, without simulations; robots without loops",
    )  # fmt: skip
    add(
        "--motor", **several, type=_assignment, metavar="JOINT=NUMBER",
        help="torque over current of a joint's motor, for columns i:JOINT (N m/A)",
    )  # fmt: skip
    add(
        "--place", **several, type=_place, metavar="NAME=BODY,X,Y,Z",
        help="where a sensor is, with W,X,Y,Z for its axes; sites of the file are known",
    )  # fmt: skip
    add("--set", **several, type=_assignment, metavar="PATH=NUMBER", help="another start value")
    add("--ignore", **several, metavar="WORD", help="what of the file is left out, as `contacts`")
    add("--step", type=_positive, metavar="S", help="longest step (default: between samples)")
    add("--save", type=Path, metavar="FILE", help="a copy of the robot's file with what was found")


def check_parser() -> argparse.ArgumentParser:
    """Of `jaxspark check`."""
    parser = _parser("check", CHECK, fit_epilog())
    add = parser.add_argument
    add("data", nargs="+", type=Path, metavar="DATA.csv", help="measurements, to be checked")
    add("--json", action="store_true", help="print what was found as JSON, and nothing else")
    return parser


def simulate_parser() -> argparse.ArgumentParser:
    """Of `jaxspark simulate`."""
    parser = _parser("simulate", SIMULATE, SIMULATE_REST)
    add = parser.add_argument
    add(
        "--t0", type=_number, metavar="S",
        help="first time (default: 0; with --report that of the trial's record)",
    )  # fmt: skip
    add("--t1", type=_number, metavar="S", help="last time")
    add("--dt", type=_positive, metavar="S", help="between samples (default: the model's step)")
    add("--data", type=Path, metavar="DATA.csv", help="a measurement, to be predicted")
    add(
        "--inputs", type=Path, metavar="FILE.csv",
        help="inputs over time, for models that are driven; simulated at its times",
    )  # fmt: skip
    add(
        "--set", action="append", type=_assignment, default=[], metavar="NAME=VALUE",
        help="value of a parameter; may be given several times",
    )  # fmt: skip
    add(
        "--report", type=Path, metavar="FILE.json",
        help="report.json of a fit: its estimates, of the start too",
    )  # fmt: skip
    add(
        "--trial", type=_index, default=0, metavar="N",
        help="of which trial, counted from 0, start and own parameters are (default: 0)",
    )  # fmt: skip
    add("--out", type=Path, metavar="FILE.csv", help="where to (default: standard output)")
    return parser
