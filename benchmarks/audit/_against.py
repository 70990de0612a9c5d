"""Steps and their cost against the version before, whose estimate of the error was another."""

import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._figures import at_least, at_most, Figure, note


# Its estimate is that of 701d054; it runs with the newest JAX.
BEFORE = "394d375"
ROOT = pathlib.Path(__file__).parents[2]
STEPS, COST, FEWER = 1.10, 1.10, 1.4
OF_DOP853 = "DOP853"
# The version before gets the names of now before anything of `benchmarks` is imported.
PROGRAM = f"""
import runpy
runpy.run_path({str(ROOT / "benchmarks" / "audit" / "_before.py")!r})["rename"]()
runpy.run_module("benchmarks.audit._work", run_name="__main__", alter_sys=False)
"""
TURNS = 3  # in which both versions are timed, alternately


def against(tiny: bool) -> Iterator[Figure]:
    """Work at equal achieved errors, and CPU time of a step, next to the commit before."""
    with tempfile.TemporaryDirectory() as folder:
        before = pathlib.Path(folder)
        if not _extract(before):
            yield note(f"against {BEFORE}", "its files are not at hand")
            return
        old, new = (_measured(home, "steps", tiny) for home in (before, ROOT))
        yield from _steps(old, new)
        costs: dict[pathlib.Path, list[dict[str, float]]] = {before: [], ROOT: []}
        for _ in range(1 if tiny else TURNS):
            for home, found in costs.items():
                found.append(_measured(home, "cost", tiny))
        yield from _cost(costs[before], costs[ROOT], tiny)


def _extract(folder: pathlib.Path) -> bool:
    """Put the package as it was before into a folder; whether the repository has it."""
    command = ["git", "archive", "--format=tar", BEFORE, "jaxspark"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        return False
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return True


def _measured(home: pathlib.Path, what: str, tiny: bool) -> Any:
    """What `_work` measures with the package in the folder `home`.

    **Raises:** `RuntimeError` if it fails, or ran with another package.
    """
    command = [sys.executable, "-c", PROGRAM, what, "tiny" if tiny else "full"]
    path = os.pathsep.join([str(home), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    told = json.loads(done.stdout.strip().splitlines()[-1])
    if pathlib.Path(told["from"]).resolve().parents[1] != home.resolve():
        raise RuntimeError(f"Measured was {told['from']}, not what is in {home}.")
    return told["result"]


def _steps(old: list[Any], new: list[Any]) -> Iterator[Figure]:
    """Ratios of steps, method by method."""
    before, now = _by_cell(old), _by_cell(new)
    ratios = defaultdict(lambda: defaultdict(list))
    for (mechanism, method, seed), points in now.items():
        if (points_before := before.get((mechanism, method, seed))) is not None:
            ratios[method][mechanism] += ratios_at_equal_error(points_before, points)
    for method, by_mechanism in ratios.items():
        logs = [np.log(own) for own in by_mechanism.values() if own]
        words = ", ".join(
            f"{name} {np.exp(np.mean(np.log(own))):.2f}"
            for name, own in by_mechanism.items()
            if own
        )
        yield note(f"{method}: steps over those before at equal error, each", words or "none")
        if not logs:
            continue
        mean = float(np.exp(np.mean([np.mean(own) for own in logs])))
        if method == OF_DOP853:
            yield at_least(
                f"{method}: evaluations before over now, at equal error", 1 / mean, FEWER
            )
        else:
            yield at_most(f"{method}: steps over those before at equal error", mean, STEPS, ".3f")


def _by_cell(rows: list[Any]) -> dict[tuple[str, str, int], np.ndarray]:
    """Pairs of error and steps, shape `(n, 2)`, of each mechanism, method and seed."""
    cells = defaultdict(list)
    for mechanism, method, seed, error, steps in rows:
        if error > 1e-13:
            cells[mechanism, method, seed].append((error, steps))
    return {key: np.array(sorted(points)) for key, points in cells.items()}


def ratios_at_equal_error(before: np.ndarray, now: np.ndarray) -> list[float]:
    """Steps now over those before, interpolated between logarithms, at each error in both ranges.

    Both ways, so that neither sweep's points are preferred.
    """
    ratios = []
    for points, others, sign in ((now, before, 1), (before, now, -1)):
        errors, steps = np.log(others).T
        inside = (points[:, 0] >= others[0, 0]) & (points[:, 0] <= others[-1, 0])
        for error, own in np.log(points[inside]):
            ratios.append(float(np.exp(sign * (own - np.interp(error, errors, steps)))))
    return ratios


def _cost(old: list[dict[str, float]], new: list[dict[str, float]], tiny: bool) -> Iterator[Figure]:
    """Ratios of the CPU time of a step; of tiny runs they tell nothing."""
    for name in new[0]:
        before, now = (min(found[name] for found in turns) for turns in (old, new))
        what = f"{name}: CPU time of a step, {1e6 * now:.1f} us, over that before"
        if tiny:
            yield note(what, f"{now / before:.3f}")
        else:
            yield at_most(what, now / before, COST, ".3f")
