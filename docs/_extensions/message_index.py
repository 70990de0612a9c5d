"""The page of all messages, each with a link to the section that explains it."""

import pathlib
import re


HEAD = """# All messages

Every text of an error or warning, in the order of the alphabet. Each leads to its section.
`{...}` stands for what a message inserts.

"""
LABEL, TITLE = re.compile(r"^\((error-[\w-]+)\)=$"), re.compile(r"^#+ (.+)$")


def messages(page):
    """Of a page in Markdown: message, label and title of its section."""
    label = title = None
    inside = False
    for line in page.splitlines():
        if line.startswith("```"):
            inside = line == "```text"
        elif inside and label is not None and line.strip():
            yield line.strip(), label, title
        elif not inside and (found := LABEL.match(line)):
            label, title = found[1], None
        elif not inside and title is None and (found := TITLE.match(line)):
            title = found[1]


def first_word(message):
    """For the order: without what is inserted at the beginning."""
    return re.sub(r"^(\{\.\.\.\}|\W)+", "", message).casefold(), message


def write(app):
    folder = pathlib.Path(app.srcdir) / "errors"
    found = set()
    for path in sorted(folder.glob("*.md")):
        found.update(messages(path.read_text(encoding="utf-8")))
    lines = [
        f"- ``{message}`` [{title}](#{label})"
        for message, label, title in sorted(found, key=lambda one: first_word(one[0]))
    ]
    text = HEAD + "\n".join(lines) + "\n"
    path = pathlib.Path(app.srcdir) / "messages.md"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
