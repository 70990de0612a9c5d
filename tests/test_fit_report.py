"""Reports of a fit: what they say is what was found, and nothing else gets in."""

import base64
import dataclasses
import json
import math
import re
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest

from findings import estimates, findings, profile, trial
from jaxspark.fit._findings import Combination, Estimate, Findings
from jaxspark.fit._report import (
    figures,
    from_json,
    ReportError,
    to_html,
    to_json,
    to_text,
    write_report,
)
from jaxspark.fit._report._digits import interval, number, percent, rounded, seconds, whole
from jaxspark.fit._report._thin import thin
from jaxspark.fit._report._verdict import verdict


EVIL = "<script>alert(1)</script>"
EMPTY_ELEMENTS = {"meta", "input", "br", "img", "link", "hr"}


@pytest.fixture(scope="module")
def page():
    return to_html(findings())


class Elements(HTMLParser):
    """Every element, its attributes and the text inside; that all are closed is checked."""

    def __init__(self, text):
        super().__init__()
        self.all, self._open = [], []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs), []))
        if tag not in EMPTY_ELEMENTS:
            self._open.append(self.all[-1])

    def handle_startendtag(self, tag, attrs):
        self.all.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for element in self._open:
            element[2].append(data)

    def texts(self, tag, **attributes):
        return [
            "".join(text)
            for name, given, text in self.all
            if name == tag and attributes.items() <= given.items()
        ]


def rows(page):
    """The cells of each row of each table."""
    found = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL) for row in found]


@pytest.mark.parametrize(
    "value, error, expected",
    [
        (0.23417, 0.0031, ("0.2342", "0.0031")),
        (1.23456, 0.0123, ("1.235", "0.012")),
        (1.0, 0.0996, ("1.00", "0.10")),
        (-1.23456, 1.0, ("-1.2", "1.0")),
        (163.27, 19.2, ("163", "19")),
        (123456.0, 789.0, ("123460", "790")),
        (1.2, 345.0, ("0", "340")),
        (5.0, 2.8e-17, ("5", "2.8e-17")),
        (-0.001, 0.5, ("0.00", "0.50")),
        (2.413e-5, 8.7e-6, ("2.41e-5", "8.7e-6")),
        (-1.23456e9, 2.5e5, ("-1.23456e9", "2.5e5")),
        (1e-12, 3e-8, ("0", "3.0e-8")),
        (0.0, 0.02, ("0.000", "0.020")),
        (0.4, math.nan, ("0.4", "-")),
        (1 / 3, 0.0, ("0.333333", "-")),
        (math.nan, 1.0, ("-", "-")),
    ],
)
def test_digits_follow_the_error(value, error, expected):
    assert rounded(value, error) == expected


def test_numbers():
    assert number(1234567.0) == "1.235e6"
    assert number(0.1) == "0.1"
    assert number(99.999, 3) == "100"
    assert number(999999.9, 3) == "1e6"
    assert number(0.00012349) == "0.0001235"
    assert number(-3e-13, 2) == "-3e-13"
    assert number(-math.inf) == "-inf"
    assert interval(0.2281, 0.2402, 0.0031) == "[0.2281, 0.2402]"
    assert interval(-math.inf, 4.0, 0.5) == "[-inf, 4.00]"
    assert interval(math.nan, math.nan, 1.0) == "-"
    assert interval(1.0, 1.4, math.nan) == "[1.00, 1.40]"
    assert [percent(ratio) for ratio in (0.013, 0.999, 3.6, 36.0, math.nan, math.inf)] == [
        "1.3 %", "100 %", "360 %", "> 1000 %", "-", "inf",
    ]  # fmt: skip
    assert (whole(9999), whole(1234567)) == ("9999", "1\u202f234\u202f567")
    assert (seconds(48.2), seconds(252.0)) == ("48.2 s", "4 min 12 s")


def same(left, right):
    """Whether two trees of dataclasses are the same, to the last bit."""
    if dataclasses.is_dataclass(left):
        return type(left) is type(right) and all(
            same(getattr(left, part.name), getattr(right, part.name))
            for part in dataclasses.fields(left)
        )
    if isinstance(left, np.ndarray):
        return left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return np.float64(left).tobytes() == np.float64(right).tobytes()
    return type(left) is type(right) and left == right


def test_json_loses_nothing():
    odd = Combination(np.inf, np.array([1 / 3, np.nan, -np.inf, 5e-324, -0.0]), "a * b^-1")
    without = dataclasses.replace(trial("no points", 0.5, count=20), points=None)
    given = findings(
        trials=(trial("in space", 0.5, count=30, missing=3, dim=3), without),
        combinations=(odd,),
        worst_residual=float("nan"),
        loss=(0.1 + 0.2, np.inf, -np.inf),
        title='“Quoted” <&> \u2028 "x"\n',
    )
    assert same(from_json(to_json(given)), given)


