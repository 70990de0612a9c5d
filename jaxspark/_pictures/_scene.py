"""A mechanism in motion, in space, to turn and to play: one page without a server."""

import contextlib
import html
import io
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._animate import drawn, frame_count, traced_names
from ._columns import one_motion


# Of the size of all that is drawn: how thick a line is, how large a dot, how far off the eye.
THICKNESS, DOT, DISTANCE = 0.008, 0.012, 0.75
EPS = 1e-9
COLOURS = (
    (31, 119, 180), (255, 127, 14), (44, 160, 44), (148, 103, 189), (140, 86, 75), (227, 119, 194),
    (127, 127, 127), (188, 189, 34), (23, 190, 207),
)  # fmt: skip
TRACE = (214, 39, 40)


class Scene:
    """A page on which a motion is played and seen from any side. A notebook shows it.

    - `page`: the HTML text, which needs no other file and no network.
    """

    def __init__(self, page: str):
        self.page = page

    def save(self, path: str | pathlib.Path) -> None:
        """Write the page.

        **Arguments:**

        - `path`: a file whose name ends in `.html`.

        **Raises:** `ValueError` for another ending of the name.
        """
        path = pathlib.Path(path)
        if path.suffix.lower() != ".html":
            raise ValueError(f"A scene is saved as .html; got {path.name!r}.")
        path.write_text(self.page, encoding="utf-8")

    def _repr_html_(self) -> str:
        return (
            '<iframe title="A mechanism in motion" width="100%" height="420" style="border:0" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Scene, a page of {len(self.page) / 1e6:.1f} MB"


def scene(
    solution: Any,
    shape: Any,
    *,
    trace: str | Sequence[str] = (),
    seconds: float | int | None = None,
    fps: float | int = 30.0,
    lane: int | None = None,
) -> Scene:
    """Draw a mechanism in motion as a page on which it is turned and played.

    It needs the extra `view`, which is [viser](https://viser.studio).

    **Arguments:**

    - `solution`, `shape`, `trace`, `seconds`, `lane`: as for [`jaxspark.pictures.animate`][]. A
        trace is shown from the beginning, as a whole; lines in a plane are seen from in front.
    - `fps`: frames per second.

    **Returns:** a [`jaxspark.pictures.Scene`][], to be saved as one HTML file.

    **Raises:** `ModuleNotFoundError` without viser; otherwise as `animate`.
    """
    try:
        import viser
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "jaxspark.pictures.scene needs viser: pip install 'jaxspark[view]'."
        ) from error
    solution = one_motion(solution, lane)
    lines = drawn(solution, shape, frame_count(solution, seconds, fps))
    traced = traced_names(trace, lines)
    flat = next(iter(lines.values())).shape[-1] == 2
    if flat:
        lines = {name: np.pad(x, ((0, 0), (0, 0), (0, 1))) for name, x in lines.items()}
    low, high = _extent(lines)
    with contextlib.redirect_stdout(io.StringIO()):  # its address is of no interest
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        try:
            _look(server, (low + high) / 2, float(np.linalg.norm(high - low)), flat)
            page = _recorded(server, lines, traced, float(np.max(high - low)), float(fps))
        finally:
            server.stop()
    return Scene(page)


def _extent(lines: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    points = np.concatenate([x.reshape(-1, 3) for x in lines.values()])
    points = points[np.all(np.isfinite(points), axis=1)]
    if not len(points):
        raise ValueError("shape(t, y) gives no finite point.")
    return points.min(0), points.max(0)


def _look(server: Any, centre: np.ndarray, size: float, flat: bool) -> None:
    """From in front at a plane, from the side and above at what is in space."""
    direction = np.array([0.0, 0.0, 1.0]) if flat else np.array([0.6, -0.9, 0.45])
    up = np.array([0.0, 1.0, 0.0]) if flat else np.array([0.0, 0.0, 1.0])
    server.scene.set_up_direction(up)
    server.initial_camera.up = up
    server.initial_camera.look_at = centre
    server.initial_camera.position = centre + DISTANCE * max(size, 1e-9) * direction


def _recorded(
    server: Any, lines: dict[str, np.ndarray], traced: Sequence[str], size: float, fps: float
) -> str:
    """The page with all frames; a line that stays as it is, is sent once."""
    size = max(size, 1e-9)
    for name in traced:
        path = _finite(lines[name][:, -1])
        if len(path) > 1:
            _segments(server, f"/trace/{name}", path, TRACE, THICKNESS * size / 3)
    serializer = server.get_scene_serializer()
    before: dict[str, np.ndarray] = {}
    for at in range(len(next(iter(lines.values())))):
        for number, (name, x) in enumerate(lines.items()):
            points = _finite(x[at])
            if name not in before or _moved(before[name], points, size):
                _line(server, f"/{name}", points, COLOURS[number % len(COLOURS)], size)
                before[name] = points
        serializer.insert_sleep(1 / fps)
    return serializer.as_html()


def _finite(points: np.ndarray) -> np.ndarray:
    return points[np.all(np.isfinite(points), axis=1)]


def _moved(before: np.ndarray, now: np.ndarray, size: float) -> bool:
    """More than interpolation rounds."""
    return before.shape != now.shape or bool(np.max(np.abs(now - before), initial=0) > EPS * size)


def _line(server: Any, name: str, points: np.ndarray, colour: Any, size: float) -> None:
    """Dots at the points of a line of few, as `animate` draws them."""
    if len(points) > 1:
        _segments(server, f"{name}/line", points, colour, THICKNESS * size)
    if 0 < len(points) <= 12:
        server.scene.add_point_cloud(
            f"{name}/dots", points.astype(np.float32), colour, point_size=DOT * size,
            point_shape="circle",
        )  # fmt: skip


def _segments(server: Any, name: str, points: np.ndarray, colour: Any, thickness: float) -> None:
    pairs = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
    server.scene.add_line_segments(name, pairs, colour, thickness=thickness)
