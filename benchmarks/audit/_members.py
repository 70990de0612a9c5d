"""All mechanisms of the audit, by name."""

from . import _holonomic, _loops, _nonholonomic, _nonsmooth, _rheonomic, _scales, _spatial
from ._mechanism import Mechanism


_FILES = (_holonomic, _loops, _nonholonomic, _rheonomic, _nonsmooth, _scales, _spatial)
ALL: tuple[Mechanism, ...] = tuple(m for file in _FILES for m in file.MECHANISMS)
MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in ALL}
