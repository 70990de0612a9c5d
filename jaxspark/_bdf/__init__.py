"""Variable-step BDF for stiff mechanisms, in the formulations of Yen and Petzold."""

from ._formulations import Settings as Settings
from ._solution import BDFSolution as BDFSolution, BDFStatistics as BDFStatistics
from ._solve import bdf as bdf, run as run
