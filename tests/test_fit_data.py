"""Measured data: what is read, merged and cut, and what every kind of bad data is called."""

import tracemalloc
import warnings

import numpy as np
import pytest

from jaxspark.fit import _csv
from jaxspark.fit._check import DataError, DataWarning
from jaxspark.fit._read import from_dataframe, read_csv
from jaxspark.fit._record import Record, record


T = np.array([0.0, 0.1, 0.25])
HEADER = "time_s,angle,force\n"
GOOD = HEADER + "0,1,10\n0.1,2,20\n0.25,4,15\n"


def written(tmp_path, content, name="log.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(tmp_path, content, **options):
    options = {"channels": ["angle"], "inputs": ["force"], **options}
    return read_csv(written(tmp_path, content), **options)


def assert_good(found):
    np.testing.assert_array_equal(found.times, T)
    np.testing.assert_array_equal(found.channels["angle"], [1, 2, 4])
    np.testing.assert_array_equal(found.inputs["force"], [10, 20, 15])


# Records of arrays.


def test_a_record_owns_double_precision_copies():
    values = np.array([1, 2, 4])
    made = record(T.tolist(), {"a": values}, {"f": np.float32([1, 2, 3])}, units={"a": "rad"})
    values[0] = 7
    np.testing.assert_array_equal(made.channels["a"], [1, 2, 4])
    assert made.channels["a"].dtype == made.inputs["f"].dtype == np.float64
    assert made.units == {"a": "rad", "f": ""}
    assert (made.name, made.num_samples, made.duration) == ("record", 3, 0.25)
    with pytest.raises(ValueError, match="read-only"):
        made.channels["a"][0] = 3.0


def test_missing_samples_are_kept_if_allowed():
    masked = np.ma.masked_array([1.0, 2.0, 4.0], [False, True, False])
    for values in ([1.0, np.nan, 4.0], [1.0, None, 4.0], masked):
        made = record(T, {"a": values}, missing="allow")
        np.testing.assert_array_equal(made.channels["a"], [1, np.nan, 4])


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((T, {"a": [1, np.nan, 2]}), 'index 1: channel "a" is nan, .*missing="allow"'),
        ((T, {"a": [1, 2, -np.inf]}), 'index 2: channel "a" is -inf, .*give NaN'),
        ((T, {"a": [1, 2, 3]}, {"f": [1, np.nan, 2]}), 'index 1: input "f" is nan.*interpolate'),
        (([0, np.nan, 1], {"a": [1, 2, 3]}), "index 1: time is nan.*remove the sample"),
        (([0, 2, 1], {"a": [1, 2, 3]}), "index 2: time goes from 2.0 back to 1.0.*Sort"),
        (([0, 1, 1], {"a": [1, 2, 3]}), "index 2: time is 1.0 twice. Keep one"),
        (([0], {"a": [1]}), 'record "r": 1 sample; at least 2 are needed'),
        (([], {"a": []}), 'record "r": 0 samples; at least 2 are needed'),
        ((T, {"a": [1, 2]}), 'channel "a" has 2 samples, but there are 3 times.*from_series'),
        ((T, {"a": [1, 2, 3]}, {"f": [1]}), 'input "f" has 1 sample, but there are 3'),
        ((T, {"a": [1, "x", 3]}), "index 1: channel \"a\" is 'x', which is no number"),
        ((T, {"a": np.ones((3, 2))}), r'channel "a" has the shape \(3, 2\).*own name'),
        ((T, {"a": np.ones(3) * 1j}), 'channel "a" holds complex numbers. Take the real'),
        ((np.array(T * 1e9, "datetime64[ns]"), {"a": [1, 2, 3]}), "time holds dates.*total_sec"),
        ((T, {}), "there is no channel. Name at least one"),
        ((T, {"a": [1, 2, 3]}, {"a": [1, 2, 3]}), '"a" is a channel and an input'),
    ],
)
def test_bad_arrays(arguments, words):
    with pytest.raises(DataError, match=words):
        record(*arguments, name="r")


def test_missing_is_allowed_in_channels_only():
    with pytest.raises(DataError, match='index 0: input "f" is nan'):
        record(T, {"a": [1, 2, 3]}, {"f": [np.nan, 1, 2]}, missing="allow")
    with pytest.raises(DataError, match='index 1: channel "a" is inf'):
        record(T, {"a": [np.nan, np.inf, 3]}, missing="allow")


