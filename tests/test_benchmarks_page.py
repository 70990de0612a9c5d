"""The page of the comparison: it has every solver and number, and says what it lacks."""

import dataclasses
import importlib.metadata
import json
import math
import re

import pytest

import chromium
from benchmarks._result import Result
from benchmarks.page import _machine, _run, chosen, from_json, page, Part, Record, to_html, to_json
from benchmarks.page._compared import sentence
from benchmarks.page._sections import Section, SECTIONS
from pages import Elements, rows


EVIL = "<script>alert(1)</script>"


def runs(problem, solver, factor):
    """Of a solver of order 8: at errors from 1e-3 to 1e-9."""
    return [
        Result(
            "work-precision", problem, solver, f"tolerance {error:.0e}",
            factor * (1e-3 / error) ** 0.125, error, 1e-14,
        )
        for error in (1e-3, 1e-5, 1e-7, 1e-9)
    ]  # fmt: skip


WORK = (
    *runs("pendulum", "jaxspark, Gauss(3)", 1e-3), *runs("pendulum", "IDA gglint", 2.5e-2),
    *runs("car axis", "jaxspark, Gauss(3)", 2e-3), *runs("car axis", EVIL, 1e-3),
)  # fmt: skip
BATCH = (
    Result("batch", "1024 pendulums", "jaxspark, RATTLE", "100 steps", 0.057, 3.21e-9, 4e-16,
           {"rate": 17912.0}),
    Result("batch", "1024 pendulums", "diffrax Dopri8", "tolerance 1e-09", 0.131, 8.12e-9,
           math.nan, {"rate": 7817.0}),
)  # fmt: skip
GRADIENT = (
    Result("gradient", "four-bar", "jaxspark, Gauss(2)", "200 steps", 0.00313, 2.7e-8, 1e-15,
           {"value_seconds": 0.00171, "first_call": 3.7, "memory": 12.3e6}),
    Result("gradient", "four-bar", "CasADi, adjoint", "tolerance 1e-08", 0.598, math.inf, math.nan,
           {"value_seconds": 0.0361}),
)  # fmt: skip
SCALING = tuple(
    Result("scaling", "planar chain", solver, "tolerance 1e-04", factor * n**power, 5e-5,
           extra={"bodies": float(n)})
    for solver, factor, power in (("jaxspark, DOP853", 1e-3, 1.1), ("IDA, sparse", 2e-3, 1.7))
    for n in (8, 32, 128)
)  # fmt: skip
LONG = (
    Result("long-time", "pendulum, 1000 s", "jaxspark, RATTLE", "20000 steps", 0.033, 8e-11, 1e-15),
    Result("long-time", "pendulum, 1000 s", "IDA gglint", "tolerance 1e-08", 3.0, 1e-4, 5e-9),
)
PARTS = tuple(
    Part(results[0].section, "complete", 12.0, results)
    for results in (WORK, BATCH, GRADIENT, SCALING, LONG)
)
RECORD = Record(
    "2030-01-02T03:04:05+00:00", "0123abcd", {"processor": "Abacus 3000", "memory": "8.0 GiB"},
    {"jaxspark": "9.8.7", "casadi": "6.5.4"}, ("solve_dae",), PARTS,
)  # fmt: skip


@pytest.fixture(scope="module")
def text():
    return to_html(RECORD)


def digits(cell):
    """The value of a cell of a table."""
    plain = re.sub(r"</?(b|span|sup)[^>]*>", "", cell.replace(" × 10<sup>", "e"))
    return float(plain.replace("−", "-").replace("∞", "inf").replace("–", "nan"))


def of_problem(text, part, problem):
    """The rows of its tables."""
    section = text.partition(f'<section id="{part.name}"')[2].partition("</section>")[0]
    return rows(section.partition(f"<h3>{problem}</h3>")[2].partition("<h3>")[0])


def test_every_result_is_in_a_table(text):
    scales = {"value_seconds": 1e3, "memory": 1e-6}
    for part in PARTS:
        for result in part.results:
            solver = result.solver.replace("<", "&lt;").replace(">", "&gt;")
            expected = [1e3 * result.seconds, result.error, result.residual]
            expected += [scales.get(name, 1) * value for name, value in result.extra.items()]
            expected = [value for value in expected if not math.isnan(value)]
            setting = re.sub("1e-0(.)", "10<sup>−\\1</sup>", result.setting)
            found = [
                [value for cell in cells if not math.isnan(value := digits(cell))]
                for name, words, *cells in of_problem(text, part, result.problem)
                if solver in name and f">{setting}<" in words
            ]
            values = pytest.approx(expected, rel=0.05)
            assert [row[: len(expected)] == values for row in found].count(True) == 1, result


def test_columns_without_numbers_are_left_out(text):
    heads = [row for row in rows(text) if row[0] == "solver" and row[-1] == "bodies"]
    assert heads == [["solver", "setting", "CPU ms", "error", "bodies"]]


def test_costs_are_those_at_given_errors(text):
    row = next(row for row in rows(text) if len(row) == 7 and "IDA gglint" in row[0])
    expected = [25 * 10 ** (0.25 * k) for k in range(4)]
    assert [digits(cell) for cell in row[1:5]] == pytest.approx(expected, rel=5e-3)
    ours = next(row for row in rows(text) if len(row) == 7 and "Gauss(3)" in row[0])
    assert all(cell.startswith("<b>") for cell in ours[1:5])
    assert not any("<b>" in cell for cell in row)


