"""Force laws with few parameters, smooth enough to be fitted.

They are plain functions of rates and deflections, numbers or arrays of joints alike, and go into
`force` of a system (a `rotor_energy` into its Lagrangian). Their parameters may be traced.
"""

from ._forces import (
    backlash as backlash,
    drag as drag,
    elastic as elastic,
    friction as friction,
    generalised as generalised,
    lugre as lugre,
    rotor_energy as rotor_energy,
)
