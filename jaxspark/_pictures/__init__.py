"""Pictures, animations and tables of a solution."""

from ._animate import animate as animate, Animation as Animation
from ._plot import plot as plot
from ._scene import Scene as Scene, scene as scene
from ._tables import to_csv as to_csv, to_pandas as to_pandas, to_xarray as to_xarray
