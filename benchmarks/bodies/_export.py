"""A mechanism as MJCF, to see what MuJoCo makes of it."""

import numpy as np

from jaxspark import multibody as mb


SMALL = 1e-6


def mjcf(mechanism: mb.Mechanism) -> str:
    """The text of a file: the tree's bodies, loops as points that are connected.

    Of a joint that closes a loop its point alone is kept: enough in the plane and for spherical
    joints. Joints have the frames of their bodies.
    """
    tree = mechanism.tree
    children: dict[str, list[tuple[mb.Body, mb.Joint]]] = {}
    for number, joint, backward in tree.order:
        if backward:
            raise ValueError("The tree goes from a joint's child to its parent.")
        one = tree.joints[joint]
        children.setdefault(one.parent, []).append((tree.bodies[number], one))

    def written(parent: str) -> str:
        return "".join(
            f'<body name="{body.name}" pos="{_row(joint.position - joint.child_position)}">'
            f"{_joints(joint)}{_inertial(body)}{written(body.name)}</body>"
            for body, joint in children.get(parent, [])
        )

    loops = [tree.joints[number] for number in tree.loops]
    sites: dict[str, str] = {}
    connects = ""
    for loop in loops:
        for side, body, at in (
            ("a", loop.parent, loop.position), ("b", loop.child, loop.child_position)
        ):  # fmt: skip
            site = f'<site name="{loop.name} {side}" pos="{_row(at)}"/>'
            sites[body] = sites.get(body, "") + site
        connects += f'<connect name="{loop.name}" site1="{loop.name} a" site2="{loop.name} b"/>'
    text = written("ground")
    for body, site in sites.items():
        if body != "ground":
            head, tail = text.split(f'<body name="{body}"', 1)
            opening, rest = tail.split("<inertial", 1)
            text = f'{head}<body name="{body}"{opening}{site}<inertial{rest}'
    gravity = _row(np.asarray(mechanism.parameters["gravity"]))
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{gravity}"/><worldbody>'
        f"{sites.get('ground', '')}{text}</worldbody><equality>{connects}</equality></mujoco>"
    )


def _row(x: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(x))


def _inertial(body: mb.Body) -> str:
    # MuJoCo wants moments that are positive.
    m = body.inertia + SMALL * np.trace(body.inertia) * np.eye(3)
    full = _row(np.array([m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]))
    return f'<inertial pos="{_row(body.com)}" mass="{body.mass!r}" fullinertia="{full}"/>'


def _joints(joint: mb.Joint) -> str:
    at = f'pos="{_row(joint.child_position)}"'
    if isinstance(joint, mb.Spherical):
        return f'<joint name="{joint.name}" type="ball" {at}/>'
    out = ""
    for number, (_, how) in enumerate(joint.elements):
        kind = "hinge" if how == "turn" else "slide"
        name = joint.name if len(joint.elements) == 1 else f"{joint.name} {number}"
        out += (
            f'<joint name="{name}" type="{kind}" {at} '
            f'axis="{_row(joint.axes[joint.element_axis(number)])}" '
            f'stiffness="{float(joint.stiffness[number])!r}" '
            f'springref="{float(joint.rest[number])!r}" '
            f'damping="{float(joint.damping[number])!r}"/>'
        )
    return out
