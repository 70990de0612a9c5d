"""Warnings of data that look wrong."""

import warnings

import numpy as np
import pytest

from jaxspark.fit._check import DataWarning
from jaxspark.fit._read import from_dataframe
from jaxspark.fit._record import Record, record
from logs import HEADER, read


MANY = np.arange(101.0)
WAVE = np.sin(MANY)


@pytest.mark.parametrize(
    "times, words",
    [
        (MANY, 'record "r": times look like milliseconds: median step 1.* multiply them by 1e-3'),
        (10 * MANY, "times look like milliseconds: median step 10"),
        (50 * MANY[:41], "times look like milliseconds: median step 50"),
        (1e4 * MANY, "times look like microseconds: median step 10000.*by 1e-6"),
        (1e6 * MANY, "times look like nanoseconds: median step 1e.06.*by 1e-9"),
        (1.7e9 + 0.01 * MANY, "times look like seconds since 1970: they begin at 17000.*Subtract"),
        (1.7e12 + 10 * MANY, r"look like milliseconds.*begin at 1.7e\+12: subtract the first too"),
    ],
)
def test_doubtful_times(times, words):
    with pytest.warns(DataWarning, match=words) as caught:
        record(times, {"a": WAVE[: len(times)]}, name="r")
    assert len(caught) == 1


def test_doubtful_angles():
    with pytest.warns(
        DataWarning, match='channel "a" looks like degrees: .* reaches 90.*Convert it'
    ):
        record(0.01 * MANY, {"a": 90 * WAVE / WAVE.max()}, units={"a": "rad"})
    with pytest.warns(DataWarning, match="looks like degrees: .* reaches 12.8"):
        record(0.01 * MANY, {"a": 12.8 * WAVE / WAVE.max()}, units={"a": "rad"})
    with pytest.warns(DataWarning, match='input "f" looks like degrees'):
        record(0.01 * MANY, {"a": WAVE}, {"f": -90 + WAVE}, units={"f": "rad"})


def test_doubtful_constants():
    with pytest.warns(DataWarning, match='channel "a" never changes, it is 2 in .*leave it out'):
        record(0.01 * MANY, {"a": np.where(MANY > 50, 2.0, np.nan)}, missing="allow")
    with pytest.warns(DataWarning, match='input "f" never changes, .*a constant of the model'):
        record(0.01 * MANY, {"a": WAVE}, {"f": 0 * MANY})


def test_all_ways_in_warn(tmp_path):
    content = HEADER + "0,1,1\n1,2,1\n"
    with pytest.warns(DataWarning, match='record "log": input "force" never changes'):
        read(tmp_path, content)
    with pytest.warns(DataWarning, match='record "log, run 1": input "force"'):
        read(tmp_path, "run,time_s,angle,force\n1,0,1,1\n1,1,2,1\n", trial="run")
    with pytest.warns(DataWarning, match='channel "a" never'):
        Record.from_series({"a": ([0, 1], [3, 3])})
    pandas = pytest.importorskip("pandas")
    with pytest.warns(DataWarning, match='channel "a" never'):
        from_dataframe(pandas.DataFrame({"time_s": [0, 1], "a": [3, 3]}), channels=["a"])


def test_what_is_right_is_not_doubted():
    """Warnings are errors here: slow samples, many turns of a wheel, degrees so called."""
    record(4.9 * MANY[:100], {"a": WAVE[:100]})
    record(0.5 * MANY, {"a": 12 * WAVE / np.abs(WAVE).max()}, units={"a": "rad"})
    record(0.5 * MANY, {"wheel": 10 * MANY}, units={"wheel": "rad"})
    record(0.5 * MANY, {"a": 90 * WAVE}, units={"a": "deg"})


def test_doubts_can_be_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        record(10 * MANY, {"a": 0 * MANY})