def test_a_channel_without_any_sample():
    with pytest.raises(DataError, match='channel "b" has no sample, all are missing. Leave it out'):
        record(T, {"a": [1, 2, 3], "b": [np.nan] * 3}, missing="allow")


def test_units_of_unknown_channels():
    with pytest.raises(DataError, match='no channel or input "angel". Did you mean "angle"?'):
        record(T, {"angle": [1, 2, 3]}, units={"angel": "rad"})


# Parts and merging.


def test_window_includes_its_bounds():
    made = record(np.arange(5.0), {"a": np.arange(5.0)}, {"f": -np.arange(5.0)}, units={"a": "m"})
    part = made.window(1.0, 3.0)
    np.testing.assert_array_equal(part.times, [1, 2, 3])
    np.testing.assert_array_equal(part.channels["a"], [1, 2, 3])
    np.testing.assert_array_equal(part.inputs["f"], [-1, -2, -3])
    assert part.units == made.units and part.duration == 2
    with pytest.raises(DataError, match="1 samples between 1.5 s and 2.5 s.*0.0 s to 4.0 s"):
        made.window(1.5, 2.5)
    with pytest.raises(DataError, match="0 samples between 3 s and 1 s"):
        made.window(3, 1)


def test_split_shares_no_sample():
    made = record(0.1 * np.arange(10), {"a": np.arange(10.0)})
    train, later = made.split(0.7)
    np.testing.assert_array_equal(train.channels["a"], np.arange(7))
    np.testing.assert_array_equal(later.channels["a"], [7, 8, 9])
    for fraction in (0.0, 1.0, 0.95, -0.5):
        with pytest.raises(DataError, match=f"10 samples cannot be split at {fraction}"):
            made.split(fraction)


def test_parts_without_a_sample_of_a_channel():
    a = [1, 2, np.nan, np.nan]
    made = record([0, 1, 2, 3], {"a": a, "b": [1, 2, 3, 4]}, missing="allow")
    with pytest.raises(DataError, match='channel "a" has no sample from 2.0 s to 3.0 s'):
        made.split(0.5)


def test_channels_of_different_rates_merge():
    made = Record.from_series(
        {"a": ([0, 1, 2], [10, 11, 12]), "b": ([0.5, 1, 1.5], [20, 21, 22])},
        {"f": ([-1, 3], [0, 8])},
        units={"b": "m"},
    )
    nan = np.nan
    np.testing.assert_array_equal(made.times, [0, 0.5, 1, 1.5, 2])
    np.testing.assert_array_equal(made.channels["a"], [10, nan, 11, nan, 12])
    np.testing.assert_array_equal(made.channels["b"], [nan, 20, 21, 22, nan])
    np.testing.assert_allclose(made.inputs["f"], [2, 3, 4, 5, 6], rtol=1e-15)
    assert made.units == {"a": "", "b": "m", "f": ""}


def test_times_that_differ_by_rounding_are_one():
    times = 0.1 * np.arange(4)
    series = {"a": (times, [1, 2, 3, 4]), "b": (times + [0, 1e-16, -1e-15, 1e-12], [5, 6, 7, 8])}
    made = Record.from_series(series)
    np.testing.assert_allclose(made.times, times, atol=1e-12)
    np.testing.assert_array_equal(made.channels["b"], [5, 6, 7, 8])
    assert Record.from_series(series, tolerance=1e-13).num_samples == 5


@pytest.mark.parametrize(
    "series, inputs, options, words",
    [
        ({"a": ([0, 2, 1], [1, 2, 3])}, {}, {}, 'index 2: time of channel "a" goes from 2.0'),
        ({"a": ([0, 1], [1, 2, 3])}, {}, {}, 'channel "a" has 3 samples, but there are 2 times'),
        ({"a": ([0, 1], [1, np.inf])}, {}, {}, 'index 1: channel "a" is inf'),
        ({}, {}, {}, "there is no channel"),
        (
            {"a": ([0, 1], [1, 2])},
            {"f": ([0.5, 1], [1, 2])},
            {},
            'input "f" was measured from 0.5 s to 1.0 s, but channels from 0.0 s.*Cut',
        ),
        (
            {"a": ([0, 1, 2], [1, 2, 4])},
            {},
            {"tolerance": 1.0},
            'tolerance 1 s merges two samples of channel "a", at 0.0 s and 1.0 s',
        ),
    ],
)
def test_bad_series(series, inputs, options, words):
    with pytest.raises(DataError, match=words):
        Record.from_series(series, inputs, **options)