def empty():
    return Findings(
        title="Nothing", estimates=(), initial_states=(), correlation=np.zeros((0, 0)),
        combinations=(), unidentifiable=(), level=0.95, trials=(), loss=(), converged=False,
        message="", worst_residual=math.nan, seconds=0.0, versions={},
    )  # fmt: skip


def test_json_is_strict():
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    tree = json.loads(to_json(findings()), parse_constant=refuse)
    assert tree["schema"] == 1
    assert tree["estimates"][3]["error"] == "NaN"
    assert tree["estimates"][5]["low"] == "-Infinity"
    assert tree["trials"][0]["points"][0][1] == findings().trials[0].points[0, 1].tolist()
    assert same(from_json(to_json(empty())), empty())


def test_json_that_cannot_be_read():
    short = findings(trials=(trial("short", 0.5, count=10), trial("other", 0.5, count=10)))
    tree = json.loads(to_json(short))
    with pytest.raises(ReportError, match="not JSON: line 1"):
        from_json("{")
    with pytest.raises(ReportError, match='"schema" is missing'):
        from_json("[]")
    with pytest.raises(ReportError, match="schema 2; this version reads schema 1"):
        from_json(json.dumps({**tree, "schema": 2}))
    tree["trials"][1]["channels"][0].pop("sigma")
    with pytest.raises(ReportError, match=r"findings\.trials\[1\]\.channels\[0\]\.sigma is mis"):
        from_json(json.dumps(tree))
    tree = json.loads(to_json(short))
    tree["estimates"][2]["value"] = "large"
    with pytest.raises(ReportError, match=r"estimates\[2\]\.value has a value of the wrong kind"):
        from_json(json.dumps(tree))
    tree = {key: part for key, part in json.loads(to_json(short)).items() if key != "warnings"}
    assert from_json(json.dumps({**tree, "later": 1})).warnings == ()


def test_page_stands_alone(page):
    elements = Elements(page)
    for tag, attributes, _ in elements.all:
        assert tag not in {"link", "iframe", "object", "embed"}
        for name in ("src", "href", "xlink:href", "srcset", "action", "poster", "data"):
            link = attributes.get(name)
            assert link is None or link.startswith(("#", "data:")), (tag, link)
    assert "http://" not in page and "https://" not in page
    assert "@import" not in page and not re.search(r"url\((?!#)", page)
    identifiers = [given["id"] for _, given, _ in elements.all if "id" in given]
    assert len(identifiers) == len(set(identifiers))
    targets = {given["href"] for tag, given, _ in elements.all if tag in ("a", "use")}
    assert {target[1:] for target in targets} <= set(identifiers)
    assert set(re.findall(r"url\(#([^)]*)\)", page)) <= set(identifiers)


def test_page_can_be_read_aloud(page):
    elements = Elements(page).all
    assert all(given.get("scope") in ("row", "col") for tag, given, _ in elements if tag == "th")
    pictures = [given for tag, given, _ in elements if tag in ("svg", "canvas")]
    assert len(pictures) == 8
    assert all(given["role"] == "img" and given["aria-label"] for given in pictures)


def test_same_findings_same_page(page):
    assert to_html(findings()) == page


def test_same_findings_from_json_same_page():
    given = findings(trials=(trial("short", 0.5, count=50),), profiles=())
    assert to_html(from_json(to_json(given))) == to_html(given)


def test_page_tells_what_was_found(page):
    table = [row for row in rows(page) if row[0] == "crank mass"]
    kg = '<span class="unit">kg</span>'
    assert table[0][1:] == ["0.2342", "0.0031", "1.3 %", "[0.2281, 0.2402]", "0.2", kg, ""]
    assert table[1][1:] == ["[0.2283, 0.2405]", "[0.2281, 0.2402]", kg, ""]
    text = "".join(Elements(page).texts("body"))
    assert "2 of 7 free parameters are not identifiable" in text
    assert "3 samples of motor torque are at the limit" in text
    assert "3.1 × 10<sup>−13</sup>" in page
    assert "numpy" in text and "2.4.6" in text


def flagged(page, words):
    return [row[0] for row in rows(page) if any(f">{words}</span>" in cell for cell in row)]


def test_flags(page):
    assert flagged(page, "not identifiable") == ["motor constant", "amplifier gain"]
    assert flagged(page, "held") == ["rocker mass"]
    assert flagged(page, "not white") == ["fast turns"]
    assert flagged(page, "open on both sides") == ["motor constant"]
    assert "motor constant · amplifier gain<sup>−1</sup>" in page
    known = tuple(part for part in estimates() if part.identifiable)
    other = to_html(findings(estimates=known, unidentifiable=(), trials=(), combinations=()))
    assert "not identifiable</span>" not in other
    assert "The data tell all free parameters apart." in other


