"""Small computations written out number by number, without those that are known to be zero."""

from ._primitive import written_out as written_out
