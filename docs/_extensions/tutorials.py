"""Notebooks of `notebooks/` as pages of `learn/`, run several at a time.

Sphinx reads below its own folder only, and MyST-NB would run one after the other. A notebook runs
again if it, or the package, has changed. With `-D run_tutorials=0` none runs. Those of `ALONE`
never do here, for a build should take minutes: tests run them.
"""

import concurrent.futures
import hashlib
import importlib.metadata
import os
import pathlib

import collection
import nbformat
from nbclient import NotebookClient
from sphinx.errors import ExtensionError


# Three to a core, beside the gallery's scripts: what is at work at the end leaves no core idle.
AT_ONCE = 3 * (os.cpu_count() or 1)


ALONE = {"adaptive.ipynb", "arm.ipynb", "robot.ipynb", "stiff.ipynb"}
NOTE = """```{note}
This page shows the notebook as it is stored, without its results: run it to see them.
```"""


def copy(source, target):
    """As it is stored, without outputs."""
    notebook = nbformat.read(source, as_version=4)
    notebook.metadata["source"] = source.read_text(encoding="utf-8")
    if source.name in ALONE:
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(NOTE))
    nbformat.write(notebook, target)


def source_of(path):
    if not path.exists():
        return None
    return nbformat.read(path, as_version=4).metadata.get("source")


def digest(source, package):
    """Of the notebook and of all that it may call."""
    every = hashlib.sha256(source.read_bytes())
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            every.update(path.read_bytes())
    every.update(importlib.metadata.version("jax").encode())
    return every.hexdigest()


def executed(source, digest, folder):
    notebook = nbformat.read(source, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    # Of a kernel only errors are told: it warns of TCP without encryption.
    quiet = "--IPKernelApp.log_level=40"
    seldom = f"--IPKernelApp.exec_lines=import gc; gc.set_threshold{collection.THRESHOLDS}"
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources=where,
        extra_arguments=[quiet, seldom],
    ).execute()
    notebook.metadata["ran_with"] = digest
    return notebook


def ran_with(path):
    if not path.exists():
        return None
    return nbformat.read(path, as_version=4).metadata.get("ran_with")


def start(app):
    """Copies those that are not to run; the others begin to, beside the gallery's scripts."""
    root = pathlib.Path(app.srcdir).parent
    target = pathlib.Path(app.srcdir) / "learn" / "notebooks"
    target.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(app.doctreedir)
    scratch.mkdir(parents=True, exist_ok=True)
    sources = sorted((root / "notebooks").glob("*.ipynb"))
    for stale in {path.name for path in target.glob("*.ipynb")} - {path.name for path in sources}:
        (target / stale).unlink()
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
    app.tutorials = {}
    for source in sources:
        wanted = digest(source, root / "jaxspark")
        if not app.config.run_tutorials or source.name in ALONE:
            if source_of(target / source.name) != source.read_text(encoding="utf-8"):
                copy(source, target / source.name)
        elif ran_with(target / source.name) != wanted:
            app.tutorials[pool.submit(executed, source, wanted, scratch)] = target / source.name
    pool.shutdown(wait=False)


def finish(app):
    """Waits for those that run, and stores them."""
    failed = {}
    for future in concurrent.futures.as_completed(app.tutorials):
        path = app.tutorials[future]
        if error := future.exception():
            failed[path.name] = error
        else:
            nbformat.write(future.result(), path)
    if failed:
        words = "; ".join(f"{name}: {error}" for name, error in failed.items())
        raise ExtensionError(f"Tutorials that do not run: {words}")


def setup(app):
    app.add_config_value("run_tutorials", True, "env", bool)
    # The gallery's scripts run in between, at the default priority of 500.
    app.connect("builder-inited", start, priority=100)
    app.connect("builder-inited", finish, priority=900)
    return {"parallel_read_safe": True}


def slug(title):
    """The anchor that Jupyter gives a heading: links in notebooks lead there, too."""
    return title.replace(" ", "-")
