"""The report of a fit in a browser, where there is one."""

import dataclasses
import time

import pytest

import chromium
from findings import findings, trial
from jaxspark.fit._report import to_html


pytestmark = pytest.mark.skipif(chromium.found() is None, reason="there is no Chromium")
ATTACK = "<img src=x onerror='window.broken = true'></script><script>window.broken = true</script>"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    evil = dataclasses.replace(trial("in space", 0.7, count=300, dim=3), name=ATTACK)
    given = findings(trials=(*findings().trials, evil), title=ATTACK)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(to_html(given), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page():
    with chromium.browser(chromium.found()) as opened:
        yield opened
        assert opened.problems == []


def until(page, condition):
    deadline = time.monotonic() + 10
    while not page.run(condition):
        assert time.monotonic() < deadline, condition
        time.sleep(0.05)


def ink(page):
    """What is on the canvas."""
    return page.run("document.querySelector('canvas').toDataURL()")


def test_user_text_is_not_run(page, report):
    page.open(report)
    assert page.run("document.querySelector('h1').textContent") == ATTACK
    assert page.run("document.title") == ATTACK
    assert page.run("window.broken") is None
    assert page.run("document.querySelectorAll('img').length") == 0


def test_animation_plays(page, report):
    page.open(report)
    first = ink(page)
    assert len(first) > 10_000
    page.run("document.querySelector('.play').click()")
    assert page.run("document.querySelector('.play').textContent") == "Pause"
    until(page, "Number(document.querySelector('.frame').value) > 20")
    page.run("document.querySelector('.play').click()")
    frame = page.run("document.querySelector('.frame').value")
    assert ink(page) != first
    time.sleep(0.2)
    assert page.run("document.querySelector('.frame').value") == frame


def test_slider_moves_the_mechanism(page, report):
    page.open(report)
    first = ink(page)
    page.run(
        "(() => { const s = document.querySelector('.frame'); s.value = 399;"
        "s.dispatchEvent(new Event('input')); })()"
    )
    assert page.run("document.querySelector('.time').textContent") == "10.00 s"
    assert ink(page) != first


def test_mechanisms_in_space_turn(page, report):
    page.open(report)
    page.run(
        "(() => { const s = document.querySelector('.trial'); s.value = 3;"
        "s.dispatchEvent(new Event('change')); scrollTo({top: 0, behavior: 'instant'});"
        "document.querySelector('canvas').scrollIntoView({block: 'center', behavior: 'instant'});"
        "})()"
    )
    first = ink(page)
    x, y = page.run(
        "(() => { const b = document.querySelector('canvas').getBoundingClientRect();"
        "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    for kind, shift in (("mousePressed", 0), ("mouseMoved", 80), ("mouseReleased", 80)):
        page(
            "Input.dispatchMouseEvent",
            type=kind, x=x + shift, y=y, button="left", buttons=1, clickCount=1,
        )  # fmt: skip
    assert ink(page) != first
    page.run("document.querySelector('.reset').click()")
    assert ink(page) == first


def test_dark_page(page, report):
    shades = []
    for dark in (False, True):
        page.open(report, dark=dark)
        color = page.run("getComputedStyle(document.body).backgroundColor")
        shades.append(sum(int(part) for part in color[4:-1].split(",")) / 3)
    assert shades[0] > 240 and shades[1] < 40


@pytest.mark.parametrize("width", [400, 1100])
def test_nothing_is_cut_off(page, report, width):
    page.open(report, width=width)
    assert page.run("document.documentElement.scrollWidth") <= width


def test_paper_shows_what_is_folded(page, report):
    page.open(report)
    folded = "document.querySelectorAll('details:not([open])').length"
    assert page.run(folded) == 1
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(folded) == 0
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run(folded) == 1
