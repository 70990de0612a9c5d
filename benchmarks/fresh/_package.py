"""What importing the package costs, and how large it is."""

import ast
import os
import pathlib
import subprocess
import sys
import traceback
from collections.abc import Iterator

from .._figures import at_most, Figure


TIMES = 5
LINES, SECONDS = 24_000, 0.3
HOPS, FILES = 7, 9
PROGRAM = "import time; import {before}; t = time.process_time(); import jaxspark; \
print(time.process_time() - t)"


def package(tiny: bool) -> Iterator[Figure]:
    """CPU seconds of the import beyond that of JAX and equinox; lines of code."""
    command = [sys.executable, "-c", PROGRAM.format(before="jax, equinox")]
    # Compiled to bytecode, as pip does when it installs a package: the first import is not counted.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    options = dict(capture_output=True, text=True, check=True, env=environment)
    subprocess.run(command, **options)
    seconds = []
    for _ in range(1 if tiny else TIMES):
        done = subprocess.run(command, **options)
        seconds.append(float(done.stdout))
    yield at_most("import jaxspark beyond import jax, equinox: CPU s", min(seconds), SECONDS, ".2f")
    import jaxspark

    root = pathlib.Path(jaxspark.__file__).parent
    files = list(root.rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    yield at_most("lines in the package", lines, LINES, "d")
    texts = [path.read_text(encoding="utf-8") for path in files]
    loops = sum(text.count('named_scope("jaxspark_newton")') for text in texts)
    yield at_most("loops of Newton iterations", loops, 1, "d")
    circles = import_circles(root)
    yield at_most("circles of imports", len(circles), 0, "d")
    hops, passed = way_to_the_force(root)
    yield at_most("calls from solve to the user's force", hops, HOPS, "d")
    yield at_most("files that these calls pass", passed, FILES, "d")


def way_to_the_force(root: pathlib.Path) -> tuple[int, int]:
    """How many calls lie between `solve` and a force of the user, and how many files with it."""
    import jax.numpy as jnp

    import jaxspark

    ways = []

    def force(t, q, v, args):
        ways.append([x.filename for x in traceback.extract_stack() if _is_in(x.filename, root)])
        return jnp.array([0.0, -9.81])

    system = jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.eye(2), force, holonomic=lambda t, q, args: (q @ q - 1)[None]
    )
    jaxspark.solve(system, jnp.array([1.0, 0.0]), jnp.zeros(2), t1=0.1)
    # The last call is traced for the solver; those before it are checks of shapes.
    return len(ways[-1]), len(set(ways[-1])) + 1


def _is_in(name: str, root: pathlib.Path) -> bool:
    return root in pathlib.Path(name).parents


def import_circles(root: pathlib.Path) -> list[set[str]]:
    """Sets of modules that import one another when they are loaded."""
    imports = {path: set(_imported(path, root)) for path in root.rglob("*.py")}
    reached: dict[pathlib.Path, set[pathlib.Path]] = {}
    for start in imports:
        found, ahead = set(), list(imports[start])
        while ahead:
            path = ahead.pop()
            if path not in found:
                found.add(path)
                ahead += imports.get(path, ())
        reached[start] = found
    circles = {
        frozenset(str(x.relative_to(root)) for x in reached[path] if path in reached[x])
        for path in imports
        if path in reached[path]
    }
    return [set(circle) for circle in circles]


def _imported(path: pathlib.Path, root: pathlib.Path) -> Iterator[pathlib.Path]:
    """The modules that one imports at its top, without the packages they are in."""
    package = path.parent
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package
        for _ in range(node.level - 1):
            base = base.parent
        base = base.joinpath(*(node.module or "").split(".")) if node.module else base
        names = [base / alias.name for alias in node.names] if not node.module else [base]
        for name in names:
            module = name.with_suffix(".py")
            module = module if module.exists() else name / "__init__.py"
            if module.exists() and module != path:
                yield module
