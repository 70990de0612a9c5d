"""Small computations written out number by number, without those that are known to be zero."""

from ._dependence import depends_on as depends_on
from ._primitive import written_out as written_out
