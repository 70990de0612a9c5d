"""Reports of a fit: what they say is what was found."""

import dataclasses
import json
import math

import numpy as np
import pytest

from findings import estimates, findings, profile, trial
from jaxspark.fit._findings import Combination, Estimate, Whiteness
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
from jaxspark.fit._report._labels import labelled
from jaxspark.fit._report._next import next_steps
from jaxspark.fit._report._verdict import checks, ending, verdict
from jaxspark.fit._score import Criteria, HoldOutScore
from pages import Elements, empty, rows, same


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


def test_no_motion():
    flat = findings(flat=True)
    said = "the model explains no more than constants do"
    assert f"not identifiable; {said}; residuals of" in verdict(flat)
    (check,) = (check for check in checks(flat) if check.title == "Motion")
    assert (check.state, check.words) == ("bad", said)
    assert "Motion" not in {check.title for check in checks(findings())}
    assert "explains no more than constants" in to_html(flat)


def test_errors_for_correlated_residuals():
    assert "correlated" not in to_text(findings()).split("Fit")[0]
    known, other, *rest = estimates()
    rest[3] = dataclasses.replace(rest[3], correlated_error=0.02)
    given = findings(estimates=(dataclasses.replace(known, correlated_error=0.0087), other, *rest))
    lines = to_text(given).splitlines()
    at = lines.index("Parameters") + 1
    assert lines[at].split()[:5] == ["parameter", "value", "error", "if", "correlated"]
    end = lines[at].index("if correlated") + len("if correlated")
    column = [line[:end].split()[-1] for line in lines[at + 1 : at + 9]]
    # Neither what is held nor what the data do not tell has an error.
    assert column == ["0.0087"] + 7 * ["-"]
    page = to_html(given)
    assert "± if correlated" in page and "± if correlated" not in to_html(findings())
    crank, coupler = (
        next(row for row in rows(page) if row[0] == name) for name in ("crank mass", "coupler mass")
    )
    assert crank[1:5] == ["0.2342", "0.0031", "0.0087", "1.3 %"]
    assert coupler[1:5] == ["0.482", "0.013", "–", "2.6 %"]


def test_why_whiteness_was_not_tested():
    given = trial("uneven", 0.5, count=50)
    first, second = given.channels
    note = "not tested: the samples are not equidistant"
    untested = [
        dataclasses.replace(each, whiteness=Whiteness(np.full(3, np.nan), np.nan, np.nan, why))
        for each, why in ((first, note), (second, ""))
    ]
    page = to_html(findings(trials=(dataclasses.replace(given, channels=tuple(untested)),)))
    flags = [flag for flag in Elements(page).texts("span") if flag.startswith("not tested")]
    assert flags == [note, "not tested"]


def test_figures_to_compare_models():
    given = findings(
        criteria=Criteria(-10.0, -1234567.84, 26.05), hold_out=HoldOutScore(9, 1.1, -8.1, -0.9)
    )
    text, page = to_text(given), to_html(given)
    assert "  AIC -1234567.8, BIC 26.1: smaller is better" in text
    assert "  Log density of a held-out sample, in the mean: -0.9. Larger is better." in text
    assert "AIC −1234567.8, BIC 26.1" in page and "in the mean: −0.9." in page
    assert "AIC" not in to_text(findings()) and "Log density" not in to_html(findings())


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


def test_how_the_fit_ended():
    given = findings(message="Converged after 3 iterations.")
    assert ending(given) == "Converged after 3 iterations."
    assert ending(findings()) == "Converged. the relative change of the loss is below 1e-10"
    stuck = findings(message="No step makes them smaller.", converged=False)
    assert ending(stuck) == "Not converged. No step makes them smaller."
    assert ending(findings(message="")) == "Converged."
    assert "  Converged after 3 iterations.\n" in to_text(given)
    assert "<p>Converged after 3 iterations.</p>" in to_html(given)


def test_what_belongs_to_one_trial_has_its_number_and_name():
    own = Estimate("offset (trial 1)", "rad", 0.0, 0.1, 0.01, 0.08, 0.12)
    start = Estimate("y[0] (slow turns)", "", 0.0, 0.1, 0.01, 0.08, 0.12)
    other = Estimate("gain (old)", "", 0.0, 0.1, 0.01, 0.08, 0.12)
    of = dataclasses.replace(profile("x", "rad", 0.1, 0.01), name=own.name)
    given = findings(estimates=(own, other), initial_states=(start,), profiles=(of,))
    shown = labelled(given)
    assert [each.name for each in shown.estimates] == ["offset (trial 1, fast turns)", "gain (old)"]
    assert shown.initial_states[0].name == "y[0] (trial 0, slow turns)"
    assert shown.profiles[0].name == "offset (trial 1, fast turns)"
    for text in (to_text(given), to_html(given)):
        assert "offset (trial 1, fast turns)" in text and "y[0] (trial 0, slow turns)" in text
    # Machines read names as the fit has them.
    assert same(from_json(to_json(given)), given)
    single = findings(estimates=(own,), initial_states=(start,), trials=given.trials[:1])
    assert labelled(single) is single


def test_what_to_do_next():
    found = findings()
    assert not any("converged" in text for text in next_steps(found))
    first = found.estimates[0]
    worse = dataclasses.replace(
        found,
        converged=False,
        unidentifiable=("a / b",),
        estimates=(dataclasses.replace(first, at_bound="lower"), *found.estimates[1:]),
        trials=tuple(trial for trial in found.trials if not trial.held_out),
    )
    steps = next_steps(worse)
    text = " ".join(steps)
    for words in ("jaxspark check", "fit.base_parameters", f"{first.name} ended at a bound"):
        assert words in text
    assert "fit.cross_validate" in text
    for page in (to_text(worse), to_html(worse)):
        assert "What to do next" in page and "fit.base_parameters" in page
