"""Files of comma-separated values: what is read, and what every kind of bad file is called."""

import tracemalloc

import numpy as np
import pytest

from jaxspark.fit import _csv
from jaxspark.fit._check import DataError
from jaxspark.fit._read import read_csv
from logs import assert_good, GOOD, HEADER, read, written


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
    "NaN": (HEADER + "0,1,1\n\n1,nan,2\n", 'log.csv, line 4: channel "angle" is nan.*missing to'),
    "infinite": (HEADER + "0,1,1\n1,-inf,2\n", 'line 3: channel "angle" is -inf, not a finite'),
    "NaN in an input": (HEADER + "0,1,nan\n1,2,2\n", 'line 2: input "force" is nan.*interpolate'),
    "NaN in time": (HEADER + "0,1,1\nnan,2,2\n", r'line 3: time \(column "time_s"\) is nan'),
    "empty": (HEADER + "0,1,1\n1,,2\n", 'line 3: the cell of channel "angle" is empty.*to "allow"'),
    "empty input": (HEADER + "0,1,1\n1,2,\n", 'line 3: the cell of input "force" is empty. Every'),
    "unsorted": (HEADER + "0,1,1\n\n2,2,2\n1,3,3\n", "line 5: time .* 2.0 back to 1.0.*`trial`"),
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
    "delimiter": (GOOD.replace(",", ";"), 'no column "time_s".*Or set delimiter to ";"'),
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
    both = read(
        tmp_path,
        "run,time_s,angle,rate\n1,0,1,2\n1,1,,4\n1,2,3,5\n2,0,,1\n2,1,,3\n",
        channels=["angle", "rate"], inputs=None, trial="run", missing="allow",
        units={"angle": "rad"},
    )  # fmt: skip
    assert [sorted(each.channels) for each in both] == [["angle", "rate"], ["rate"]]
    assert [each.units for each in both] == [{"angle": "rad", "rate": ""}, {"rate": ""}]
    np.testing.assert_array_equal(both[0].channels["angle"], [1, np.nan, 3])
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
