"""Laws of forces with few parameters: friction, drag, springs, play, drives."""

from ._drag import drag as drag, generalised as generalised
from ._drive import rotor_energy as rotor_energy
from ._dry import dry_friction as dry_friction, regularised_norm as regularised_norm
from ._elastic import backlash as backlash, elastic as elastic
from ._joint import friction as friction, lugre as lugre