# CSV files.


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.rstrip("\n"),
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        "\n \n" + GOOD.replace("\n", "\n\n") + "  \n\n",
        GOOD.replace(",", " , ").replace("time_s", " time_s "),
        GOOD.replace("time_s,angle", '"time_s", "angle"'),
        HEADER + '"0","1","10"\n"0.1","2","20"\n"0.25","4","15"\n',
        "note,time_s,angle,force\n"
        '"one, two",0,1,10\n"line\nbreak",0.1,2,20\n"he said ""no""",0.25,4,15\n',
        "force,note,angle,time_s\n10,ä,1e0,0\n20,nan,+2,1e-1\n1.5E1,,4.,.25\n",
    ],
    ids=[
        "plain",
        "no line end",
        "byte-order mark",
        "CRLF",
        "CR",
        "blank lines",
        "spaces",
        "quoted header",
        "quoted numbers",
        "quoted text",
        "other order",
    ],
)
@pytest.mark.parametrize("block", [_csv.BLOCK, 1])
def test_what_is_written_is_read(tmp_path, monkeypatch, content, block):
    monkeypatch.setattr(_csv, "BLOCK", block)
    assert_good(read(tmp_path, content))


def test_other_names_delimiters_and_one_channel(tmp_path):
    content = "Time (s);Angle (rad)\n0;1\n1;2.5\n"
    made = read(
        tmp_path,
        content,
        time="Time (s)",
        channels={"phi": "Angle (rad)"},
        inputs=None,
        delimiter=";",
        units={"phi": "rad"},
    )
    np.testing.assert_array_equal(made.channels["phi"], [1, 2.5])
    assert (made.name, made.units, made.inputs) == ("log", {"phi": "rad"}, {})
    assert_good(read(tmp_path, GOOD, channels="angle", inputs="force", name="mine"))


def test_many_blocks_hold_all_digits(tmp_path):
    """Of a file of several blocks, of which one has a blank line, and one quotes."""
    rng = np.random.default_rng(1)
    times, angle, force = np.arange(60_000) * 1e-3, *rng.normal(size=(2, 60_000))
    lines = [
        f"{t!r},{a!r},{f!r}" for t, a, f in zip(*map(np.ndarray.tolist, (times, angle, force)))
    ]
    lines[40_000] += "\n"
    t, a, f = lines[50_000].split(",")
    lines[50_000] = f'{t},"{a}",{f}'
    content = HEADER + "\n".join(lines)
    assert len(content) > 2 * _csv.BLOCK
    made = read(tmp_path, content)
    np.testing.assert_array_equal(made.times, times)
    np.testing.assert_array_equal(made.channels["angle"], angle)
    np.testing.assert_array_equal(made.inputs["force"], force)


@pytest.mark.parametrize("block", [_csv.BLOCK, 1])
def test_empty_cells_are_missing_samples_if_allowed(tmp_path, monkeypatch, block):
    monkeypatch.setattr(_csv, "BLOCK", block)
    content = "time_s,a,b,c\n0,,,1\n0.1,nan,2,\n0.25,4, ,NaN\n0.3,5,3,2\n"
    made = read(tmp_path, content, channels=["a", "b", "c"], inputs=None, missing="allow")
    nan = np.nan
    np.testing.assert_array_equal(made.channels["a"], [nan, nan, 4, 5])
    np.testing.assert_array_equal(made.channels["b"], [nan, 2, nan, 3])
    np.testing.assert_array_equal(made.channels["c"], [1, nan, nan, 2])


@pytest.mark.parametrize("block", [_csv.BLOCK, 1])
@pytest.mark.parametrize("order", [range(5), [2, 0, 3, 1, 4]], ids=["in turn", "alternating"])
def test_one_record_of_each_trial(tmp_path, monkeypatch, block, order):
    monkeypatch.setattr(_csv, "BLOCK", block)
    rows = ["0,1,run a,1", "1,2,run a,2", "0,3,b,3", "1,5,b,5", "2,7,b,4"]
    content = "time_s,angle,run,force\n" + "\n".join(rows[at] for at in order)
    records = read(tmp_path, content, trial="run")
    names = ["log, run run a", "log, run b"]
    assert [made.name for made in records] == (names if order == range(5) else names[::-1])
    by_name = {made.name: made for made in records}
    np.testing.assert_array_equal(by_name[names[0]].channels["angle"], [1, 2])
    np.testing.assert_array_equal(by_name[names[1]].channels["angle"], [3, 5, 7])
    np.testing.assert_array_equal(by_name[names[1]].inputs["force"], [3, 5, 4])
    np.testing.assert_array_equal(by_name[names[1]].times, [0, 1, 2])


