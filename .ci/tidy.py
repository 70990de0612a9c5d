"""Strip trailing whitespace, end files with one newline, empty notebooks of outputs.

A pre-commit hook: it changes the files it is given, and fails if there was anything to
change.
"""

import json
import sys
from pathlib import Path


NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def tidied_notebook(text: str) -> str:
    """The notebook as its author wrote it: no outputs, counts or traces of a run."""
    notebook = json.loads(text)
    notebook["metadata"] = NOTEBOOK_METADATA
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)


def tidied(path: Path, text: str) -> str:
    """What the file should hold."""
    if path.suffix == ".ipynb":
        text = tidied_notebook(text)
    text = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")
    return text + "\n" if text else ""


def main() -> int:
    changed = False
    for path in map(Path, sys.argv[1:]):
        before = path.read_text(encoding="utf-8")
        after = tidied(path, before)
        if after != before:
            print(f"tidied {path}")
            path.write_text(after, encoding="utf-8")
            changed = True
    return int(changed)


if __name__ == "__main__":
    sys.exit(main())