def test_sentences_say_who_is_faster():
    pendulum, car_axis = (
        sentence([result for result in WORK if result.problem == problem])
        for problem in ("pendulum", "car axis")
    )
    assert "jaxspark, Gauss(3) needs 3.16 ms" in pendulum
    assert "IDA gglint, 79.1 ms, 25 times as much" in pendulum
    assert "3.16 ms, 0.5 of that" in car_axis
    by_hand = sentence([*WORK[:8], *runs("pendulum", "Dopri8, reduced by hand", 2e-4)])
    assert (
        "IDA gglint, 79.1 ms, 25 times as much; Dopri8, reduced by hand, 0.632 ms, 0.2" in by_hand
    )
    assert sentence(runs("top", "IDA", 1.0)).endswith("none of ours comes.")
    assert sentence(runs("top", "jaxspark, x", 1.0)).endswith("no other solver reaches it.")


def test_pictures_have_every_solver(text):
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(pictures) == len(PARTS)
    for picture, part in zip(pictures, PARTS):
        labels = " ".join(re.findall(r"<text[^>]*>(.*?)</text>", picture, re.DOTALL))
        for solver in {result.solver for result in part.results}:
            assert solver.replace("<", "&lt;").replace(">", "&gt;") in labels


def test_page_stands_alone(text):
    elements = Elements(text)
    assert "script" not in {tag for tag, _, _ in elements.all}
    assert "http://" not in text and "https://" not in text
    identifiers = [given["id"] for _, given, _ in elements.all if "id" in given]
    assert len(identifiers) == len(set(identifiers))


def test_page_says_where_it_was_measured(text):
    for words in ("Abacus 3000", "8.0 GiB", "9.8.7", "6.5.4", "2030-01-02", "0123abcd"):
        assert words in text


def test_missing_peers_are_told(text):
    aside = Elements(text).texts("aside")
    assert len(aside) == 1 and "solve_dae" in aside[0] and "Not installed" in aside[0]
    assert not Elements(to_html(dataclasses.replace(RECORD, missing=(), parts=()))).texts("aside")


def test_missing_peers_are_found(monkeypatch):
    def version(name):
        if name in ("casadi", "solve_dae"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert {"casadi", "solve_dae"} == set(_machine.missing())
    found = _machine.versions()
    assert "casadi" not in found and {"jaxspark", "jax", "diffrax", "numba"} <= set(found)


def test_json_keeps_every_number():
    text = to_json(RECORD)
    json.loads(text, parse_constant=pytest.fail)
    again = from_json(text)
    assert to_json(again) == text
    assert again.parts[2].results[1].error == math.inf
    assert math.isnan(again.parts[2].results[1].residual)
    assert dataclasses.replace(again, parts=()) == dataclasses.replace(RECORD, parts=())
    assert again.parts[0] == RECORD.parts[0] and again.parts[3].state == "complete"


def test_json_of_another_schema():
    with pytest.raises(ValueError, match="schema 7.*python -m benchmarks"):
        from_json(to_json(RECORD).replace('"schema": 1', '"schema": 7'))


def test_unknown_section():
    with pytest.raises(
        SystemExit, match="no section 'bach'; .*work-precision, kinds, batch, gradient"
    ):
        chosen(["batch", "bach"])
    assert list(chosen([])) == list(SECTIONS)
    assert list(chosen(["scaling", "batch"])) == ["batch", "scaling"]


def fake(monkeypatch, collects):
    """Sections that measure nothing."""
    given = {
        name: Section(SECTIONS[name].title, "Words.", collect, SECTIONS[name].plot)
        for name, collect in collects.items()
    }
    monkeypatch.setattr(_run, "chosen", lambda names: given)


def failing(error):
    def collect(tiny):
        yield BATCH[0]
        raise error

    return collect


def test_failed_section_is_told_and_others_are_measured(tmp_path, monkeypatch):
    error = RuntimeError("IDA gave up")
    fake(monkeypatch, {"batch": failing(error), "long-time": lambda tiny: iter(LONG)})
    assert page([], tmp_path / "new") is False
    record = from_json((tmp_path / "new" / "results.json").read_text())
    assert [part.state for part in record.parts] == ["RuntimeError: IDA gave up", "complete"]
    assert [len(part.results) for part in record.parts] == [1, 2]
    text = (tmp_path / "new" / "page.html").read_text()
    assert any("IDA gave up" in aside for aside in Elements(text).texts("aside"))


def test_interruption_leaves_what_was_measured(tmp_path, monkeypatch):
    given = {"long-time": lambda tiny: iter(LONG), "batch": failing(KeyboardInterrupt())}
    fake(monkeypatch, {**given, "gradient": lambda tiny: pytest.fail("it goes on")})
    with pytest.raises(KeyboardInterrupt):
        page([], tmp_path)
    record = from_json((tmp_path / "results.json").read_text())
    assert [part.state for part in record.parts] == ["complete", "interrupted"]
    assert [len(part.results) for part in record.parts] == [2, 1]
    assert record.versions["jaxspark"] and record.machine["processor"]


@pytest.mark.skipif(chromium.found() is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [400, 1100])
def test_nothing_is_cut_off(tmp_path, text, width):
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    with chromium.browser(chromium.found()) as browser:
        browser.open(path, width=width)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.problems == []
