"""Many motions at once: in windows of like cost, and over many devices."""

from ._devices import over_devices as over_devices
from ._windows import in_windows as in_windows
