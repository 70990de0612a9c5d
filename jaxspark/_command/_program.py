"""What the words of a command line start."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import jax

from .._main import main as main_job
from ._errors import CommandError
from ._parsers import check_parser, fit_parser, simulate_parser


PARSERS = {"fit": fit_parser, "check": check_parser, "simulate": simulate_parser}
INTERRUPTED = 130  # as shells have it for Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program `jaxspark`.

    **Arguments:**

    - `argv`: command-line arguments, by default those of the program. If the first is `fit`,
        `check` or `simulate`, that is done; otherwise the main job.

    **Returns:** the exit status: 0 for success, 1 if a fit or a simulation failed, or a check
    found something wrong, 2 for wrong
    arguments, data or models.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] not in PARSERS:
        return main_job(argv)
    parser = PARSERS[argv[0]]()
    options = parser.parse_intermixed_args(argv[1:])
    # A program may choose its precision; the library leaves that to its user.
    jax.config.update("jax_enable_x64", True)
    try:
        with _short_warnings():
            if argv[0] == "fit":
                from ._fit import fit_command

                return fit_command(options)
            if argv[0] == "check":
                from ._check import check_command

                return check_command(options)
            from ._simulate import simulate_command

            return simulate_command(options)
    except CommandError as error:
        print(f"jaxspark {argv[0]}: error: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        file = getattr(options, "checkpoint", None)
        resume = "" if file is None else f" The same command goes on from {file}."
        print(f"\njaxspark {argv[0]}: interrupted.{resume}", file=sys.stderr)
        return INTERRUPTED


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Warnings in one line each, without the place in the library that they come from."""

    def show(message, category, filename, lineno, file=None, line=None):
        del file, line
        # Of the records' own the message says where.
        place = "" if category.__name__ == "DataWarning" else f"{filename}, line {lineno}: "
        print(f"jaxspark: warning: {place}{message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