BAD_FILES = {
    "NaN": (HEADER + "0,1,1\n\n1,nan,2\n", 'log.csv, line 4: channel "angle" is nan.*missing="a'),
    "infinite": (HEADER + "0,1,1\n1,-inf,2\n", 'line 3: channel "angle" is -inf, not a finite'),
    "NaN in an input": (HEADER + "0,1,nan\n1,2,2\n", 'line 2: input "force" is nan.*interpolate'),
    "NaN in time": (HEADER + "0,1,1\nnan,2,2\n", r'line 3: time \(column "time_s"\) is nan'),
    "empty": (HEADER + "0,1,1\n1,,2\n", 'line 3: the cell of channel "angle" is empty.*="allow"'),
    "empty input": (HEADER + "0,1,1\n1,2,\n", 'line 3: the cell of input "force" is empty. Every'),
    "unsorted": (HEADER + "0,1,1\n\n2,2,2\n1,3,3\n", "line 5: time .* 2.0 back to 1.0.*trial="),
    "twice": (HEADER + "0,1,1\n2,2,2\n2,3,3\n", "line 4: time .* is 2.0 twice. Keep one"),
    "one row": (HEADER + "0,1,1\n", "log.csv: 1 sample; at least 2 are needed"),
    "header only": (HEADER + "\n", "log.csv: the file has a header only, no rows"),
    "nothing": (b"", "log.csv: the file is empty. It must have a header"),
    "blank": (b"\n\n  \n", "log.csv: the file is empty"),
    "only a mark": (b"\xef\xbb\xbf", "log.csv: the file is empty"),
    "Latin 1": (HEADER.encode() + b"0,1,1\n1,\xb0,2\n", "log.csv, line 3: the byte 0xb0 .*CSV UTF"),
    "UTF-16": (GOOD.encode("utf-16"), "log.csv, line 1: the byte 0xff is not UTF-8"),
    "words": (HEADER + "0,1,1\n1,high,2\n", "line 3: channel \"angle\" is 'high', .* no number"),
    "underscore": (HEADER + "0,1,1\n1,1_0,2\n", "line 3: channel \"angle\" is '1_0', .* no number"),
    "row of units": (HEADER + "s,rad,N\n0,1,1\n", "line 2: time .* is 's', which is no number"),
    "few": (HEADER + "0,1,1\n1,2\n", "line 3: too few cells, 2; the header has 3. Complete"),
    "many": (HEADER + "0,1,1\n1,2,3,4\n", "line 3: too many cells, 4; the header has 3"),
    "few, then many": (HEADER + "0,1\n1,2,3,4\n", "line 2: too few cells, 2"),
    "open quote": (HEADER + '0,"1,1\n' + 20_000 * "1,2,3,4\n", "log.csv: .*never closed"),
    "no such column": (GOOD.replace("angle", "angel"), '"angle". Did you mean "angel"?.*"force"'),
    "column twice": (HEADER[:-1] + ",angle\n0,1,1,1\n", 'header has "angle" 2 times'),
    "delimiter": (GOOD.replace(",", ";"), "no column \"time_s\".*Or pass delimiter=';'"),
}


@pytest.mark.parametrize("content, words", BAD_FILES.values(), ids=BAD_FILES)
@pytest.mark.parametrize("block", [_csv.BLOCK, 1])
def test_bad_files(tmp_path, monkeypatch, content, words, block):
    monkeypatch.setattr(_csv, "BLOCK", block)
    with pytest.raises(DataError, match=words) as error:
        read(tmp_path, content)
    assert str(tmp_path / "log.csv") in str(error.value)


def test_messages_name_the_column_of_a_channel(tmp_path):
    with pytest.raises(DataError, match=r'line 2: channel "phi" \(column "angle"\) is nan'):
        read(tmp_path, HEADER + "0,nan,1\n1,1,2\n", channels={"phi": "angle"})


def test_decimal_commas(tmp_path):
    content = "time_s;angle\n0;1,5\n1;2\n"
    with pytest.raises(DataError, match="line 2: .*'1,5'.*decimals with a point"):
        read(tmp_path, content, inputs=None, delimiter=";")


