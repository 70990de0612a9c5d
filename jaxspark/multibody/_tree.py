"""The spanning tree of a mechanism: which joint moves which link, and which joints close loops.

Bodies that are welded together are one link. A joint with several elements has links without mass
between them. Loops are cut where a joint has most freedoms, and as far from the ground as may be.
"""

import heapq
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from ._bodies import Body
from ._joints import AXIS, BALL, FREE, GROUND, Joint


class Link(NamedTuple):
    """What an elementary joint moves.

    - `parent`: the number of the link that carries it, -1 for the ground.
    - `kind`: `AXIS`, `BALL` or `FREE`; `how`: it turns or shifts.
    - `joint`, `element`: which element of which joint it is.
    - `backward`: whether the tree goes from the joint's child to its parent.
    - `first`, `last`: whether the joint's frames on its two bodies are next to it.
    - `carrier`: the body that has the joint's first frame, -1 for the ground.
    """

    parent: int
    kind: str
    how: str
    joint: int
    element: int
    backward: bool
    first: bool
    last: bool
    carrier: int


class Tree:
    """Numbers of links, coordinates and velocities, all static.

    **Arguments:**

    - `bodies`, `joints`: of a mechanism; `wanted`: joints that loops are not to cut, `cut`: those
        that they are.

    **Attributes:**

    - `links`; `order`: of welded and moved bodies, as `(body, joint, backward)` from the ground on.
    - `link_of`: of each body, -1 on the ground; `loops`: the numbers of joints that are cut.
    - `y_at`, `z_at`: where coordinates and velocities of each link begin.
    - `moved`: of each velocity, its link; `carried`: the link in whose axes it is, `n` the ground.
    - `moves`: `(n + 1, nz)`, 1 where a velocity moves a link; `holds`: `(n, bodies)`, 1 where a
        link has a body.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        joints: Sequence[Joint],
        wanted: Collection[str] = (),
        cut: Collection[str] = (),
    ):
        self.bodies, self.joints = tuple(bodies), tuple(joints)
        numbers = {body.name: number for number, body in enumerate(bodies)}
        numbers[GROUND] = -1
        self.order, self.loops = _spanning(numbers, joints, wanted, cut)
        self.links: list[Link] = []
        self.link_of = {-1: -1}
        for body, joint, backward in self.order:
            self._join(numbers, body, joint, backward)
        self.n = len(self.links)
        self.ny = self.nz = 0
        self.y_at, self.z_at, moved, carried = [], [], [], []
        for number, link in enumerate(self.links):
            self.y_at.append(self.ny)
            self.z_at.append(self.nz)
            ny, nz = {AXIS: (1, 1), BALL: (4, 3), FREE: (7, 6)}[link.kind]
            self.ny, self.nz = self.ny + ny, self.nz + nz
            moved += [number] * nz
            parent = self.n if link.parent < 0 else link.parent
            carried += [parent] * 3 + [number] * 3 if link.kind == FREE else [number] * nz
        self.moved, self.carried = np.array(moved, int), np.array(carried, int)
        self.parent = np.array([link.parent for link in self.links], int)
        above = np.zeros((self.n + 1, self.n), bool)
        for number, parent in enumerate(self.parent):
            above[number] = above[parent] if parent >= 0 else False
            above[number, number] = True
        self.above = above
        self.moves = above[:, self.moved].astype(float)
        self.holds = np.zeros((self.n, len(self.bodies)))
        for body, link in self.link_of.items():
            if body >= 0 and link >= 0:
                self.holds[link, body] = 1.0
        self.axis = np.array([i for i, x in enumerate(self.links) if x.kind == AXIS], int)
        self.turned = np.array([i for i, x in enumerate(self.links) if x.kind != AXIS], int)
        self.axis_y = np.array([self.y_at[i] for i in self.axis], int)
        self.axis_z = np.array([self.z_at[i] for i in self.axis], int)
        ahead = np.array([3 * (self.links[i].kind == FREE) for i in self.turned], int)
        self.turned_y = np.array([self.y_at[i] for i in self.turned], int) + ahead
        self.turned_z = np.array([self.z_at[i] for i in self.turned], int) + ahead
        self.free = np.array([self.links[i].kind == FREE for i in self.turned], bool)

    def _join(self, numbers: dict[str, int], body: int, number: int, backward: bool) -> None:
        joint = self.joints[number]
        carrier = numbers[joint.child if backward else joint.parent]
        at = self.link_of[carrier]
        elements = list(enumerate(joint.elements))
        if backward:
            elements.reverse()
        for place, (element, (kind, how)) in enumerate(elements):
            if backward and kind != AXIS:
                raise ValueError(
                    f"{joint!r} leads from its child to its parent on the way from the ground: "
                    "exchange the two bodies, or set cut=True of it or of another joint."
                )
            first, last = place == 0, place == len(elements) - 1
            self.links.append(Link(at, kind, how, number, element, backward, first, last, carrier))
            at = len(self.links) - 1
        self.link_of[body] = at


def _spanning(
    numbers: dict[str, int],
    joints: Sequence[Joint],
    wanted: Collection[str],
    cut: Collection[str],
) -> tuple[list[tuple[int, int, bool]], list[int]]:
    """The order in which bodies are reached from the ground, and the joints that are left.

    Prim's algorithm: the joint of fewest freedoms first, of these those whose coordinates forces
    need, and of these the nearest to the ground.

    **Raises:** `ValueError` if a joint names a body that is not there, or a body is not reached.
    """
    of_body: dict[int, list[int]] = {}
    for number, joint in enumerate(joints):
        for name in (joint.parent, joint.child):
            if name not in numbers:
                raise ValueError(
                    f"{joint!r} joins {name!r}, which is none of the bodies; there are "
                    f"{sorted(numbers)}."
                )
            of_body.setdefault(numbers[name], []).append(number)
    reached, used, order = {-1: 0}, set(), []
    heap: list[tuple[int, bool, int, int, int, int]] = []

    def offer(body: int) -> None:
        for number in of_body.get(body, []):
            joint = joints[number]
            other = numbers[joint.child]
            other = numbers[joint.parent] if other == body else other
            if other not in reached and not (joint.cut or joint.name in cut):
                first = joint.has_forces or joint.name in wanted
                heapq.heappush(
                    heap, (joint.freedoms, not first, reached[body], number, body, other)
                )

    offer(-1)
    while heap:
        _, _, depth, number, body, other = heapq.heappop(heap)
        if other in reached:
            continue
        reached[other] = depth + 1
        used.add(number)
        order.append((other, number, numbers[joints[number].parent] == other))
        offer(other)
    lost = [name for name, number in numbers.items() if number not in reached]
    if lost:
        raise ValueError(
            f"No joints lead from the ground to {lost}; a body that moves freely, or whose joints "
            "are cut or have friction, needs Free(name, 'ground', body)."
        )
    for number, joint in enumerate(joints):
        if joint.name in cut and (joint.has_forces or joint.cut is False):
            raise ValueError(
                f"{joint!r} has a JointFriction, so that it is a constraint without coordinates: "
                "give damping, stiffness, armature and cut=False to another joint, such as the "
                "Planar or Free beside it, or use a Spring."
            )
        if number not in used and joint.has_forces:
            raise ValueError(
                f"{joint!r} closes a loop, so that its damping, stiffness and armature would do "
                "nothing: set cut=True of another joint of this loop, or use a Spring."
            )
        if number not in used and joint.cut is False:
            raise ValueError(
                f"{joint!r} closes a loop, and cut=False of it: set cut=True of another joint of "
                "this loop."
            )
    return order, [number for number in range(len(joints)) if number not in used]
