"""Systems from SymPy: a Lagrangian, or equations of `sympy.physics.mechanics`; needs SymPy.

`pip install "jaxspark[symbolic]"` installs it.
"""

from ._kane import from_kanes_method as from_kanes_method
from ._lagrange import (
    from_lagranges_method as from_lagranges_method,
    from_lagrangian as from_lagrangian,
)
from ._mechanism import SymbolicMechanism as SymbolicMechanism