def test_all_samples_of_a_channel_missing(tmp_path):
    with pytest.raises(DataError, match='log.csv: channel "angle" has no sample.*Leave it out'):
        read(tmp_path, HEADER + "0,,1\n1,,2\n", missing="allow")
    with pytest.raises(DataError, match="line 2: the cell of time .* is empty. Every"):
        read(tmp_path, HEADER + ",1,1\n1,2,2\n", missing="allow")
    with pytest.raises(DataError, match='line 3: the cell of input "force" is empty'):
        read(tmp_path, HEADER + "0,1,1\n1,2,\n", missing="allow")


def test_no_file(tmp_path):
    written(tmp_path, GOOD)
    with pytest.raises(DataError, match='logs.csv: there is no such file. Did you mean "log.csv"'):
        read_csv(tmp_path / "logs.csv", channels=["angle"])
    with pytest.raises(DataError, match="there is no such file. Correct the path"):
        read_csv(tmp_path / "nowhere" / "x.csv", channels=["angle"])
    with pytest.raises(DataError, match="this is a folder. Give the path of one CSV file"):
        read_csv(tmp_path, channels=["angle"])


def test_bad_trials(tmp_path):
    header = "run,time_s,angle,force\n"
    rows = ["a,0,1,1", "b,0,1,1", "a,1,2,2", "b,0,3,3"]
    for at, line in ((2, 4), (3, 5)):
        again = [row.replace("1,2,2", "0,2,2") if at == 2 else row for row in rows]
        with pytest.raises(DataError, match=f"log.csv, line {line}: time .* is 0.0 twice"):
            read(tmp_path, header + "\n".join(again), trial="run")
    with pytest.raises(DataError, match='log.csv, trial "b": 1 sample; at least 2'):
        read(tmp_path, header + "\n".join(rows[:3]), trial="run")
    with pytest.raises(DataError, match=r'line 3: the cell of the trial \(column "run"\) is empty'):
        read(tmp_path, header + "a,0,1,1\n,1,2,2\n", trial="run")
    with pytest.raises(DataError, match='no column "runs". Did you mean "run"?'):
        read(tmp_path, header + "\n".join(rows), trial="runs")


def test_misuse_of_the_reader(tmp_path):
    with pytest.raises(ValueError, match="delimiter must be one character.*got ', '"):
        read(tmp_path, GOOD, delimiter=", ")


def test_memory_of_the_reader_is_bounded(tmp_path, monkeypatch):
    """A block of text, its lines and its numbers come on top of the arrays, whatever the file."""
    monkeypatch.setattr(_csv, "BLOCK", 2**17)
    num = 200_000
    times = (np.arange(num) * 1e-3).tolist()
    path = written(tmp_path, HEADER + "".join(f"{t:.3f},{t:.6f},{-t:.6f}\n" for t in times))
    tracemalloc.start()
    try:
        made = read_csv(path, channels=["angle"], inputs=["force"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.2 * 3 * 8 * num
    assert made.num_samples == num and made.times[-1] == 199.999


# Data frames.


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


# Doubts.

MANY = np.arange(101.0)
WAVE = np.sin(MANY)


@pytest.mark.parametrize(
    "times, words",
    [
        (MANY, 'record "r": times look like milliseconds: median step 1.* multiply them by 1e-3'),
        (10 * MANY, "times look like milliseconds: median step 10"),
        (1e4 * MANY, "times look like microseconds: median step 10000.*by 1e-6"),
        (1e6 * MANY, "times look like nanoseconds: median step 1e.06.*by 1e-9"),
        (1.7e9 + 0.01 * MANY, "times look like seconds since 1970: they begin at 17000.*Subtract"),
        (1.7e12 + 10 * MANY, r"look like milliseconds.*begin at 1.7e\+12: subtract the first too"),
    ],
)
def test_doubtful_times(times, words):
    with pytest.warns(DataWarning, match=words) as caught:
        record(times, {"a": WAVE}, name="r")
    assert len(caught) == 1


def test_doubtful_angles():
    with pytest.warns(DataWarning, match='channel "a" looks like degrees: .* reaches 90.*deg2rad'):
        record(0.01 * MANY, {"a": 90 * WAVE / WAVE.max()}, units={"a": "rad"})
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
    record(MANY[:100], {"a": WAVE[:100]})
    record(0.5 * MANY, {"a": 20 * WAVE / np.abs(WAVE).max()}, units={"a": "rad"})
    record(0.5 * MANY, {"wheel": 10 * MANY}, units={"wheel": "rad"})
    record(0.5 * MANY, {"a": 90 * WAVE}, units={"a": "deg"})


def test_doubts_can_be_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        record(10 * MANY, {"a": 0 * MANY})
