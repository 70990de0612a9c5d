"""The Lobatto families that are measured."""

import jaxspark


FAMILIES = {
    "A-B-B": dict(y="A", f="B", psi="B"),
    "A-B-C": dict(y="A", f="B", psi="C"),
    "A-B-C*": dict(y="A", f="B", psi="C*"),
    "A-B-D": dict(y="A", f="B", psi="D"),
    "C-C*-C": dict(y="C", f="C*", psi="C"),
    "D-D-D": dict(y="D", f="D", psi="D"),
}
"""Those that satisfy the Lagrange-d'Alembert conditions (6.2): for `y`, `f` and `psi`."""

SYMMETRIC = ("A-B-B", "A-B-D", "D-D-D")


def lobatto(family: str, stages: int) -> jaxspark.Lobatto:
    """The method with the families of `FAMILIES`."""
    return jaxspark.Lobatto(stages, **FAMILIES[family])
