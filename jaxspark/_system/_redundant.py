"""Systems whose constraints may depend on each other."""

from typing import Any

from ._constrained import AbstractConstrainedSystem
from ._multibody import MultibodySystem
from ._with_blocks import innermost, WithBlocks


def redundant(system: Any) -> AbstractConstrainedSystem:
    """The same system, whose constraints may depend on each other.

    With dependent constraints, which overconstrained mechanisms have, the motion is determined,
    but not the multipliers: those of minimum norm are taken. Which constraints count as dependent
    is found anew at every point, by the singular values of `[g_y v_z; k_z]`, whose rows have been
    scaled to norm 1: those below `eps^0.64` of the largest, 1e-10 in double precision, are zero.
    Where constraints contradict each other, a solve with tolerances ends as
    `RESULTS.projection_failed`; with steps of known sizes the statistics show what is violated,
    and [`jaxspark.multipliers`][] are those of least squares. A singular position, in which
    constraints become dependent that are not so elsewhere, may still stop a motion.

    Other changes of a system, such as [`jaxspark.stiff.Elongated`][], come before this one. All
    equations are solved as one block, with singular value decompositions: this is for some dozens
    of velocities. For larger mechanisms describe bodies and joints by
    [`jaxspark.MultibodySystem`][], and solve with
    `linear_solver=jaxspark.linear.AcyclicNullSpace(redundant=True)`.

    **Arguments:**

    - `system`: the constrained system, whose constraint forces are linear in their multipliers.

    **Returns:** a system for every function that takes one. [`jaxspark.GGL`][] and
    `jaxspark.stiff`, whose matrices are others, refuse it.

    **Raises:** `TypeError` if `system` is not a constrained system; `ValueError` for a
    [`jaxspark.MultibodySystem`][], which is solved block by block (see above). Where the system
    meets its first state, `ValueError` if constraint forces are not linear in their multipliers,
    or a constraint depends on no velocity at all.

    ??? cite "Reference"
        J. García de Jalón & M. D. Gutiérrez-López, *Multibody dynamics with redundant constraints
        and singular mass matrix: existence, uniqueness, and determination of solutions for
        accelerations and constraint forces*, Multibody System Dynamics 30 (2013), 311-341.
    """
    if not isinstance(system, AbstractConstrainedSystem):
        raise TypeError(f"system must be a jaxspark system; got {system!r}.")
    if isinstance(innermost(system), MultibodySystem):
        raise ValueError(
            "A jaxspark.MultibodySystem is solved block by block: for redundant constraints give "
            "linear_solver=jaxspark.linear.AcyclicNullSpace(redundant=True)."
        )
    inner = system.system if isinstance(system, WithBlocks) else system
    return WithBlocks(inner, redundant=True)
