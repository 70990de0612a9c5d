"""Methods of this package as solvers of diffrax; needs `pip install "jaxspark[diffrax]"`."""

try:
    import diffrax  # noqa: F401
except ImportError as error:
    raise ImportError(
        "jaxspark.diffrax needs diffrax itself: pip install 'jaxspark[diffrax]'."
    ) from error

from ._solver import DiffraxSolver as DiffraxSolver
from ._term import ConstrainedTerm as ConstrainedTerm
