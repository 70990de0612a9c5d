"""An SDF file with loops, such as Cassie's, as MJCF: what is needed to see its loops move."""

import pathlib
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation


def as_mjcf(path: pathlib.Path) -> str:
    """The text of a file with the same bodies and joints.

    The first link stands on the ground. Joints that lead to a link for the second time, and ball
    joints, close loops at a point.
    """
    model = ElementTree.parse(path).getroot().find(".//model")
    assert model is not None
    links = {str(link.get("name")): link for link in model.findall("link")}
    places = {name: _pose(link.findtext("pose")) for name, link in links.items()}
    moved: dict[str, list[tuple[str, Any]]] = {}
    closing, seen = [], {next(iter(links))}
    joints = [x for x in model.findall("joint") if x.findtext("parent") != "world"]
    # An open rod hangs on its ball joint.
    for joint in sorted(joints, key=lambda x: x.get("type") == "ball"):
        first, second = str(joint.findtext("parent")), str(joint.findtext("child"))
        if joint.get("type") == "revolute" and second not in seen and not _rod(second):
            moved.setdefault(first, []).append((second, joint))
            seen.add(second)
        elif joint.get("type") == "ball" and first not in seen:
            moved.setdefault(second, []).append((first, joint))
            seen.add(first)
        else:
            closing.append(joint)
    sites: dict[str, str] = {name: "" for name in links}
    connects = ""
    for joint in closing:
        first, second = str(joint.findtext("parent")), str(joint.findtext("child"))
        name, at = joint.get("name"), places[second] @ _pose(joint.findtext("pose"))
        for side, link in (("a", first), ("b", second)):
            point = (np.linalg.inv(places[link]) @ at)[:3, 3]
            sites[link] += f'<site name="{name} {side}" pos="{_row(point)}"/>'
        connects += f'<connect name="{name}" site1="{name} a" site2="{name} b"/>'

    def written(name: str, parent: str | None, joint: Any) -> str:
        here = np.eye(4) if parent is None else places[parent]
        T = np.linalg.inv(here) @ places[name]
        inside = "".join(written(child, name, one) for child, one in moved.get(name, []))
        return (
            f'<body name="{name}" pos="{_row(T[:3, 3])}" quat="{_quaternion(T)}">'
            f"{_joint(joint, name, places)}{_inertial(links[name])}{sites[name]}{inside}</body>"
        )

    base = next(iter(links))
    return (
        '<mujoco><compiler angle="radian"/><worldbody>'
        f"{written(base, None, None)}</worldbody><equality>{connects}</equality></mujoco>"
    )


def _rod(name: str) -> bool:
    """Cassie's Achilles' rods hang on ball joints."""
    return "achilles-rod" in name


def _pose(text: str | None) -> np.ndarray:
    x = np.array([float(v) for v in (text or "0 0 0 0 0 0").split()])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_euler("xyz", x[3:]).as_matrix(), x[:3]
    return T


def _row(x: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in x)


def _quaternion(T: np.ndarray) -> str:
    x, y, z, w = Rotation.from_matrix(T[:3, :3]).as_quat()
    return _row(np.array([w, x, y, z]))


def _joint(joint: Any, name: str, places: dict[str, np.ndarray]) -> str:
    if joint is None:
        return ""
    at = places[str(joint.findtext("child"))] @ _pose(joint.findtext("pose"))
    local = np.linalg.inv(places[name]) @ at
    own = f'name="{joint.get("name")}" pos="{_row(local[:3, 3])}"'
    damping = joint.findtext("axis/dynamics/damping") or "0"
    if joint.get("type") == "ball":
        return f'<joint {own} type="ball" damping="{damping}"/>'
    axis = local[:3, :3] @ np.array([float(v) for v in joint.findtext("axis/xyz").split()])
    stiffness = joint.findtext("axis/dynamics/spring_stiffness") or "0"
    return f'<joint {own} axis="{_row(axis)}" damping="{damping}" stiffness="{stiffness}"/>'


def _inertial(link: Any) -> str:
    of, T = link.find("inertial"), _pose(link.findtext("inertial/pose"))
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    a = {name: float(of.findtext(f"inertia/{name}")) for name in names}
    m = np.array(
        [
            [a["ixx"], a["ixy"], a["ixz"]],
            [a["ixy"], a["iyy"], a["iyz"]],
            [a["ixz"], a["iyz"], a["izz"]],
        ]
    )
    m = T[:3, :3] @ m @ T[:3, :3].T
    full = _row(m[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
    return f'<inertial pos="{_row(T[:3, 3])}" mass="{of.findtext("mass")}" fullinertia="{full}"/>'
