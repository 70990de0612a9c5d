r"""A mechanism's equations in coordinates of bodies: one block for each body and joint.

    M_i z_i' = weight + elements - C^T lam,   0 = g of every joint, on the tree or not

There are many more unknowns than in joint coordinates, but linear systems are solved joint by
joint, so that the cost of a step grows like the number of bodies.

Source: E. J. Haug, *Computer Aided Kinematics and Dynamics of Mechanical Systems*, section 11.2.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .._custom_types import Args
from .._system import MultibodySystem
from ._bodies_groups import Parts, Prepared
from ._bodies_parts import mass, velocity, weight
from ._constraint import Constraint
from ._force import Force
from ._joints import AXIS, GROUND, SHIFT
from ._motors import Motor
from ._tree import Tree


class BodiesSystem(MultibodySystem):
    """The system; made by [`jaxspark.multibody.Mechanism`][].

    - `prepare`: computes what is constant.
    """

    prepare: Callable[[Any], Prepared] | None = eqx.field(static=True, default=None)

    def __init__(self, prepare: Callable[[Any], Prepared], joints: Any, **options: Any):
        super().__init__(mass, weight, joints, velocity=velocity, own=_of_bodies, **options)
        self.prepare = prepare

    def prepared(self, args: Args) -> Any:
        """All that is constant while the mechanism moves."""
        assert self.prepare is not None
        return args if isinstance(args, Prepared) else self.prepare(args)

    def p(self, t, y, z, args):
        """The momenta."""
        return super().p(t, y, z, self.prepared(args))

    def f(self, t, y, z, args):
        """The forces."""
        return super().f(t, y, z, self.prepared(args))

    def _v(self, t, y, z, args):
        return super()._v(t, y, z, self.prepared(args))

    def _g(self, t, y, args):
        return super()._g(t, y, self.prepared(args))

    def _k(self, t, y, z, args):
        return super()._k(t, y, z, self.prepared(args))


def _of_bodies(args: Prepared) -> Any:
    return args.bodies


def bodies_system(
    tree: Tree,
    closing: Mapping[str, np.ndarray],
    constraints: Sequence[Constraint],
    elements: Sequence[Any],
) -> BodiesSystem:
    """The system of a mechanism.

    **Arguments:**

    - `tree`: of its bodies and joints; `constraints`, `elements`: beside the joints.
    - `closing`: of joints that close loops, the combinations of their rows that say something.

    **Raises:** `ValueError` for what needs the coordinates of a tree.
    """
    _require_possible(tree, constraints, elements)
    numbers = {body.name: k for k, body in enumerate(tree.bodies)} | {GROUND: -1}
    parts = Parts(tree, numbers)
    joints = parts.joints(closing) + parts.constraints(constraints, holonomic=True)
    rolling = parts.constraints(constraints, holonomic=False)
    forces = parts.in_joints([x for x in elements if isinstance(x, Motor)])
    forces += parts.between([x for x in elements if isinstance(x, Force)])
    ground = np.array([0.0, 0, 0, 1, 0, 0, 0])
    return BodiesSystem(
        jax.jit(parts.prepared), joints, rolling=rolling, elements=forces, ground=ground
    )


def _require_possible(tree: Tree, constraints: Sequence[Constraint], elements: Any) -> None:
    for joint in tree.joints:
        if joint.pitch or np.any(joint.armature):
            what = "a pitch" if joint.pitch else "armature"
            raise ValueError(
                f"{joint!r} has {what}, for which there are no equations between two bodies: use "
                "the mechanism's own system."
            )
        turning = [kind == AXIS and how != SHIFT for kind, how in joint.elements]
        if any(k and x for k, x in zip(turning, joint.stiffness, strict=False)):
            raise ValueError(
                f"{joint!r} has a spring that turns, and bodies do not know how often: use the "
                "mechanism's own system, or a Bushing or Spring."
            )
    for element in (*constraints, *elements):
        own = getattr(element, "size", 0) or (
            isinstance(element, Constraint) and element.joint is not None
        )
        if own or len(getattr(element, "bodies", ())) > 2:
            raise ValueError(
                f"{element!r} needs coordinates of joints, or acts between more than two bodies: "
                "use the mechanism's own system."
            )
