"""Notebooks of `notebooks/` as pages of `learn/`, run two at a time.

Sphinx reads below its own folder only, and MyST-NB would run one after the other. A notebook runs
again if it, or the package, has changed. With `-D run_tutorials=0` none runs.
"""

import concurrent.futures
import hashlib
import pathlib

import nbformat
from nbclient import NotebookClient


AT_ONCE = 2


def digest(source, package):
    """Of the notebook and of all that it may call."""
    every = hashlib.sha256(source.read_bytes())
    for path in sorted(package.rglob("*.py")):
        every.update(path.read_bytes())
    return every.hexdigest()


def executed(source, digest, folder):
    notebook = nbformat.read(source, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where).execute()
    notebook.metadata["ran_with"] = digest
    return notebook


def ran_with(path):
    if not path.exists():
        return None
    return nbformat.read(path, as_version=4).metadata.get("ran_with")


def make(app):
    root = pathlib.Path(app.srcdir).parent
    target = pathlib.Path(app.srcdir) / "learn" / "notebooks"
    target.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(app.doctreedir)
    scratch.mkdir(parents=True, exist_ok=True)
    todo = {}
    for source in sorted((root / "notebooks").glob("*.ipynb")):
        wanted = digest(source, root / "jaxspark")
        if not app.config.run_tutorials:
            if not (target / source.name).exists():
                nbformat.write(nbformat.read(source, as_version=4), target / source.name)
        elif ran_with(target / source.name) != wanted:
            todo[source] = wanted
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {pool.submit(executed, path, todo[path], scratch): path for path in todo}
        for future in concurrent.futures.as_completed(futures):
            nbformat.write(future.result(), target / futures[future].name)


def setup(app):
    app.add_config_value("run_tutorials", True, "env", bool)
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True}


def slug(title):
    """The anchor that Jupyter gives a heading: links in notebooks lead there, too."""
    return title.replace(" ", "-")
