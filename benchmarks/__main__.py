"""Without a command, or by `page`: ours next to all peers that are installed, as one page.

`figures TOPIC` measures what a topic promises, `smoke` a little of everything.
"""

import argparse
import importlib
import os
import pathlib
import sys
import tempfile

import jax

from ._figures import report


FOLDER = pathlib.Path("benchmarks-page")
TOPICS = (
    "core",
    "dalembert",
    "adaptive",
    "audit",
    "stiff",
    "large",
    "fit",
    "speed",
    "versions",
    "fresh",
    "real",
    "trust",
    "docs",
    "bodies",
)


def main() -> int:
    """Run the command line; 1 if a figure is short of its target, or a section failed."""
    arguments = _parser().parse_args()
    jax.config.update("jax_enable_x64", True)
    if arguments.command == "smoke":
        return _smoke()
    _stay_on_one_core()
    if arguments.command == "figures":
        if arguments.data is not None and arguments.topic != "real":
            raise SystemExit("--data is for the topic real.")
        if arguments.plots is not None:
            arguments.plots.mkdir(parents=True, exist_ok=True)
        topic = importlib.import_module(f"benchmarks.{arguments.topic}")
        options = {} if arguments.data is None else {"data": arguments.data}
        return 0 if report(topic.figures(arguments.only, arguments.plots, **options)) else 1
    from .page import page

    return 0 if page(arguments.sections, arguments.out) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(sections=[], out=FOLDER)
    commands = parser.add_subparsers(dest="command")
    page = commands.add_parser("page", help="measure afresh and write page.html and results.json")
    sections = "work-precision, kinds, batch, gradient, scaling, long-time; default: all"
    page.add_argument("sections", nargs="*", metavar="SECTION", help=sections)
    words = f"a folder for both, overwritten; default: {FOLDER}"
    page.add_argument("--out", metavar="DIR", help=words, default=FOLDER, type=pathlib.Path)
    figures = commands.add_parser("figures", help="measure a topic afresh, in full")
    figures.add_argument("topic", choices=TOPICS)
    figures.add_argument("--only", help="only the part of this name", default=None)
    figures.add_argument("--plots", help="a folder for pictures", default=None, type=pathlib.Path)
    words = "a folder of measured records, for the topic real"
    figures.add_argument("--data", help=words, default=None, type=pathlib.Path)
    commands.add_parser("smoke", help="run a tiny version of every benchmark")
    return parser


def _smoke() -> int:
    """Tiny sizes are no measurement: only an error fails a smoke."""
    for topic in TOPICS:
        report(importlib.import_module(f"benchmarks.{topic}").smoke())
    from .page import page

    # The other sections measure what the topic of speed has just measured.
    names = ["work-precision", "scaling"]
    with tempfile.TemporaryDirectory() as folder:
        return 0 if page(names, pathlib.Path(folder), tiny=True) else 1


def _stay_on_one_core() -> None:
    """Costs are CPU seconds of one core: threads that wait for each other count as work."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


if __name__ == "__main__":
    sys.exit(main())
