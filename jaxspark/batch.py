"""Many motions at once: in windows of similar cost, in chunks with files, over many devices."""

from ._chunks import in_chunks as in_chunks
from ._devices import over_devices as over_devices
from ._windows import in_windows as in_windows
