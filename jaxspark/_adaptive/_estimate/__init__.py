"""How large the error of a step is: a step in, an error out."""

from ._estimate import estimate as estimate, StepError as StepError
from ._history import History as History, no_history as no_history
