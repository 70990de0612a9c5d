"""The command line as a function, and the example of its help with measurements."""

import contextlib
import io
import re
import textwrap

import numpy as np

from jaxspark._command import main
from swings import swing


TRUTH = {"length": 0.8, "drag": 0.3, "offset": 0.03}
STARTS = {"a": (0.7, 0.0), "b": (-0.2, 2.0), "c": (0.4, -1.0)}
TIMES = 0.05 * np.arange(81)


def run(*argv):
    """Exit status, output and error output of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(word) for word in argv])
        except SystemExit as stop:
            status = stop.code
    return status, out.getvalue(), err.getvalue()


def block(text, heading):
    """The indented lines that follow a line which starts with the heading."""
    after = text[re.search(rf"^{re.escape(heading)}.*:$", text, re.MULTILINE).end() :]
    return textwrap.dedent(re.match(r"\n+((?: {4}.*\n|\n)+)", after)[1])


def write_csv(path, times, values, header="t,encoder"):
    rows = [f"{t:.4f},{x:.8f}" for t, x in zip(times, values, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n")


def write_example(path):
    """The files of `fit --help` in a folder, and measurements for them, a.csv to c.csv."""
    status, text, _ = run("fit", "--help")
    assert status == 0
    (path / "pendulum.py").write_text(block(text, "pendulum.py"))
    (path / "channels.toml").write_text(block(text, "channels.toml"))
    rng = np.random.default_rng(5)
    for name, start in STARTS.items():
        angle = swing(TIMES, *start, length=TRUTH["length"], drag=TRUTH["drag"])["angle"]
        angle = angle + TRUTH["offset"] + 0.01 * rng.standard_normal(TIMES.size)
        write_csv(path / f"{name}.csv", TIMES, angle)


def fit_example(folder, *more):
    files = [folder / name for name in ("pendulum.py", "a.csv", "b.csv")]
    common = ["--config", folder / "channels.toml", "--checkpoint", folder / "fit.npz"]
    return run("fit", *files, *common, *more)


def table(text):
    header, *rows = text.splitlines()
    values = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    return dict(zip(header.split(","), values.T, strict=True))
