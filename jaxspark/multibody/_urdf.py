"""Parameters written into URDF: inertias of links; places, axes and damping of joints."""

from typing import Any

import numpy as np

from ._changes import Values
from ._file_numbers import angles, matrix, of_angles, parts, second_moments
from ._markup import Document, Element, number, numbers


SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class Urdf:
    """Writes changes into a document.

    **Arguments:**

    - `document`: of the file; `values`: what it has; `spec`: the `mujoco.MjSpec`.

    Links that fixed joints join to others are one body with these: what is new of a body is that of
    its own link. Methods return what cannot be written, in words.
    """

    def __init__(self, document: Document, values: Values, spec: Any):
        del spec
        self.root, self.values = document.root, values
        of = lambda tag: {x.attributes["name"]: x for x in self.root.children if x.tag == tag}
        self.links, self.joints = of("link"), of("joint")
        self.above = {}
        for joint in self.joints.values():
            child = joint.child("child")
            if child is not None:
                self.above[child.attributes["link"]] = joint

    def _carrier(self, link: str) -> tuple[str | None, np.ndarray]:
        """The body of which a link is part, `None` the ground, and the link's frame in it."""
        T = np.eye(4)
        while ("bodies", link, "mass") not in self.values.of:
            joint = self.above.get(link)
            if joint is None:
                return None, T
            xyz, R = _origin(joint)
            T = np.block([[R, xyz[:, None]], [np.zeros(3), 1]]) @ T
            parent = joint.child("parent")
            assert parent is not None
            link = parent.attributes["link"]
        return link, T

    def body(self, name: str, new: dict[str, Any], full: dict[str, Any]) -> list[str]:
        """The inertia of a body."""
        if name not in self.links:
            return [f"body {name!r}, which is no link of the file"]
        link = self.links[name]
        if any(x != name and self._carrier(x)[0] == name for x in self.links):
            of_file = {key: self.values.of["bodies", name, key] for key in full}
            own = second_moments(*_inertia(link))
            full = parts(own + second_moments(**full) - second_moments(**of_file))
            if np.linalg.eigvalsh(second_moments(**full)).min() < 0:
                return [
                    f"body {name!r}: the link {name!r} alone, without those fixed to it, is none"
                ]
            new = full
        inertial = link.child("inertial")
        if inertial is None:
            link.add(_words(full))
            return []
        if "mass" in new:
            _part(inertial, "mass", value=number(new["mass"]))
        if "com" in new:
            _part(inertial, "origin", xyz=numbers(new["com"]))
        if "inertia" in new:
            R = _origin(inertial)[1]
            six = (R.T @ new["inertia"] @ R)[np.triu_indices(3)]
            words = {key: number(x) for key, x in zip(SIX, six, strict=True)}
            _part(inertial, "inertia", **words)
        return []

    def joint(
        self, name: str, new: dict[str, np.ndarray], full: dict[str, np.ndarray]
    ) -> list[str]:
        """Damping, axis and place of a joint."""
        joint = self.joints.get(name, self.above.get(name.removesuffix(" is fixed")))
        if joint is None:
            return [f"joint {name!r}, which is none of the file"]
        known = {"damping", "axes", "position", "quaternion"}
        refused = [f"{key} of joint {name!r}, for which URDF has no word"
                   for key in new if key not in known]  # fmt: skip
        if "damping" in new:
            if joint.attributes.get("type") in ("floating", "planar", "fixed"):
                refused.append(f"damping of joint {name!r}, which is {joint.attributes['type']}")
            else:
                _part(joint, "dynamics", damping=number(new["damping"][0]))
        if "axes" in new:
            _part(joint, "axis", xyz=numbers(new["axes"][2]))
        if "position" in new or "quaternion" in new:
            parent = joint.child("parent")
            assert parent is not None
            T = self._carrier(parent.attributes["link"])[1]
            place = {"xyz": numbers(T[:3, :3].T @ (full["position"] - T[:3, 3]))}
            if "quaternion" in new:
                place["rpy"] = numbers(angles(T[:3, :3].T @ matrix(full["quaternion"])))
            _part(joint, "origin", **place)
        return refused

    def gravity(self, value: np.ndarray) -> list[str]:
        """URDF has none."""
        del value
        return ["gravity, for which URDF has no word"]


def _part(element: Element, tag: str, **attributes: str) -> None:
    """Set attributes of a child, which is added if it is not there."""
    child = element.child(tag)
    if child is not None:
        child.set(**attributes)
        return
    words = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    element.add(f"<{tag} {words}/>")


def _three(element: Element | None, name: str) -> np.ndarray:
    text = None if element is None else element.get(name)
    return np.zeros(3) if text is None else np.array([float(x) for x in text.split()])


def _origin(element: Element) -> tuple[np.ndarray, np.ndarray]:
    origin = element.child("origin")
    return _three(origin, "xyz"), of_angles(_three(origin, "rpy"))


def _inertia(link: Element) -> tuple[Any, np.ndarray, np.ndarray]:
    """Mass, centre and inertia that the file gives a link."""
    inertial = link.child("inertial")
    if inertial is None:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    com, R = _origin(inertial)
    mass, moments = inertial.child("mass"), inertial.child("inertia")
    value = 0.0 if mass is None else float(mass.attributes.get("value", 0))
    upper = np.zeros((3, 3))
    if moments is not None:
        upper[np.triu_indices(3)] = [float(moments.attributes.get(key, 0)) for key in SIX]
    inertia = R @ (upper + np.triu(upper, 1).T) @ R.T
    return value, com, (inertia + inertia.T) / 2


def _words(full: dict[str, Any]) -> str:
    six = zip(SIX, full["inertia"][np.triu_indices(3)], strict=True)
    moments = " ".join(f'{key}="{number(x)}"' for key, x in six)
    return (
        f'<inertial><origin xyz="{numbers(full["com"])}"/><mass value="{number(full["mass"])}"/>'
        f"<inertia {moments}/></inertial>"
    )
