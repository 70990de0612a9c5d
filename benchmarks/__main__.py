"""`python -m benchmarks figures TOPIC` measures what a topic promises; `smoke` a little."""

import argparse
import importlib
import os
import pathlib
import sys

import jax

from ._figures import report


TOPICS = ("core", "dalembert", "adaptive", "stiff", "large", "fit", "speed")


def main() -> int:
    """Run the command line; 1 if a figure is short of its target."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    figures = commands.add_parser("figures", help="measure a topic afresh, in full")
    figures.add_argument("topic", choices=TOPICS)
    figures.add_argument("--only", help="only the part of this name", default=None)
    figures.add_argument("--plots", help="a folder for pictures", default=None, type=pathlib.Path)
    commands.add_parser("smoke", help="run a tiny version of every benchmark")
    arguments = parser.parse_args()

    jax.config.update("jax_enable_x64", True)
    if arguments.command == "smoke":
        for topic in TOPICS:
            # Tiny sizes are no measurement: only an error fails a smoke.
            report(importlib.import_module(f"benchmarks.{topic}").smoke())
        return 0
    _stay_on_one_core()
    if arguments.plots is not None:
        arguments.plots.mkdir(parents=True, exist_ok=True)
    topic = importlib.import_module(f"benchmarks.{arguments.topic}")
    return 0 if report(topic.figures(arguments.only, arguments.plots)) else 1


def _stay_on_one_core() -> None:
    """Costs are CPU seconds of one core: threads that wait for each other count as work."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


if __name__ == "__main__":
    sys.exit(main())
