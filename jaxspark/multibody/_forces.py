"""All forces of a mechanism: on links, in joints, and the states of controllers."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from ._force import Force
from ._joints import GROUND
from ._kinematics import down, Places
from ._motors import Motor
from ._rotations import products
from ._tables import Tables
from ._tree import Tree


class Forces:
    """All forces of a mechanism.

    **Arguments:**

    - `tree`: of which links there are.
    - `elements`: force elements and motors.

    **Attributes:**

    - `states`: of each controller, its name and where its states are among the coordinates.
    - `size`: how many states there are.
    - `start`: coordinates that are zero, and the states of controllers at the start.

    **Raises:** `ValueError` if an element names a body or joint that is not there; `TypeError` for
    one that is none.
    """

    def __init__(self, tree: Tree, elements: Sequence[Any]):
        self.tree, self.elements = tree, tuple(elements)
        self.numbers = {body.name: k for k, body in enumerate(tree.bodies)} | {GROUND: -1}
        joints = {joint.name: k for k, joint in enumerate(tree.joints)}
        self.between: list[tuple[Force, list[int]]] = []
        self.motors, self.states, self.size = [], {}, 0
        start = [np.zeros(tree.ny)]
        for element in elements:
            if isinstance(element, Motor):
                at = tree.ny + self.size + np.arange(element.size)
                self.size += element.size
                self.motors.append((element, *self._indices(element, joints), at))
                if element.size:
                    self.states[element.name] = at
                    start.append(getattr(element, "start", np.zeros(element.size)))
            elif isinstance(element, Force):
                self.between.append((element, self._bodies(element)))
            else:
                raise TypeError(f"forces has {element!r}, which is no force element.")
        self.start = np.concatenate(start)
        self.has_springs = any(np.any(x.stiffness) for x in tree.joints)

    def _bodies(self, element: Force) -> list[int]:
        for name in element.bodies:
            if name not in self.numbers:
                raise ValueError(
                    f"Force {element.name!r} acts on {name!r}, which is none of the "
                    f"bodies; there are {sorted(self.numbers)}."
                )
        return [self.numbers[name] for name in element.bodies]

    def _indices(self, motor: Motor, joints: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
        tree = self.tree
        if motor.joint not in joints:
            raise ValueError(
                f"Motor {motor.name!r} is in {motor.joint!r}, which is none of the joints; there "
                f"are {sorted(joints)}."
            )
        links = [k for k, x in enumerate(tree.links) if x.joint == joints[motor.joint]]
        if not links or any(tree.links[k].kind != "axis" for k in links):
            raise ValueError(
                f"Motor {motor.name!r} needs a joint with axes that no loop cuts; "
                f"{motor.joint!r} is none. Cut another joint by cut=True; one with a "
                "JointFriction is always cut: drive another joint of its body."
            )
        links.sort(key=lambda k: tree.links[k].element)
        return np.array([tree.y_at[k] for k in links]), np.array([tree.z_at[k] for k in links])

    def evaluated(
        self, t: Any, y: Array, z: Array, tables: Tables, at: Places
    ) -> tuple[Array, Array]:
        """Forces in the joints, shape `(nz,)`, and wrenches on the links, `(n, 3, 4)`."""
        tree = self.tree
        own = -tables.damping * z
        if self.has_springs and len(tree.axis):
            pull = take(tables.stiffness, tree.axis_z) * (take(y, tree.axis_y) - tables.rest)
            own = own - jnp.zeros_like(own).at[tree.axis_z].set(pull)
        for motor, of_y, of_z, of_s in self.motors:
            own = own.at[of_z].add(motor.force(t, y[of_y], z[of_z], y[of_s], tables.args))
        total = jnp.zeros((tree.n + 1, 3, 4), y.dtype)
        for body, force in self.on_bodies(t, z, tables, at):
            total = total.at[tree.link_of[body]].add(force)
        return own, total[:-1]

    def on_bodies(
        self, t: Any, z: Array, tables: Tables, at: Places
    ) -> list[tuple[int, Float[Array, "3 4"]]]:
        """The wrenches of force elements, each with the body on which it acts."""
        if not self.between:
            return []
        V, out = down(self.tree, at.S * z[:, None, None]), []
        for element, numbers in self.between:
            motion = tuple(V[self.tree.link_of[number]] for number in numbers)
            own = self._own(element, tables)
            places = self._places(numbers, tables, at)
            wrenches = element.wrenches(t, places, motion, own, tables.args)
            out += zip(numbers, wrenches, strict=True)
        return out

    def _places(self, numbers: Sequence[int], tables: Tables, at: Places) -> tuple[Array, ...]:
        return tuple(products(at.T[self.tree.link_of[k]], tables.frames[k]) for k in numbers)

    def _own(self, element: Force, tables: Tables) -> Any:
        return tables.args["forces"].get(element.name, {})

    def of_motors(self, t: Any, y: Array, z: Array, args: Any) -> dict[str, Array]:
        """Forces and torques by the names of motors, shapes `(k,)`."""
        return {
            motor.name: motor.force(t, y[of_y], z[of_z], y[of_s], args)
            for motor, of_y, of_z, of_s in self.motors
        }

    def rates(self, t: Any, y: Array, z: Array, args: Any) -> Float[Array, " s"]:
        """The derivatives of the states of controllers."""
        parts = [
            motor.rate(t, y[of_y], z[of_z], y[of_s], args)
            for motor, of_y, of_z, of_s in self.motors
            if motor.size
        ]
        return jnp.concatenate(parts)

    def energy(self, tables: Tables, at: Places) -> Array:
        """What elements have stored, as far as they know (J)."""
        total = jnp.zeros((), at.T.dtype)
        for element, numbers in self.between:
            own = self._own(element, tables)
            total = total + element.energy(self._places(numbers, tables, at), own)
        return total
