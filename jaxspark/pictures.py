"""Pictures, animations and tables of what `jaxspark.solve` returns."""

from ._pictures import (
    animate as animate,
    Animation as Animation,
    plot as plot,
    Scene as Scene,
    scene as scene,
    to_csv as to_csv,
    to_pandas as to_pandas,
    to_xarray as to_xarray,
)
