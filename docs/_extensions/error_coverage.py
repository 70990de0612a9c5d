"""Which messages of the package the pages on errors do not have."""

import ast
import pathlib
from collections.abc import Iterator


# Files in which functions put messages together that others raise: all of their sentences count.
WORDS = (
    "_results.py", "_bdf/_errors.py", "_blocks/_tree.py", "_command/_errors.py",
    "_consistent/_faults.py", "_consistent/_mass.py", "_consistent/_singular.py",
    "_consistent/_words.py", "_jax_internals/_attach.py", "_jax_internals/_gathered.py",
    "_jax_internals/_linear_map.py", "_jax_internals/_mix.py", "_jax_internals/_once.py",
    "_jax_internals/_opened.py", "_jax_internals/_primitive.py", "_jax_internals/_ruled.py",
    "_jax_internals/_sparsity/_pattern.py", "_jax_internals/_sparsity/_reader.py",
    "_jax_internals/_understood.py", "_rollout/_errors.py", "_step/_structure.py",
    "fit/_check.py", "fit/_failure.py", "fit/_fit.py", "fit/_forms.py", "fit/_simulation.py",
)  # fmt: skip
# Of fewer words, a string of these files, or one that a message takes from a variable, is a name.
FEWEST = 3
VALUE = "\0"  # in place of what is inserted


def missing(package: pathlib.Path, pages: pathlib.Path) -> list[str]:
    """Of each message that no page has, where it is and its longest constant piece.

    **Arguments:**

    - `package`: the folder of the sources.
    - `pages`: a folder of pages in Markdown.

    **Returns:** lines `file:line: piece`, in the order of the sources. Whitespace counts as one
    space.
    """
    there = [_plain(page.read_text(encoding="utf-8")) for page in sorted(pages.rglob("*.md"))]
    lines = []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = set(_raised(tree))
        if place.as_posix() in WORDS:
            found |= set(_sentences(tree))
        for line, piece in sorted(found):
            if not any(piece in page for page in there):
                lines.append(f"{(package.name / place).as_posix()}:{line}: {piece}")
    return lines


def _plain(text: str) -> str:
    return " ".join(text.split())


def _raised(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Of what is raised, warned of, noted or made an error, and of the variables therein."""
    for scope in tree.body:
        for node in ast.walk(scope):
            call = node.exc if isinstance(node, ast.Raise) else node
            if not isinstance(call, ast.Call) or not call.args:
                continue
            name = ast.unparse(call.func)
            if call is node and not name.endswith(("Error", "Warning", "warn", "add_note")):
                continue
            yield from _pieces(call.args[0], 1)
            names = {x.id for x in ast.walk(call.args[0]) if isinstance(x, ast.Name)}
            for given in _assigned(scope, names):
                yield from _pieces(given, FEWEST)


def _assigned(scope: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    """What variables of some names are given in a function or class."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        if node.value is not None and any(getattr(x, "id", None) in names for x in targets):
            yield node.value


def _sentences(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Of all strings that are no docstrings."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.expr) and _texts(node):
        yield from _pieces(node, FEWEST)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _sentences(child)


def _pieces(node: ast.expr, fewest: int) -> Iterator[tuple[int, str]]:
    """The longest constant piece of each message that an expression can be."""
    for text in _texts(node):
        piece = max(map(_plain, text.split(VALUE)), key=len)
        if len(piece.split()) >= fewest and any(letter.isalpha() for letter in piece):
            yield node.lineno, piece


def _texts(node: ast.expr) -> list[str]:
    """The strings that an expression can be, with `VALUE` where something is inserted."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join((_texts(part) or [VALUE])[0] for part in node.values)]
    if isinstance(node, ast.IfExp):
        return _texts(node.body) + _texts(node.orelse)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _texts(node.left), _texts(node.right)
        if left or right:
            return [a + b for a in left or [VALUE] for b in right or [VALUE]]
    return []
