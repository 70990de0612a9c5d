"""Notebooks of `notebooks/` as pages of `learn/`: Sphinx reads below its own folder only."""

import pathlib
import shutil


def copy(app):
    target = pathlib.Path(app.srcdir) / "learn" / "notebooks"
    target.mkdir(parents=True, exist_ok=True)
    for source in sorted((pathlib.Path(app.srcdir).parent / "notebooks").glob("*.ipynb")):
        if not (target / source.name).exists() or (
            (target / source.name).read_bytes() != source.read_bytes()
        ):
            shutil.copyfile(source, target / source.name)


def setup(app):
    app.connect("builder-inited", copy)
    return {"parallel_read_safe": True}


def slug(title):
    """The anchor that Jupyter gives a heading: links in notebooks lead there, too."""
    return title.replace(" ", "-")
