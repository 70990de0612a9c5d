"""Rooms import from the rooms above them in the table of CONTRIBUTING.md, and from no other."""

import ast
import inspect
import pathlib
import re

import pytest

import jaxspark


ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / "jaxspark"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def rooms():
    """The names of all rooms, each with the number of its row."""
    table = CONTRIBUTING.split("| room |")[1].split("\n\n")[0].splitlines()[2:]
    names = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table]
    return {name: row for row, of_row in enumerate(names) for name in of_row}


def imported(path):
    """The rooms from which a module imports, wherever in it."""
    parts = ("jaxspark", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        target = [*parts[: len(parts) - node.level + 1], *(node.module or "").split(".")]
        names = [target[1]] if target[1:] != [""] else [alias.name for alias in node.names]
        yield from (name for name in names if (PACKAGE / name).exists() or is_module(name))


def is_module(name):
    return (PACKAGE / f"{name}.py").exists()


def here():
    """The rooms that there are."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return folders | {path.stem for path in PACKAGE.glob("_[a-z]*.py")}


def test_the_table_has_all_rooms():
    assert here() == set(rooms())


@pytest.mark.parametrize("room", rooms())
def test_rooms_import_from_above(room):
    row = rooms()
    files = (
        (PACKAGE / room).rglob("*.py") if (PACKAGE / room).is_dir() else [PACKAGE / f"{room}.py"]
    )
    found = {name for path in files for name in imported(path)} - {room}
    below = {name for name in found if row[name] >= row[room]}
    assert not below, f"{room} imports from {below}"


def test_public_names_are_few():
    """Some 35 at the top, and none of them twice but methods, which are all in one room."""
    top = [name for name in dir(jaxspark) if not name.startswith("_")]
    rooms = [name for name in top if inspect.ismodule(getattr(jaxspark, name))]
    assert {"batch", "diagnostics", "forces", "linear", "methods", "stiff"} <= set(rooms)
    names = set(top) - set(rooms) - {"Any", "TYPE_CHECKING"}
    assert len(names) <= 36, sorted(names)
    for room in ("batch", "diagnostics", "forces", "linear", "methods", "stiff"):
        own = vars(getattr(jaxspark, room))
        found = {name for name in own if not name.startswith("_")}
        twice = found & names
        assert not twice or room in ("methods", "stiff"), (room, twice)
