"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from .. import __version__
from ..fit import FitError
from ._identify import identify, LENGTH, MASS
from ._picture import draw, FILE_NAME
from ._record import load_record, RecordError
from ._report import report, summary


DESCRIPTION = """\
Identify a compound pendulum from a measurement of its swing.

Without arguments: the fork of a bicycle, hung on a knife edge, its rate measured by a
gyroscope for 30 s at 100 Hz. It is modelled as a constrained mechanism: a rigid body in the
plane, held by the knife edge, whose force causes dry friction. Frequency, dry and viscous
friction, gain and bias of the sensor, initial angle and rate are found by the
Levenberg-Marquardt method on exact derivatives of the simulation.

It prints the estimates with standard errors, what the record cannot tell apart, and how a
model with viscous friction alone compares; and it draws a picture."""

EPILOG = f"""\
the record:
  A CSV file whose first line is  time_s,gyro_volt  and whose other lines are numbers: time
  (s), increasing in equal steps, and a voltage proportional to the angular rate, but for a
  bias (V). At least 100 rows, 21 samples in a period and two whole swings.

examples:
  jaxspark                            the built-in record; the picture goes to ./{FILE_NAME}
  jaxspark --out results              the picture goes to results/
  jaxspark swing.csv --mass 1.2 --length 0.31 --no-plot

models of your own:
  jaxspark fit --help                 identify a mechanism from measurements
  jaxspark simulate --help            simulate it, or predict a measurement

exit status: 0 success, 1 the fit or the writing failed, 2 wrong arguments or record."""


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxspark",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("record", nargs="?", metavar="RECORD.csv", help="a measurement of your own")
    parser.add_argument(
        "--out", default=".", type=Path, metavar="DIR",
        help="folder for the picture (default: the current one)",
    )  # fmt: skip
    parser.add_argument("--no-plot", action="store_true", help="draw no picture")
    parser.add_argument(
        "--mass", type=_positive, default=MASS, metavar="KG",
        help="mass of the body (default: %(default)s), for the moments of inertia",
    )  # fmt: skip
    parser.add_argument(
        "--length", type=_positive, default=LENGTH, metavar="M",
        help="from the knife edge to the centre of mass (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bar, and a result of one line"
    )
    parser.add_argument("--version", action="version", version=f"jaxspark {__version__}")
    return parser


def _fail(message: object, status: int) -> int:
    print(f"jaxspark: error: {message}", file=sys.stderr)
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run the main job.

    **Arguments:**

    - `argv`: command-line arguments, by default those of the program.

    **Returns:** the exit status: 0 for success, 1 if the fit or the writing failed, 2 for a
    record that cannot be used.
    """
    options = _parser().parse_args(argv)
    # A program may choose its precision; the library leaves that to its user.
    jax.config.update("jax_enable_x64", True)
    try:
        record = load_record(options.record)
        found = identify(record, options.mass, options.length, options.quiet)
    except RecordError as error:
        return _fail(error, 2)
    except FitError as error:
        return _fail(error, 1)
    print(summary(found) if options.quiet else "\n" + report(found))
    if not options.no_plot:
        try:
            path = draw(found, options.out)
        except OSError as error:
            return _fail(f"the picture cannot be written: {error}", 1)
        if not options.quiet:
            print(f"\nPicture: {path}")
    return 0
