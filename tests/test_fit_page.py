"""The page of a report: it says what was found, and nothing else gets in."""

import base64
import dataclasses
import json
import re

import numpy as np
import pytest

from findings import estimates, findings, profile, trial
from jaxspark.fit._findings import Combination, Estimate
from jaxspark.fit._report import (
    from_json,
    to_html,
    to_json,
    to_text,
)
from pages import Elements, flagged, rows, same


EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page():
    return to_html(findings())


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


def test_pictures_in_the_page_are_whole(page):
    pictures = re.findall(r"data:image/png;base64,([^\"]+)", page)
    assert pictures
    for picture in pictures:
        assert base64.b64decode(picture).startswith(b"\x89PNG")