def test_user_text_is_text():
    attack = EVIL + '"\' onload="alert(2) $x^{ ]]> --> {{options}}'
    evil = trial(attack, 0.5, count=50)
    channels = tuple(dataclasses.replace(part, name=attack, unit=attack) for part in evil.channels)
    bad = Estimate(attack, attack, 1.0, 1.0, 0.1, 0.8, 1.2)
    given = findings(
        title=attack, estimates=(bad,), initial_states=(bad,), unidentifiable=(attack,),
        trials=(dataclasses.replace(evil, name=attack, channels=channels),), message=attack,
        warnings=(attack,), versions={attack: attack}, correlation=np.eye(1), converged=False,
        combinations=(Combination(0.1, np.ones(1), attack),),
        profiles=(dataclasses.replace(profile("x", "y", 1.0, 0.1), name=attack, unit=attack),),
    )  # fmt: skip
    page = to_html(given)
    assert EVIL not in page
    elements = Elements(page)
    assert len(elements.texts("script")) == 3
    assert not any("onload" in given for _, given, _ in elements.all)
    assert elements.texts("h1") == [attack]
    data = json.loads(elements.texts("script", id="mechanism-data")[0])
    assert data["trials"][0]["name"] == attack
    assert same(from_json(to_json(given)), given)
    assert EVIL in to_text(given)


def test_long_records_make_small_pages():
    trials = tuple(
        trial(f"trial {at}", 3.0, count=100_000, seed=at, held_out=at == 2) for at in range(3)
    )
    assert len(to_html(findings(trials=trials)).encode()) < 3e6


def test_thinning_keeps_extremes():
    values = np.random.default_rng(0).normal(size=100_000)
    kept = thin(values, 1000)
    assert kept.size <= 1000
    assert {0, values.size - 1, int(values.argmin()), int(values.argmax())} <= set(kept.tolist())
    assert np.all(np.diff(kept) > 0)
    np.testing.assert_array_equal(thin(values[:1000], 1000), np.arange(1000))


def drawn(axes, label):
    line = next(line for line in axes.lines if line.get_label() == label)
    return line.get_xydata()


def test_figures_of_fits_show_what_was_given():
    given = findings()
    made = figures(given)
    for at, record in enumerate(given.trials, 1):
        axes = made[f"fit_{at}"].axes
        assert len(axes) == 2 * len(record.channels)
        for channel, fit, left in zip(record.channels, axes[::2], axes[1::2]):
            known = np.isfinite(channel.measured)
            residual = (channel.measured - channel.predicted)[known]
            times = record.times[known]
            expected = (
                (fit, "measured", times, channel.measured[known]),
                (fit, "predicted", record.times, channel.predicted),
                (left, "residual", times, residual),
            )
            for panel, label, x, y in expected:
                np.testing.assert_array_equal(drawn(panel, label), np.stack([x, y], axis=1))
            assert fit.get_title(loc="left") == channel.name


def test_other_figures_show_what_was_given():
    given = findings()
    made = figures(given)
    assert set(made) == {
        "fit_1", "fit_2", "fit_3", "correlation", "profiles", "autocorrelation", "loss",
    }  # fmt: skip
    np.testing.assert_array_equal(
        made["correlation"].axes[0].images[0].get_array(), given.correlation
    )
    for panel, expected in zip(made["profiles"].axes, given.profiles):
        np.testing.assert_array_equal(panel.lines[0].get_xdata(), expected.grid)
        np.testing.assert_array_equal(panel.lines[0].get_ydata(), expected.deviance)
        assert panel.lines[1].get_ydata()[0] == expected.threshold
    np.testing.assert_array_equal(made["loss"].axes[0].lines[0].get_ydata(), given.loss)
    channels = [channel for record in given.trials for channel in record.channels]
    for panel, channel in zip(made["autocorrelation"].axes, channels, strict=True):
        tops = [segment[1, 1] for segment in panel.collections[0].get_segments()]
        np.testing.assert_array_equal(tops, channel.whiteness.autocorrelation[1:])
        band = panel.patches[0].get_extents().transformed(panel.transData.inverted())
        assert band.y1 == pytest.approx(channel.whiteness.bound)


def test_figures_leave_settings_alone():
    before = dict(matplotlib.rcParams)
    figures(findings(trials=()))
    assert dict(matplotlib.rcParams) == before


