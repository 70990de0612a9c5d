"""A solution as a table: pandas, xarray, CSV."""

import csv
import pathlib
from typing import Any

import jax
import numpy as np

from ._columns import groups, known, one_motion, parts


def to_csv(solution: Any, path: str | pathlib.Path, *, lane: int | None = None) -> None:
    """Write the saved times and states, a row for each time, with 17 significant digits.

    **Arguments:**

    - `solution`: what [`jaxspark.solve`][] returned.
    - `path`: the file to write. Its first line names the columns: `t`, `y[0]`, ...
    - `lane`: of a batch, the number of the motion to write.

    **Raises:** `TypeError` if `solution` is not a solution; `ValueError` if fewer than two states
    are saved, while a program is traced, or for a batch without `lane`; `OSError` if the file
    cannot be written.
    """
    columns = _columns(one_motion(solution, lane))
    with pathlib.Path(path).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows([repr(float(x)) for x in row] for row in zip(*columns.values(), strict=True))


def to_pandas(solution: Any, *, lane: int | None = None) -> Any:
    """A `pandas.DataFrame` with the saved times as its index, and a column for each entry.

    **Arguments:**

    - `solution`: what [`jaxspark.solve`][] returned.
    - `lane`: of a batch, the number of the motion; without it the index has the lane first.

    **Returns:** the table. Columns are `y[0]`, ..., `z[0]`, ..., and `lam[0]`, ... if multipliers
    were saved; for PyTrees they have the names of the entries, `y['crank']`.

    **Raises:** `ModuleNotFoundError` without pandas; `TypeError` if `solution` is not a solution;
    `ValueError` if fewer than two states are saved, or while a program is traced.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "to_pandas needs pandas: pip install pandas. to_csv writes the same without it."
        ) from error
    solution = known(solution)
    if solution.ts.ndim == 1 or lane is not None:
        columns = _columns(one_motion(solution, lane))
        return pd.DataFrame(columns).set_index("t")
    lanes = range(solution.ts.shape[0])
    tables = [to_pandas(solution, lane=lane) for lane in lanes]
    return pd.concat(tables, keys=list(lanes)).rename_axis(["lane", "t"])


def to_xarray(solution: Any) -> Any:
    """An `xarray.Dataset` with a variable for each array of the state, over `time`.

    **Arguments:**

    - `solution`: what [`jaxspark.solve`][] returned, or a batch of such.

    **Returns:** the data set. A batch has the dimension `lane` first, and its times as a variable
    `t`, since they may differ.

    **Raises:** `ModuleNotFoundError` without xarray; `TypeError` if `solution` is not a solution;
    `ValueError` if fewer than two states are saved, or while a program is traced.
    """
    try:
        import xarray as xr
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("to_xarray needs xarray: pip install xarray.") from error
    solution = known(solution)
    dims = ("lane", "time")[-solution.ts.ndim :]
    variables: dict[str, Any] = {"t": (dims, np.asarray(solution.ts))}
    for name, tree in parts(solution).items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            label = name + jax.tree_util.keystr(path)
            own = tuple(f"{label}_{axis}" for axis in range(leaf.ndim - len(dims)))
            variables[label] = (dims + own, np.asarray(leaf))
    coords = {"time": np.asarray(solution.ts)} if dims == ("time",) else {}
    if coords:
        del variables["t"]
    return xr.Dataset(variables, coords)


def _columns(solution: Any) -> dict[str, np.ndarray]:
    columns = {"t": np.asarray(solution.ts)}
    for group in groups(solution).values():
        columns |= group
    return columns
