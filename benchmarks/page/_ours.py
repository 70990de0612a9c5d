"""The names of our own solvers."""

PREFIX = "jaxspark, "


def ours(solver: str) -> str:
    """Its name among others."""
    return PREFIX + solver


def is_ours(solver: str) -> bool:
    """Whether a solver of this name is one of ours."""
    return solver.startswith(PREFIX)
