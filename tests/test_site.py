"""The site's code runs, its examples hold, and its pages know every message of the library."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

import jax
import matplotlib.pyplot as plt
import pytest

import fragments
from helpers import thorough


ROOT = pathlib.Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

import error_coverage  # noqa: E402
import reference_pages  # noqa: E402


# Made when the site is built; or without code but for a line or two that a reader completes.
# The tour has tests of its own.
APART = {"_build", "learn", "mechanisms", "reference", "errors", "errors.md", "tour.md"}
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if not APART & set(path.relative_to(DOCS).parts) and "```python" in path.read_text("utf-8")
]
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))
SCRIPTS = sorted((DOCS / "gallery").glob("plot_*.py"))
# What the others need is tested by these; each compiles a program of its own.
ALWAYS = ("start", "jaxspark.Event", "jaxspark.fit.record")


def cases(paths):
    return [
        pytest.param(path, id=path.stem) if path.stem in ALWAYS else thorough(path, id=path.stem)
        for path in paths
    ]


# What a user has, unless told otherwise.
AS_USERS_HAVE_IT = {
    "jax_enable_x64": False,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
}


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """What a page writes or sets goes with it."""
    monkeypatch.chdir(tmp_path)
    before = {name: jax.config.values[name] for name in AS_USERS_HAVE_IT}
    for name, value in AS_USERS_HAVE_IT.items():
        jax.config.update(name, value)
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    plt.close("all")


def run(code, name):
    names = {"__name__": name}
    exec(compile(code, name, "exec"), names)
    return names


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("path", cases(PAGES))
def test_code_of_a_page_runs(path):
    blocks = re.findall(
        r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    run("\n".join(blocks), path.stem)


FRAGMENTS = [
    path
    for path in [DOCS / "errors.md", *sorted((DOCS / "errors").glob("*.md"))]
    if "```python" in path.read_text("utf-8")
]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("path", [thorough(path, id=path.stem) for path in FRAGMENTS])
def test_lines_on_errors_run(path):
    """Each for itself, with what such lines speak of."""
    jax.config.update("jax_enable_x64", True)
    fragments.write_files(fragments.names()["frame"])
    blocks = re.findall(
        r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    for block in blocks:
        exec(compile(block, path.stem, "exec"), fragments.names_for(block))


def test_no_code_is_left_out():
    """All pages with code are among those whose code runs."""
    every = {path for path in DOCS.rglob("*.md") if "```python" in path.read_text("utf-8")}
    folders = {"_build", "learn", "mechanisms", "reference"}
    made = {path for path in every if folders & {*path.relative_to(DOCS).parts}}
    assert every - made == {*PAGES, *FRAGMENTS, DOCS / "tour.md"}


SHOWS = """
import runpy, sys
names = runpy.run_path(sys.argv[1])
from jaxspark.pictures import Animation
assert any(isinstance(value, Animation) for value in names.values())
"""


def as_a_user(arguments, folder):
    """In a process of its own, without the checks of these tests, in an empty folder."""
    command = [sys.executable, "-W", "error", *arguments]
    env = os.environ | {"MPLBACKEND": "agg"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("path", cases(EXAMPLES))
def test_examples_of_the_reference(path, tmp_path):
    as_a_user([str(path)], tmp_path)


@pytest.mark.parametrize("path", cases(SCRIPTS))
def test_scripts_of_the_gallery(path, tmp_path):
    as_a_user(["-c", SHOWS, str(path)], tmp_path)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_short(path):
    code = path.read_text("utf-8").split('"""', 2)[2]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 40


def test_every_public_name_has_an_example():
    pages = reference_pages.pages()
    assert len(pages) > 150
    wanted = {reference_pages.stem(name, value) for name, value in pages.items()}
    assert {path.stem for path in EXAMPLES} == wanted
    assert len({name.lower() for name in wanted}) == len(wanted)


@pytest.mark.parametrize("room", reference_pages.GROUPS)
def test_every_name_is_in_one_group(room):
    grouped = [name for names in reference_pages.GROUPS[room].values() for name in names]
    assert sorted(grouped) == sorted(reference_pages.public(room))


def test_every_message_has_a_section():
    assert not error_coverage.missing(ROOT / "jaxspark", DOCS / "errors")


def test_every_recipe_is_listed():
    listed = (DOCS / "howto" / "index.md").read_text("utf-8").split()
    recipes = {path.stem for path in (DOCS / "howto").glob("*.md")} - {"index"}
    assert len(recipes) >= 30
    assert recipes <= set(listed)


def test_one_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    (version,) = re.findall(r"^version: (.*)$", citation, re.MULTILINE)
    assert version == importlib.metadata.version("jaxspark")
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## \[(.*?)\]", changelog, re.MULTILINE)[1] == version


def test_one_word_for_one_thing():
    """Words that the vocabulary rules out are nowhere in texts, names and docstrings."""
    rows = [line.split("|") for line in (DOCS / "vocabulary.md").read_text("utf-8").splitlines()]
    out = [word.strip() for row in rows if len(row) == 6 for word in row[4].split(",")]
    out = [word for word in out if word and word not in ("not", "---")]
    assert len(out) > 10
    made = {"_build", "learn", "mechanisms", "reference"}
    texts = [path for path in DOCS.rglob("*.md") if not made & {*path.relative_to(DOCS).parts}]
    texts += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "jaxspark").rglob("*.py")]
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, out)) + r")\b", re.IGNORECASE)
    found = {
        (path.name, hit) for path in texts for hit in pattern.findall(path.read_text("utf-8"))
        if path.name != "vocabulary.md" and path.parent.name != "coming_from"  # words of others
    }  # fmt: skip
    assert not found
