"""Accesses to what is not JAX's public API, outside the one room that may have them."""

import ast
import json
import pathlib
from collections.abc import Iterator

from .._figures import at_most, Figure
from ._on import ROOT


ROOM = ROOT / "jaxspark" / "_jax_internals"
# Private modules, nowhere to be seen.
NOWHERE = ("jax._src", "equinox.internal", "equinox._", "diffrax._", "optimistix._", "lineax._")
# Of the room alone; and what the package has of what may change, there alone, too.
ROOM_ONLY = ("jax.extend", "jax.interpreters", "jaxlib")
UNSTABLE = ("jax.experimental",)
# Of `jax.core`, which is public, what programs are made of.
CORE = ("jax.core.Jaxpr", "jax.core.ClosedJaxpr", "jax.core.jaxpr_as_fun", "jax.core.eval_jaxpr")
BY_TEXT = ("import_module", "__import__")
PACKAGES = ("jax.", "equinox.", "diffrax.", "optimistix.", "lineax.")
# What only a program of JAX has.
PARTS = {"eqns", "invars", "outvars", "constvars", "primitive", "jaxpr", "_loop"}
PUBLISHED = ("jaxspark", "tests", "benchmarks", "notebooks")


def accesses(tiny: bool) -> Iterator[Figure]:
    """By reading all sources, those of notebooks, too."""
    del tiny
    outside = [name for path, name in found_outside() if not _nowhere(name)]
    private = [name for path, name in found_outside() if _nowhere(name)]
    what = "accesses to what is not public API of JAX, outside the one room"
    yield at_most(what, len(outside), 0, "d")
    yield at_most("accesses to equinox.internal, jax._src and their like", len(private), 0, "d")


def found_outside() -> Iterator[tuple[str, str]]:
    """The files and the names of accesses where they are not allowed, in all that is published."""
    for path in sources(*PUBLISHED):
        inside = ROOM in path.parents
        for name in names_in(path):
            of_program = name.rsplit(".", 1)[-1] in PARTS or _is_in(name, UNSTABLE)
            of_program &= path.is_relative_to(ROOT / "jaxspark")
            if _nowhere(name) or (not inside and (_is_in(name, ROOM_ONLY + CORE) or of_program)):
                yield path.name, name


def sources(*folders: str) -> Iterator[pathlib.Path]:
    """Python files and notebooks."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".ipynb") and ".ipynb_checkpoints" not in path.parts:
                yield path


def names_in(path: pathlib.Path) -> Iterator[str]:
    """The modules that a file imports, and the attributes that it takes, as dotted names."""
    yield from names_in_code(_code_of(path))


def names_in_code(code: str) -> Iterator[str]:
    """The same of a piece of Python; aliases of imports are resolved."""
    tree, known = ast.parse(code), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
                yield alias.name
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, *rest = _dotted(node).split(".")
            yield ".".join([known.get(first, first), *rest])
        # Modules and attributes by their names as text.
        if isinstance(node, ast.Call) and _dotted(node.func).endswith(BY_TEXT):
            texts = [x.value for x in node.args if isinstance(x, ast.Constant)]
            yield from (x for x in texts if isinstance(x, str) and x.startswith(PACKAGES))


def of_room(name: str) -> bool:
    """Whether a name is one that the room alone may use."""
    return _is_in(name, ROOM_ONLY + UNSTABLE)


def _code_of(path: pathlib.Path) -> str:
    """A module or a notebook as one piece of Python."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    lines = [line for cell in cells for line in "".join(cell["source"]).split("\n")]
    return "\n".join("pass" if line.startswith(("%", "!")) else line for line in lines)


def _dotted(node: ast.expr) -> str:
    """`a.b.c` of an attribute, as far as it is one of names."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _nowhere(name: str) -> bool:
    return name.startswith(NOWHERE) or "._src" in name


def _is_in(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == m or name.startswith(m + ".") for m in modules)
