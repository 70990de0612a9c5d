"""Files compiled by MuJoCo, without meshes that are not there."""

import importlib
import pathlib
from typing import Any


def simulator() -> Any:
    """The package `mujoco`.

    **Raises:** `ModuleNotFoundError` without it.
    """
    try:
        return importlib.import_module("mujoco")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "jaxspark.multibody.load needs MuJoCo: pip install 'jaxspark[robots]'."
        ) from error


def compiled(source: Any, without_meshes: bool = False) -> Any:
    """The `mujoco.MjModel` of a path, of a file's text, or as it is.

    Meshes that cannot be read are left out, if the bodies that have them have inertias, too; with
    `without_meshes` these may be missing, and then are zero.

    **Raises:** `ModuleNotFoundError` without MuJoCo; `ValueError` if the file cannot be compiled.
    """
    mujoco = simulator()
    if isinstance(source, mujoco.MjModel):
        return source
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    if not is_text and not pathlib.Path(source).is_file():
        raise FileNotFoundError(f"There is no file {str(source)!r}.")
    try:
        spec = _spec(mujoco, source, is_text)
        return spec.compile()
    except ValueError as error:
        first = error
    try:
        spec = _spec(mujoco, source, is_text)
        lost = _take_out_meshes(mujoco, spec)
        model = spec.compile()
    except ValueError as second:
        also = "" if str(second) == str(first) else f"; and without meshes: {second}"
        raise ValueError(f"MuJoCo cannot compile the file: {first}{also}") from second
    if lost and not without_meshes:
        raise ValueError(
            f"Meshes are not there, from which the inertias of the bodies {lost} would follow "
            f"({first}). Put the meshes in their place; or use ignore=['meshes'], and these bodies "
            "have no inertia but that of their other geoms."
        )
    return model


def _spec(mujoco: Any, source: Any, is_text: bool) -> Any:
    return mujoco.MjSpec.from_string(source) if is_text else mujoco.MjSpec.from_file(str(source))


def _take_out_meshes(mujoco: Any, spec: Any) -> list[str]:
    """Take out meshes and all that needs files; the bodies whose inertia follows from a mesh."""
    meshes = (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_SDF)
    lost = []
    for body in spec.bodies:
        has = [geom for geom in body.geoms if geom.type in meshes]
        heavy = any(geom.mass != 0 and geom.density != 0 for geom in has)
        if heavy and not body.explicitinertial and body.name != "world":
            lost.append(body.name)
        for geom in has:
            spec.delete(geom)
    for kind in (spec.meshes, spec.hfields, spec.skins):
        for one in list(kind):
            spec.delete(one)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)
    return lost
