"""Pages of reports taken apart, and findings compared, for the tests of reports."""

import dataclasses
import math
import re
from html.parser import HTMLParser

import numpy as np

from jaxspark.fit._findings import Findings


EMPTY_ELEMENTS = {"meta", "input", "br", "img", "link", "hr"}


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


def empty():
    return Findings(
        title="Nothing", estimates=(), initial_states=(), correlation=np.zeros((0, 0)),
        combinations=(), unidentifiable=(), level=0.95, trials=(), loss=(), converged=False,
        message="", worst_residual=math.nan, seconds=0.0, versions={},
    )  # fmt: skip


def flagged(page, words):
    return [row[0] for row in rows(page) if any(f">{words}</span>" in cell for cell in row)]


def drawn(axes, label):
    line = next(line for line in axes.lines if line.get_label() == label)
    return line.get_xydata()
