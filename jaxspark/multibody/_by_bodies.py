"""The same mechanism in coordinates of bodies, for systems of very many."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._angles import quaternion_of
from ._bodies_groups import centres, of_joint
from ._bodies_parts import pose, relative
from ._bodies_system import bodies_system
from ._closure import Loops
from ._joints import GROUND
from ._kinematics import carried, places, rates
from ._reactions import vee
from ._relative import joint_motion
from ._rotations import products, transform
from ._show import shape_of
from ._tables import Tables


class ByBodies:
    """A mechanism in coordinates of its bodies: every joint is a constraint.

    The coordinates of a body are the position of its centre of mass (m) and a unit quaternion, its
    velocities those of the centre (m/s) and the angular velocity about its own axes (rad/s): `y`
    has the shape `(bodies, 7)` and `z` `(bodies, 6)`, in the order of `bodies`. Linear systems are
    solved joint by joint, so that the cost of a step grows like the number of bodies; in joint
    coordinates like its cube, but from a much smaller start.

    Angles of joints are between -pi and pi, those that motors get, too.

    Made by [`jaxspark.multibody.Mechanism.by_bodies`][].

    **Attributes:**

    - `system`: for [`jaxspark.solve`][] and all else that takes a system.
    - `parameters`: those of the mechanism.
    - `redundant`: whether equations of loops depend on each other: then solve with
        `linear_solver=jaxspark.linear.AcyclicNullSpace(redundant=True)`.
    """

    def __init__(self, mechanism: Any):
        self.mechanism, self.tree = mechanism, mechanism.tree
        self.parameters = mechanism.parameters
        for element in mechanism.system.dry.elements:
            raise ValueError(
                f"{element!r} needs the reaction of its joint, which is not known in systems "
                "of blocks: use the mechanism's own system."
            )
        closing, self.redundant = _closing(mechanism.loops)
        self.system = bodies_system(
            self.tree, closing, mechanism.constraints, mechanism.system.forces.elements
        )
        if mechanism.loops.couplings:
            raise ValueError(
                f"{mechanism.loops.couplings[0]!r} is for coordinates of joints, which bodies do "
                "not have: use the mechanism's own system."
            )

    def state(self, *given: Any, **options: Any) -> tuple[Array, Array]:
        """A consistent state, by the names of joints.

        **Arguments:** those of [`jaxspark.multibody.Mechanism.state`][].

        **Returns:** `y0`, shape `(bodies, 7)`, and `z0`, shape `(bodies, 6)`.
        """
        y, z = self.mechanism.state(*given, **options)
        return self.of_joints(y, z, options.get("args"))

    def of_joints(self, y: Array, z: Array, args: Any = None) -> tuple[Array, Array]:
        """Coordinates and velocities of bodies, from those of joints."""
        tree, tables = self.tree, self.mechanism._tables(args)
        at = places(tree, tables, y)
        V = rates(tree, at.S, z).V
        link = np.array([tree.link_of[k] for k in range(len(tree.bodies))])
        T, V = products(at.T[link], tables.frames[:-1]), V[link]
        com = self.system.prepared(tables.args).bodies["com"]
        R = T[:, :3, :3]
        centre = T[:, :3, 3] + jnp.sum(R * com[:, None, :], 2)
        moved = V[:, :, 3] + jnp.sum(V[:, :, :3] * centre[:, None, :], 2)
        spin = jnp.sum(R * vee(V[:, :, :3])[:, :, None], 1)
        return jnp.concatenate([centre, quaternion_of(R)], 1), jnp.concatenate([moved, spin], 1)

    def to_joints(self, y: Array, z: Array, args: Any = None) -> tuple[Array, Array]:
        """Coordinates and velocities of joints on the tree, from those of bodies.

        Angles are between -pi and pi.
        """
        tree, args = self.tree, self.parameters if args is None else args
        args = args.args if isinstance(args, Tables) else args
        com = centres(args)
        numbers = {body.name: k for k, body in enumerate(tree.bodies)} | {GROUND: -1}
        still = jnp.zeros((1, 7), y.dtype).at[0, 3].set(1)
        y, z = jnp.concatenate([y, still]), jnp.concatenate([z, jnp.zeros((1, 6), z.dtype)])
        out_y, out_z = jnp.zeros(tree.ny, y.dtype), jnp.zeros(tree.nz, z.dtype)
        for joint in tree.joints:
            if joint.name not in self.mechanism._at:
                continue
            a, b = numbers[joint.parent], numbers[joint.child]
            own = of_joint(joint, args, com)
            moved = joint_motion(joint, own, relative(y[a], z[a], y[b], z[b], own)[0])
            of_y, of_z = self.mechanism._at[joint.name]
            out_y = out_y.at[of_y].set(moved.coordinates)
            out_z = out_z.at[of_z].set(moved.velocities)
        return out_y, out_z

    def pose(self, body: str, y: Float[Array, "bodies 7"], args: Any = None) -> Array:
        """The transform of a body's frame at one state, shape `(4, 4)`.

        **Raises:** `ValueError` if there is no such body.
        """
        number = self.mechanism._body(body)
        if number < 0:
            return jnp.eye(4, dtype=y.dtype)
        T = pose(y[number])
        args = self.parameters if args is None else args
        com = self.system.prepared(args).bodies["com"][number]
        origin = T[:3, 3] - jnp.sum(T[:3, :3] * com[None, :], 1)
        return transform(T[:3, :3], origin)

    def position(
        self,
        body: str,
        y: Float[Array, "bodies 7"],
        at: Any = (0.0, 0.0, 0.0),
        args: Any = None,
    ) -> Float[Array, " 3"]:
        """A point of a body in the ground's frame (m), at one state.

        **Raises:** `ValueError` if there is no such body.
        """
        return carried(self.pose(body, y, args), at)

    def energy(
        self, y: Float[Array, "bodies 7"], z: Float[Array, "bodies 6"], args: Any = None
    ) -> tuple[Array, Array]:
        """Kinetic and potential energy (J), at one state that satisfies the constraints.

        What they consist of [`jaxspark.multibody.Mechanism.energy`][] says.
        """
        return self.mechanism.energy(*self.to_joints(y, z, args), args)

    def shape(self, args: Any = None) -> Callable[[Any, Array], dict[str, Array]]:
        """The function `shape(t, y)` for [`jaxspark.pictures.animate`][]: the bodies' lines."""
        return shape_of(self, args)

    def __repr__(self) -> str:
        tree = self.tree
        return f"ByBodies: {len(tree.bodies)} bodies, {len(tree.joints)} joints"


def _closing(loops: Loops) -> tuple[dict[str, np.ndarray], bool]:
    """Of each joint that closes a loop the combinations of its rows, and whether some are mixed."""
    if loops.kept is None:
        return {}, False
    of_rows = np.array([row[0] for row in loops.rows], int)
    closing, mixed = {}, False
    for number in loops.tree.loops:
        own = np.flatnonzero(of_rows == number)
        here = np.any(loops.kept[:, own] != 0, axis=1)
        others = np.delete(loops.kept[here], own, axis=1)
        if np.any(np.abs(others) > 0):
            mixed = True
            continue
        closing[loops.tree.joints[number].name] = loops.kept[np.ix_(here, own)]
    # Constraints beside joints are all kept: where some of them say nothing, they are redundant.
    others = loops.kept[:, len(loops.rows) :]
    mixed = mixed or np.linalg.matrix_rank(others) < others.shape[1]
    return closing, bool(mixed)