def test_animation_moves_as_the_mechanism():
    given = findings(trials=(trial("flat", 0.5), trial("in space", 0.7, count=90, dim=3)))
    text = Elements(to_html(given)).texts("script", id="mechanism-data")[0]
    data = json.loads(text)
    assert data["lines"] == [list(line) for line in given.lines]
    for record, found in zip(given.trials, data["trials"], strict=True):
        times = np.array(found["times"])
        assert times.size == min(400, record.times.size)
        assert (times[0], times[-1]) == (0, 10)
        shape = (times.size, found["points"], found["dim"])
        points = np.array(found["origin"]) + found["scale"] * np.array(
            found["numbers"], dtype=np.float64
        ).reshape(shape)
        at = np.abs(record.times[:, None] - times[None, :]).argmin(axis=0)
        np.testing.assert_allclose(points, record.points[at], atol=2e-4 * np.ptp(record.points))


def test_animation_without_some_points():
    record = trial("lost", 0.5, count=50)
    record.points[7, 2] = np.nan
    elements = Elements(to_html(findings(trials=(record,), profiles=(), loss=())))
    numbers = json.loads(elements.texts("script", id="mechanism-data")[0])["trials"][0]["numbers"]
    assert [at for at, part in enumerate(numbers) if part is None] == [7 * 10 + 4, 7 * 10 + 5]
    without = dataclasses.replace(record, points=None)
    assert "<canvas" not in to_html(findings(trials=(without,), profiles=(), loss=()))


def test_verdict():
    assert verdict(findings()).startswith(
        "The fit converged; 2 of 7 free parameters are not identifiable; "
        "residuals of 3 of 4 fitted channels are white; the error on the held-out trial is "
    )
    fitted = tuple(record for record in findings().trials if not record.held_out)
    known = tuple(part for part in estimates() if part.identifiable)
    assert verdict(
        findings(trials=fitted[:1], estimates=known, unidentifiable=(), converged=False)
    ) == (
        "The fit did not converge (the relative change of the loss is below 1e-10); all 5 free "
        "parameters are identifiable; residuals are white in every fitted channel; no trial was "
        "held out to test the prediction."
    )
    failed = trial("new", 0.5, held_out=True, count=100)
    failed.channels[0].predicted[40:] = np.inf
    assert "the prediction of the held-out trial failed" in verdict(findings(trials=(failed,)))


def test_held_out_error_is_rms_over_noise():
    record = trial("new", 0.5, held_out=True, count=400)
    first, second = record.channels
    first = dataclasses.replace(first, measured=first.predicted + 3 * first.sigma)
    second = dataclasses.replace(second, measured=second.predicted - second.sigma)
    record = dataclasses.replace(record, channels=(first, second))
    # The mean of 9 and 1 is 5.
    assert "held-out trial is 2.2 times the noise" in verdict(findings(trials=(record,)))


def test_text_is_aligned():
    lines = to_text(findings()).splitlines()
    assert lines[0] == "Four-bar test bench, 3 August"
    start = lines.index("Parameters") + 1
    table = lines[start : start + 9]
    assert table[1].split() == [
        "crank", "mass", "0.2342", "0.0031", "1.3", "%", "[0.2281,", "0.2402]", "0.2", "kg",
    ]  # fmt: skip
    ends = {line.index(cell) + len(cell) for line, cell in zip(table[1:3], ("0.2342 ", "0.482 "))}
    assert len(ends) == 1
    assert [line.split()[0] for line in table if line.endswith("  not identifiable")] == [
        "motor", "amplifier",
    ]  # fmt: skip
    assert [line.split()[0] for line in table if line.endswith("  held")] == ["rocker"]
    assert max(map(len, lines)) <= 100
    assert to_text(findings()).isascii()


def test_nothing_found_can_be_reported():
    assert set(figures(empty())) == set()
    Elements(to_html(empty()))
    assert "The fit did not converge (no reason was given); no parameter was free" in to_text(
        empty()
    )


def test_files(tmp_path):
    given = findings(trials=(trial("short", 0.5, count=50),), profiles=(), loss=())
    path = write_report(given, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "report.html"
    assert path.read_text(encoding="utf-8") == to_html(given)
    assert same(from_json((path.parent / "report.json").read_text(encoding="utf-8")), given)
    pictures = {file.stem: file.read_bytes() for file in path.parent.glob("*.png")}
    assert set(pictures) == set(figures(given))
    assert all(content.startswith(b"\x89PNG") for content in pictures.values())
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"file.*cannot be written: .+\."):
        write_report(given, tmp_path / "file")


def test_pictures_in_the_page_are_whole(page):
    pictures = re.findall(r"data:image/png;base64,([^\"]+)", page)
    assert pictures
    for picture in pictures:
        assert base64.b64decode(picture).startswith(b"\x89PNG")
