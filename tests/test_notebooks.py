"""Every notebook runs from a clean kernel, and is stored without outputs."""

import pathlib

import nbformat
import pytest
from nbclient import NotebookClient

from helpers import thorough


FOLDER = pathlib.Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# What the others show is tested elsewhere, too; each runs for a minute.
ALWAYS = ("identification", "quickstart")


def test_there_are_notebooks():
    assert FOLDER / "quickstart.ipynb" in NOTEBOOKS


@each_notebook
def test_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None, (
                f"{path.name} holds outputs; remove them with: python .ci/tidy.py {path}"
            )


@pytest.mark.parametrize(
    "path",
    [path if path.stem in ALWAYS else thorough(path) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
