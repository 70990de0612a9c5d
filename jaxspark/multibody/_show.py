"""A mechanism at one state, as a picture."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ._kinematics import homogeneous
from ._tree import Tree


# Of the size of a mechanism, how thin it is in a direction that is then left out.
FLAT = 1e-6


def show(lines: dict[str, np.ndarray], joints: dict[str, np.ndarray], view: Any) -> Any:
    """A figure of lines and of joints as dots, in the plane where all of them are in one.

    **Arguments:**

    - `lines`: by the names of bodies, shapes `(points, 3)`; `joints`: points, shapes `(3,)`.
    - `view`: elevation and azimuth (degrees) from which what is in space is seen.

    **Returns:** a `matplotlib.figure.Figure`.
    """
    import matplotlib.pyplot as plt

    points = np.concatenate([x.reshape(-1, 3) for x in (*lines.values(), *joints.values())])
    low, high = points.min(0), points.max(0)
    size = max(float(np.max(high - low)), 1e-12)
    thin = np.flatnonzero(high - low <= FLAT * size)
    seen = [k for k in range(3) if k != thin[-1]] if len(thin) else [0, 1, 2]
    options: Any = {} if len(thin) else {"projection": "3d"}
    figure = plt.figure(figsize=(6, 5), layout="constrained")
    axes: Any = figure.add_subplot(**options)
    for number, (name, x) in enumerate(lines.items()):
        axes.plot(*x[:, seen].T, color=f"C{number % 10}", linewidth=2.5, label=name)
    for name, x in joints.items():
        axes.plot(*x[seen, None], "o", color="black", markersize=4)
        axes.text(*x[seen], f" {name}", fontsize="small")
    labels = [f"{'xyz'[k]} (m)" for k in seen]
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    if len(thin):
        axes.set_aspect("equal", adjustable="datalim")
    else:
        axes.set_zlabel(labels[2])
        axes.set_box_aspect(np.maximum(high - low, 0.05 * size))
        axes.view_init(*view)
    if len(lines) <= 10:
        axes.legend(fontsize="small")
    return figure


def shape_of(mechanism: Any, args: Any) -> Callable[[Any, Array], dict[str, Array]]:
    """The bodies' lines as a function of the state; see `Mechanism.shape`."""
    lines = {}
    for body in mechanism.tree.bodies:
        for number, points in enumerate(body.lines or _between_joints(mechanism.tree, body.name)):
            name = body.name if number == 0 else f"{body.name} {number + 1}"
            lines[name] = (body.name, homogeneous(jnp.asarray(points)))

    def shape(t: Any, y: Array) -> dict[str, Array]:
        del t
        return {
            name: jnp.sum(mechanism.pose(body, y, args)[None, :3] * points[:, None, :], 2)
            for name, (body, points) in lines.items()
        }

    return jax.jit(shape)


def _between_joints(tree: Tree, body: str) -> list[np.ndarray]:
    points = [x.position for x in tree.joints if x.parent == body]
    points += [x.child_position for x in tree.joints if x.child == body]
    return [np.array(points)] if points else []
