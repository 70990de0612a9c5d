"""Places of loops written into MJCF: as sites, between which an equality holds."""

from typing import Any

import numpy as np

from ._changes import Values
from ._joints import GROUND
from ._markup import Element, numbers


TURNED = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
PLACE = {"position", "quaternion", "child_position", "child_quaternion"}


def write_loop(
    root: Element,
    bodies: dict[str, Element],
    values: Values,
    name: str,
    new: dict[str, np.ndarray],
    full: dict[str, np.ndarray],
) -> list[str]:
    """Write the places of an equality, and return what cannot be written, in words.

    An anchor on one body, from which that on the other follows, is replaced by two sites.

    **Arguments:**

    - `root`, `bodies`: elements of the file; `values`: what it has.
    - `name`: of the loop's joint; `new`: what changes of it; `full`: all of it.
    """
    found = [x for top in root.children if top.tag == "equality" for x in top.children]
    number, joint = values.equality_numbers[name], values.closing[name]
    refused = [f"{key} of {name!r}, which is an equality" for key in new if key not in PLACE]
    if refused or len(found) != values.model.neq:
        return refused or [f"{key} of {name!r}, which the file makes elsewhere" for key in new]
    element = found[number]
    attributes: dict[str, str | None] = {}
    for end, body, side in ((1, joint.parent, ""), (2, joint.child, "child_")):
        place = {"pos": numbers(full[f"{side}position"]),
                 "quat": numbers(full[f"{side}quaternion"])}  # fmt: skip
        site = element.get(f"site{end}")
        if site is not None:
            of_file = [x for x in root.walk() if x.tag == "site" and x.get("name") == site]
            if len(of_file) != 1 or of_file[0].parent is None or of_file[0].parent.tag == "frame":
                return [f"{key} of {name!r}, whose site {site!r} is in a <frame>" for key in new]
            of_file[0].set(**dict.fromkeys((*TURNED, "fromto")) | place)
            continue
        carrier = _carrier(root, bodies, body)
        if carrier is None:
            return [
                f"{key} of {name!r}, whose body {body!r} the file makes elsewhere" for key in new
            ]
        label = f"{name} {end}"
        carrier.add(f'<site name="{label}" pos="{place["pos"]}" quat="{place["quat"]}"/>')
        attributes[f"site{end}"] = label
    if attributes:
        element.set(**dict.fromkeys(("body1", "body2", "anchor", "relpose")) | attributes)
    return []


def _carrier(root: Element, bodies: dict[str, Element], body: str) -> Any:
    return root.child("worldbody") if body == GROUND else bodies.get(body)
