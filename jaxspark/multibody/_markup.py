"""XML files of which a few attributes and elements are changed, and every other byte is kept."""

import pathlib
import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat


ATTRIBUTE = re.compile(rb"\s+([\w:.-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")


class Element:
    """An element of a file.

    - `tag`, `attributes`: as they were read.
    - `parent`, `children`: elements; those of included files are children of what includes them.
    - `begin`, `end`: where its start tag is in the file; `close`: where its end tag begins, `None`
        if it has none; `last`: where it ends.
    - `changes`: attributes to write, `None` to leave out; `added`: elements to write first in it.
    """

    def __init__(self, tag: str, attributes: dict[str, str], parent: "Element | None", begin: int):
        self.tag, self.attributes, self.parent, self.begin = tag, attributes, parent, begin
        self.end = self.last = begin
        self.close: int | None = None
        self.children: list[Element] = []
        self.changes: dict[str, str | None] = {}
        self.added: list[str] = []

    def child(self, tag: str) -> "Element | None":
        """The last child of this tag, or `None`."""
        found = [x for x in self.children if x.tag == tag]
        return found[-1] if found else None

    def get(self, name: str) -> str | None:
        """An attribute as it will be written."""
        return self.changes.get(name, self.attributes.get(name))

    def set(self, **attributes: str | None) -> None:
        """Write these attributes; `None` leaves one out."""
        for name, value in attributes.items():
            if value != self.attributes.get(name) or name in self.changes:
                self.changes[name] = value

    def add(self, text: str) -> None:
        """Write an element into this one."""
        self.added.append(text)

    def walk(self) -> Iterator["Element"]:
        """It and all that is in it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()


class Document:
    """A file, and those that it includes.

    **Arguments:**

    - `data`: the bytes of a file.
    - `folder`: from which the paths of included files start.
    """

    def __init__(self, data: bytes, folder: pathlib.Path):
        self.data = data
        self.included: list[tuple[Element, Document]] = []
        self.root = self._parsed()
        for element in list(self.root.walk()):
            if element.tag == "include" and "file" in element.attributes:
                self._include(element, folder)

    def _parsed(self) -> Element:
        parser = expat.ParserCreate()
        stack: list[Element] = []
        roots: list[Element] = []

        def start(tag: str, attributes: Any) -> None:
            parent = stack[-1] if stack else None
            element = Element(tag, dict(attributes), parent, parser.CurrentByteIndex)
            element.end = element.last = _tag_end(self.data, element.begin)
            (roots if parent is None else parent.children).append(element)
            stack.append(element)

        def stop(tag: str) -> None:
            del tag
            element = stack.pop()
            if self.data[element.end - 2 : element.end] != b"/>":
                element.close = parser.CurrentByteIndex
                element.last = self.data.index(b">", element.close) + 1

        parser.StartElementHandler, parser.EndElementHandler = start, stop
        try:
            parser.Parse(self.data, True)
        except expat.ExpatError as error:
            raise ValueError(f"The file is no XML that can be changed: {error}.") from error
        return roots[0]

    def _include(self, element: Element, folder: pathlib.Path) -> None:
        other = Document((folder / element.attributes["file"]).read_bytes(), folder)
        parent = element.parent
        assert parent is not None  # A root that includes would be no model.
        at = parent.children.index(element)
        for child in other.root.children:
            child.parent = parent
        parent.children[at : at + 1] = other.root.children
        self.included.append((element, other))

    @property
    def changed(self) -> bool:
        """Whether anything is written in it or in a file that it includes."""
        return bool(self._edits())

    def rendered(self) -> bytes:
        """The bytes with all changes; included files with changes are written in place."""
        return _applied(self.data, self._edits())

    def _elements(self) -> Iterator[Element]:
        """Those of this file alone."""
        inside = {id(x) for _, other in self.included for x in other.root.walk()}
        return (x for x in self.root.walk() if id(x) not in inside)

    def _edits(self) -> list[tuple[int, int, bytes]]:
        edits = []
        for element in self._elements():
            if element.changes or element.added:
                edits.append((element.begin, element.end, self._tag(element)))
        for element, other in self.included:
            if other.changed:
                edits.append((element.begin, element.last, other._inner()))
        return edits

    def _inner(self) -> bytes:
        """What is in the root, with changes."""
        root = self.root
        rest = root.end if root.close is None else root.close
        ends = [(0, root.end, b""), (rest, len(self.data), b"")]
        return _applied(self.data, [*self._edits(), *ends]).strip()

    def _tag(self, element: Element) -> bytes:
        """A start tag with its changes, and what is added after it."""
        text = self.data[element.begin : element.end]
        name = 1 + len(element.tag.encode())
        out, at, left = text[:name], name, dict(element.changes)
        while found := ATTRIBUTE.match(text, at):
            key = found[1].decode()
            begin, end = (x - found.start() for x in found.span(2))
            value = left.pop(key) if key in left else found[0][begin + 1 : end - 1]
            if value is not None:
                value = value.encode() if isinstance(value, str) else value
                out += found[0][: begin + 1] + value + found[0][end - 1 :]
            at = found.end()
        for key, value in left.items():
            if value is not None:
                out += f' {key}="{value}"'.encode()
        if not element.added:
            return out + text[at:]
        line = self.data[: element.begin].rpartition(b"\n")[2]
        indent = b"\n" + line[: len(line) - len(line.lstrip())]
        inside = b"".join(indent + b"  " + x.encode() for x in element.added)
        if element.close is None:
            return out + b">" + inside + indent + b"</" + element.tag.encode() + b">"
        return out + text[at:] + inside


def _tag_end(data: bytes, begin: int) -> int:
    """Where a tag ends: `>` may be in the value of an attribute."""
    found = re.compile(rb"<[^\"'>]*(?:\"[^\"]*\"[^\"'>]*|'[^']*'[^\"'>]*)*>").match(data, begin)
    assert found is not None  # The parser has accepted it.
    return found.end()


def _applied(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """Ranges replaced; none overlap but those at the ends, which win."""
    out, at = [], 0
    for begin, end, new in sorted(edits, key=lambda x: (x[0], -x[1])):
        if begin < at:
            continue
        out += [data[at:begin], new]
        at = end
    return b"".join([*out, data[at:]])


def number(value: Any) -> str:
    """The shortest decimal that reads as the same number."""
    return repr(float(value) + 0.0).removesuffix(".0")


def numbers(values: Any) -> str:
    """Several of these."""
    return " ".join(number(x) for x in values)
