"""Parameters written into MJCF: attributes of `<inertial>`, `<joint>`, `<body>` and `<option>`."""

from typing import Any

import numpy as np

from ._changes import Values
from ._file_numbers import matrix
from ._markup import Document, Element, number, numbers
from ._mjcf_loops import TURNED, write_loop


# What has copies of bodies, or bodies of other files.
MADE = ("replicate", "attach", "composite", "flexcomp")


class Mjcf:
    """Writes changes into a document.

    **Arguments:**

    - `document`: of the file; `values`: what it has; `spec`: the `mujoco.MjSpec`.

    Methods return what cannot be written, in words.
    """

    def __init__(self, document: Document, values: Values, spec: Any):
        self.root, self.values, self.spec = document.root, values, spec
        self.bodies: dict[str, Element] = {}
        self.joints: dict[str, tuple[Element, int]] = {}
        every = list(self.root.walk())
        # Stiffness and damping would follow from these, whatever else is written.
        self.by_time_constant = any("springdamper" in x.attributes for x in every)
        found = [x for top in self.root.children if top.tag == "worldbody" for x in _bodies(top)]
        model, named = values.model, values.named
        plain = not any(x.tag in MADE for x in every) and len(found) == model.nbody - 1
        for number_, element in enumerate(found, 1):
            name = element.attributes.get("name", "")
            if plain and model.body(number_).name == name:
                self.bodies[named.bodies[number_]] = element
                self._find_joints(number_, element)

    def _find_joints(self, body: int, element: Element) -> None:
        model, named = self.values.model, self.values.named
        joints, first = list(_joints(element)), int(model.body_jntadr[body])
        if len(joints) == int(model.body_jntnum[body]):
            for place, joint in enumerate(joints):
                self.joints[named.joints[first + place]] = joint, place

    def body(self, name: str, new: dict[str, np.ndarray], full: dict[str, np.ndarray]) -> list[str]:
        """The inertia of a body."""
        if name in self.values.between:
            return [f"body {name!r}, which is none of the file but between two of its joints"]
        if name not in self.bodies:
            return [
                f"body {name!r}, which the file makes by {', '.join(MADE)} or merges (fusestatic)"
            ]
        element = self.bodies[name]
        inertial = element.child("inertial")
        if inertial is None:
            own = {"mass": number(full["mass"]), "pos": numbers(full["com"])}
            own |= {k: v for k, v in _moments(full["inertia"]).items() if v is not None}
            words = " ".join(f'{key}="{value}"' for key, value in own.items())
            element.add(f"<inertial {words}/>")
            return []
        if "mass" in new:
            inertial.set(mass=number(new["mass"]))
        if "com" in new:
            inertial.set(pos=numbers(new["com"]))
        if "inertia" in new:
            inertial.set(**_moments(new["inertia"]), **dict.fromkeys(TURNED))
        return []

    def joint(
        self, name: str, new: dict[str, np.ndarray], full: dict[str, np.ndarray]
    ) -> list[str]:
        """Forces, axis and place of a joint; the place of a body that has none."""
        if name in self.values.closing:
            return write_loop(self.root, self.bodies, self.values, name, new, full)
        body = name.removesuffix(" is fixed")
        if name not in self.joints and (name == body or body not in self.bodies):
            return [f"joint {name!r}, which the file makes by {', '.join(MADE)} or merges"]
        element, place = self.joints.get(name, (self.bodies.get(body), 0))
        assert element is not None
        refused = [] if name not in self.joints else self._numbers(name, element, new)
        return refused + self._place(name, element, place, new, full)

    def _numbers(self, name: str, element: Element, new: dict[str, np.ndarray]) -> list[str]:
        refused, kind = [], element.attributes.get("type", "hinge")
        kind = "free" if element.tag == "freejoint" else self._kind(name, kind)
        degrees = self.spec.compiler.degree and kind == "hinge"
        unit = np.pi / 180 if degrees else 1.0
        for key, attribute in ATTRIBUTES.items():
            if key not in new:
                continue
            value = np.atleast_1d(new[key])
            if element.tag == "freejoint" or kind in ("ball", "free") and key in ("rest", "zero"):
                refused.append(f"{key} of joint {name!r}, which is of type {kind!r}")
            elif np.any(value != value[0]):
                refused.append(f"{key} of joint {name!r}: one number for all its axes")
            elif key == "zero" and self._coupled(name):
                refused.append(f"zero of joint {name!r}, on which an equality depends")
            elif key in ("rest", "zero"):
                element.set(**{attribute: number(value[0] / unit)})
            else:
                # Coefficients of polynomials, which were ignored, stay.
                others = (element.attributes.get(attribute) or "").split()[1:]
                element.set(**{attribute: " ".join([number(value[0]), *others])})
                if key in ("damping", "stiffness") and self.by_time_constant:
                    element.set(springdamper="0 0")
        return refused

    def _kind(self, name: str, kind: str) -> str:
        model = self.values.model
        at = self.values.named.joints.index(name)
        return ("free", "ball", "slide", "hinge")[int(model.jnt_type[at])] or kind

    def _coupled(self, name: str) -> bool:
        return any(name in (x.attributes.get("joint1"), x.attributes.get("joint2"))
                   for x in self.root.walk() if x.tag == "joint")  # fmt: skip

    def _place(
        self, name: str, element: Element, place: int, new: dict[str, Any], full: dict[str, Any]
    ) -> list[str]:
        """Where the body and the joint are, and the joint's axis."""
        own = name in self.joints
        if "axes" in new:
            if not own or self._kind(name, "") not in ("hinge", "slide"):
                return [f"axes of joint {name!r}, which has none in the file"]
            if _framed(element):
                return [f"axes of joint {name!r}, which is in a <frame>"]
            element.set(axis=numbers(new["axes"][2]))
        moved = {"position", "quaternion", "child_position", "child_quaternion", "pitch"} & set(new)
        if not moved:
            return []
        body = element.parent if own else element
        free = own and self._kind(name, "") == "free"
        assert body is not None
        if "child_quaternion" in moved or "pitch" in moved or free:
            return [f"{key} of joint {name!r}" for key in sorted(moved)]
        if _framed(element) or _framed(body):
            return [f"{key} of joint {name!r}, which is in a <frame>" for key in sorted(moved)]
        at, R = full["child_position"], matrix(full["quaternion"])
        if not own and np.any(at):
            return [f"child_position of joint {name!r}, which is none of the file"]
        if place > 0:
            # The frames of further joints are that of the body.
            if np.any(full["position"] != at) or np.any(R != np.eye(3)):
                return [f"position of joint {name!r}: as child_position, without a turn"]
            element.set(pos=numbers(at))
            return []
        if own and "child_position" in moved:
            element.set(pos=numbers(at))
        if moved & {"position", "child_position", "quaternion"}:
            body.set(pos=numbers(full["position"] - R @ at))
        if "quaternion" in moved:
            body.set(**dict.fromkeys(TURNED) | {"quat": numbers(full["quaternion"])})
        return []

    def gravity(self, value: np.ndarray) -> list[str]:
        """Of the whole file."""
        options = [x for x in self.root.children if x.tag == "option"]
        for option in options:
            option.set(gravity=numbers(value))
        if not options:
            self.root.add(f'<option gravity="{numbers(value)}"/>')
        return []


ATTRIBUTES = {
    "damping": "damping", "stiffness": "stiffness", "armature": "armature", "rest": "springref",
    "zero": "ref",
}  # fmt: skip


def _bodies(element: Element) -> Any:
    """Bodies in an element, in the order in which they are numbered."""
    for child in element.children:
        if child.tag == "body":
            yield child
        if child.tag in ("body", "frame"):
            yield from _bodies(child)


def _joints(element: Element) -> Any:
    """Joints of a body."""
    for child in element.children:
        if child.tag in ("joint", "freejoint"):
            yield child
        if child.tag == "frame":
            yield from _joints(child)


def _framed(element: Element) -> bool:
    return element.parent is not None and element.parent.tag == "frame"


def _moments(inertia: np.ndarray) -> dict[str, str | None]:
    """An inertia in axes of the body: its diagonal, if that is all."""
    if np.any(inertia - np.diag(np.diag(inertia))):
        six = inertia[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        return {"fullinertia": numbers(six), "diaginertia": None}
    return {"diaginertia": numbers(np.diag(inertia)), "fullinertia": None}
