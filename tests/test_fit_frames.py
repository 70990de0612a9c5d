"""Data frames as records."""

import numpy as np
import pytest

from jaxspark.fit._check import DataError
from jaxspark.fit._read import from_dataframe
from logs import T


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


def test_data_frames_of_many_types(pandas):
    frame = pandas.DataFrame({"time_s": T, "i": [1, 2, 3], "f": np.float32([1, 2, 3.5])})
    frame["null"] = pandas.array([1, None, 3], dtype="Int64")
    frame["flag"] = [True, False, True]
    frame.index = [7, 7, 9]
    made = from_dataframe(
        frame, channels={"n": "null", "i": "i"}, inputs=["f", "flag"], missing="allow", name="x"
    )
    np.testing.assert_array_equal(made.times, T)
    np.testing.assert_array_equal(made.channels["n"], [1, np.nan, 3])
    np.testing.assert_array_equal(made.channels["i"], [1, 2, 3])
    np.testing.assert_array_equal(made.inputs["f"], [1, 2, 3.5])
    np.testing.assert_array_equal(made.inputs["flag"], [1, 0, 1])
    frame.loc[:, "time_s"] = 0.0
    assert made.name == "x" and made.times[1] == 0.1


def test_trials_of_a_data_frame(pandas):
    content = {"time_s": [0, 0, 1, 1.0], "angle": [1, 2, 3, 4], "run": [5, 6, 5, 6]}
    frame = pandas.DataFrame(content)
    first, second = from_dataframe(frame, channels=["angle"], trial="run")
    np.testing.assert_array_equal(first.channels["angle"], [1, 3])
    np.testing.assert_array_equal(second.channels["angle"], [2, 4])
    assert (first.name, second.name) == ("record, run 5", "record, run 6")
    frame["time_s"] = [0, 0, 1, 0.0]
    with pytest.raises(DataError, match='frame "record", row 3: time .* is 0.0 twice'):
        from_dataframe(frame, channels=["angle"], trial="run")
    frame["run"] = [5, 6, None, 6]
    with pytest.raises(DataError, match=r'row 2: the trial \(column "run"\) is missing'):
        from_dataframe(frame, channels=["angle"], trial="run")


def test_bad_data_frames(pandas):
    frame = pandas.DataFrame({"time_s": T, "angle": pandas.array([1, None, 3], dtype="Int64")})
    frame["note"] = ["1", "two", "3"]
    frame["date"] = pandas.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"])
    with pytest.raises(DataError, match='row 1: channel "angle" is nan'):
        from_dataframe(frame, channels=["angle"])
    with pytest.raises(DataError, match="row 1: channel \"note\" is 'two', which is no number"):
        from_dataframe(frame, channels=["note"])
    with pytest.raises(DataError, match='no column "angel". Did you mean "angle"?'):
        from_dataframe(frame, channels=["angel"])
    with pytest.raises(DataError, match=r'time \(column "date"\) holds dates.*total_seconds'):
        from_dataframe(frame, time="date", channels=["angle"])
    twice = pandas.DataFrame([[0, 1, 2], [1, 2, 3]], columns=["time_s", "a", "a"])
    with pytest.raises(DataError, match='2 columns are named "a"'):
        from_dataframe(twice, channels=["a"])
    with pytest.raises(DataError, match="0 samples; at least 2"):
        from_dataframe(frame[:0], channels=["note"])
