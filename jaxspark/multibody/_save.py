"""Parameters written back into the MJCF or URDF file that they are from."""

import os
import pathlib
from typing import Any

import numpy as np

from ._changes import Changes, spoken, Values
from ._markup import Document
from ._mjcf import Mjcf
from ._spec import compiled, simulator
from ._urdf import Urdf


def save(target: Any, source: Any, parameters: Any) -> None:
    """Write a copy of an MJCF or URDF file, with other parameters.

    Masses, centres of mass and inertias of bodies; damping, stiffness, rest, armature, places and
    axes of joints and loops; and gravity become those of `parameters`. Only numbers that have
    changed are written; all else in the file stays as it is, byte by byte. A body whose inertia
    follows from its geoms gets an `<inertial>`; an included file in which something changes is
    written in place of the `<include>`. The copy is read before it takes its place: it has these
    parameters to 1e-12, as [`jaxspark.multibody.load`][] gives them. It needs the extra `robots`.

    **Arguments:**

    - `target`: the path of the copy, which is overwritten. Names of files in it, as those of
        meshes, stay as they are, relative to its folder.
    - `source`: the path or the text of the file.
    - `parameters`: a dictionary such as `parameters` of a [`jaxspark.multibody.Mechanism`][] that
        was loaded from the file; parts may be left out, and bodies may be each a
        [`jaxspark.fit.RigidBody`][]. What the file has no place for, such as the joints that
        `load(loops=...)` adds, controls and entries of one's own, is left out.

    **Raises:** `ValueError` if something that has changed cannot be written exactly: the message
    names it, and there is no copy then; `ModuleNotFoundError` without MuJoCo.
    """
    values = Values(compiled(source, without_meshes=True))
    changes = values.changes(parameters)
    expected, left = values.of | changes, {}
    path = pathlib.Path(target)
    # MuJoCo goes by the end of the name.
    trial = path.with_name(f".{path.stem}.part{os.getpid()}{path.suffix}")
    try:
        for plain in (False, True):
            document = _document(source)
            if plain:
                changes = _said_by_each(document, changes, left, expected, values)
            _write(document, source, values, changes, expected)
            trial.write_bytes(document.rendered())
            left = Values(compiled(trial, without_meshes=True)).off(expected)
            if not left:
                os.replace(trial, path)
                return
        raise ValueError(
            f"The file cannot hold these exactly: {', '.join(map(spoken, left))}. Other words in "
            "it change them when it is read, such as fusestatic, or align of a free joint."
        )
    finally:
        trial.unlink(missing_ok=True)


def _said_by_each(
    document: Document, changes: Changes, left: Changes, expected: Changes, values: Values
) -> Changes:
    """Changes that are needed where numbers of one element follow from those of others.

    Stiffness that follows from a time constant is written, and without words for the whole file,
    as that for the total mass, all inertias are.
    """
    changes = changes | left
    compilers = [x for x in document.root.walk() if x.tag == "compiler"]
    if not any(at[0] == "bodies" for at in left):
        return changes
    for element in compilers:
        element.set(**dict.fromkeys(OF_ALL))
        if element.attributes.get("inertiafromgeom") == "true":
            element.set(inertiafromgeom="auto")
    every = {at: x for at, x in expected.items() if at[0] == "bodies"}
    return changes | {at: x for at, x in every.items() if at[1] not in values.between}


# Attributes of `<compiler>` that change inertias.
OF_ALL = ("balanceinertia", "boundinertia", "boundmass", "settotalmass")


def _document(source: Any) -> Document:
    """The file.

    **Raises:** `TypeError` for a model that is compiled, `FileNotFoundError` if it is not there.
    """
    if isinstance(source, simulator().MjModel):
        raise TypeError("save needs the path or the text of the file; a compiled model has none.")
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return Document(source.lstrip().encode(), pathlib.Path())
    path = pathlib.Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(source)!r}.")
    return Document(path.read_bytes(), path.parent)


def _write(
    document: Document, source: Any, values: Values, changes: Changes, expected: Changes
) -> None:
    """Write changes into the document.

    **Raises:** `ValueError` for those that the format has no place for.
    """
    spec = simulator().MjSpec
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    spec = spec.from_string(source) if is_text else spec.from_file(str(source))
    writer = (Urdf if document.root.tag == "robot" else Mjcf)(document, values, spec)
    of: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for (kind, name, key), value in changes.items():
        of.setdefault((kind, name), {})[key] = value
    refused = []
    for (kind, name), new in of.items():
        if kind == "gravity":
            refused += writer.gravity(new[""])
            continue
        full = {key: x for (k, n, key), x in expected.items() if (k, n) == (kind, name)}
        refused += (writer.body if kind == "bodies" else writer.joint)(name, new, full)
    if refused:
        raise ValueError(f"The file has no place for {'; '.join(refused)}.")
