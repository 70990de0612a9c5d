"""A model from a Python file."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..fit import Model
from ._errors import blaming, CommandError, no_such


DEFAULT = "model"


def model_path(text: str) -> tuple[Path, str]:
    """The file and the name of `MODEL.py` or `MODEL.py:name`."""
    head, colon, name = text.rpartition(":")
    if colon and name.isidentifier() and not Path(text).exists():
        return Path(head), name
    return Path(text), DEFAULT


@contextmanager
def loaded_model(text: str) -> Iterator[Model]:
    """The model that a Python file defines; errors within the context are told by its lines.

    The file is executed as a module of its own, with its folder on the path, as Python does
    for a script; not as `__main__`.

    **Arguments:**

    - `text`: `"MODEL.py"`, or `"MODEL.py:name"` for another name than `model`.

    **Raises:** `CommandError` if there is no such file or model, and for whatever is raised in
    the file, now or when the model's functions are called.
    """
    path, name = model_path(text)
    if not path.is_file():
        what = "this is a folder, not a Python file" if path.is_dir() else "there is no such file"
        raise CommandError(f"{path}: {what}.")
    # Its own name: a model in `signal.py` must not replace that module.
    own_name = f"_model_in_{path.stem}"
    spec = importlib.util.spec_from_file_location(own_name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path}: a model is a Python file, whose name ends with .py.")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    sys.modules[own_name] = module
    try:
        with blaming(path):
            spec.loader.exec_module(module)
            yield _model(path, name, vars(module))
    finally:
        sys.modules.pop(own_name, None)
        if folder in sys.path:
            sys.path.remove(folder)


def _model(path: Path, name: str, names: dict[str, object]) -> Model:
    models = [key for key, value in names.items() if isinstance(value, Model)]
    if name not in names:
        if not models:
            raise CommandError(
                f"{path}: no model is defined there. Define one: {name} = jaxspark.fit.Model(...)."
            )
        others = f" Choose one by {path}:{models[0]}." if name == DEFAULT else ""
        raise CommandError(f"{path}: {no_such('model', name, models)}{others}")
    found = names[name]
    if not isinstance(found, Model):
        raise CommandError(
            f"{path}: {name} must be a jaxspark.fit.Model; it is of type {type(found).__name__}."
        )
    return found
