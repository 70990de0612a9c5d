"""A mechanism in motion, drawn as lines between its points."""

import base64
import io
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._rollout import Solution
from ._columns import one_motion


# Of the box around the motion, what is left free on each side.
MARGIN = 0.08


class Animation:
    """Frames of a motion. `save` writes them; a notebook shows them.

    - `frames`: arrays of shape `(height, width, 3)`, of 8 bits.
    - `fps`: frames per second.
    """

    def __init__(self, frames: Sequence[np.ndarray], fps: float | int):
        self.frames, self.fps = list(frames), float(fps)

    def save(self, path: str | pathlib.Path) -> None:
        """Write `.webp`, `.gif`, `.png` (animated), `.mp4` (needs ffmpeg), or `.html`, one page.

        **Arguments:**

        - `path`: the file to write; the ending of its name is the format.

        **Raises:** `ValueError` for another ending of the name; `FileNotFoundError` for `.mp4`
        without ffmpeg.
        """
        path = pathlib.Path(path)
        ending = path.suffix.lower()
        if ending in (".webp", ".gif", ".png"):
            path.write_bytes(self._encoded(ending[1:]))
        elif ending == ".html":
            page = f"<!doctype html><meta charset='utf-8'><title>Motion</title>{self._repr_html_()}"
            path.write_text(page, encoding="utf-8")
        elif ending == ".mp4":
            self._film(path)
        else:
            raise ValueError(
                f"An animation is saved as .webp, .gif, .png, .mp4 or .html; got {path.name!r}."
            )

    def _encoded(self, kind: str) -> bytes:
        from PIL import Image

        images = [Image.fromarray(frame) for frame in self.frames]
        if kind == "gif":
            images = [image.quantize(64) for image in images]
        file = io.BytesIO()
        options = {"quality": 60, "method": 2} if kind == "webp" else {}
        images[0].save(
            file, kind, save_all=True, append_images=images[1:],
            duration=round(1000 / self.fps), loop=0, **options,
        )  # fmt: skip
        return file.getvalue()

    def _film(self, path: pathlib.Path) -> None:
        from matplotlib import animation, figure

        if not animation.FFMpegWriter.isAvailable():
            raise FileNotFoundError(
                "mp4 needs the program ffmpeg, which is not installed. Save as .webp or .html."
            )
        height, width = self.frames[0].shape[:2]
        canvas = figure.Figure(figsize=(width / 100, height / 100), dpi=100)
        shown = canvas.figimage(self.frames[0])
        writer = animation.FFMpegWriter(fps=round(self.fps))
        with writer.saving(canvas, str(path), dpi=100):
            for frame in self.frames:
                shown.set_data(frame)
                writer.grab_frame()

    def _repr_html_(self) -> str:
        data = base64.b64encode(self._encoded("webp")).decode()
        height, width = self.frames[0].shape[:2]
        return (
            f'<img alt="A mechanism in motion" width="{width}" height="{height}" '
            f'src="data:image/webp;base64,{data}">'
        )

    def __repr__(self) -> str:
        return f"Animation of {len(self.frames)} frames, {self.fps:g} a second"


def animate(
    solution: Any,
    shape: Any,
    *,
    trace: str | Sequence[str] = (),
    seconds: float | int | None = None,
    fps: float | int = 20.0,
    pixels: int = 320,
    limits: Any = None,
    view: Any = (20.0, -60.0),
    lane: int | None = None,
) -> Animation:
    """Draw a mechanism in motion: lines between points that its coordinates determine.

    **Arguments:**

    - `solution`: what [`jaxspark.solve`][] returned, with states saved so densely that straight
        lines between them will do, or with `dense=True`.
    - `shape`: `shape(t, y)` returns a dictionary: a name and the points of a line, an array
        `(points, 2)` or `(points, 3)`. A link is two points, a wheel a closed ring of them, a
        single point a dot. It is a JAX function, called for all times at once.
    - `trace`: the names of lines whose last points leave a trace.
    - `seconds`: how long the animation lasts (s). Default: as long as the motion does, but at
        least 2 and at most 10.
    - `fps`: frames per second.
    - `pixels`: those of the longer side.
    - `limits`: the limits of each axis, `((x0, x1), (y0, y1))`. Default: what the motion needs.
    - `view`: elevation and azimuth (degrees) from which lines in space are seen.
    - `lane`: of a batch, the number of the motion to draw.

    **Returns:** an [`jaxspark.pictures.Animation`][].

    **Raises:** `TypeError` if `solution` is not a solution, or `shape` not a function that returns
    a dictionary; `ValueError` if fewer than two states are saved, for a batch without `lane`, for
    lines of other shapes, or for names that are not there.
    """
    solution = one_motion(solution, lane)
    count = frame_count(solution, seconds, fps)
    if not pixels > 0:
        raise ValueError(f"pixels must be positive; got {pixels}.")
    lines = drawn(solution, shape, count)
    traced = traced_names(trace, lines)
    box = _box(lines, limits)
    return Animation(_frames(lines, traced, box, pixels, view), fps)


def frame_count(solution: Solution, seconds: float | int | None, fps: float | int) -> int:
    """How many frames an animation has, at least two.

    **Raises:** `ValueError` if a number is not positive.
    """
    duration = abs(float(solution.ts[-1] - solution.ts[0]))
    seconds = min(max(duration, 2.0), 10.0) if seconds is None else seconds
    if not (seconds > 0 and fps > 0):
        raise ValueError(f"seconds and fps must be positive; got {seconds} and {fps}.")
    return max(2, round(float(seconds * fps)))


def traced_names(trace: str | Sequence[str], lines: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of lines that leave a trace.

    **Raises:** `ValueError` for a name that no line has.
    """
    traced = (trace,) if isinstance(trace, str) else tuple(trace)
    missing = set(traced) - set(lines)
    if missing:
        raise ValueError(f"trace= names {sorted(missing)}; the lines are {sorted(lines)}.")
    return traced


def drawn(solution: Solution, shape: Any, count: int) -> dict[str, np.ndarray]:
    """Of each line its points in all frames, `(count, points, dimension)`."""
    if not callable(shape):
        raise TypeError(f"shape must be a function shape(t, y); got {shape!r}.")
    times = jnp.linspace(solution.ts[0], solution.ts[-1], count)
    if solution.interpolation is None:
        ts, ys = solution.ts, solution.ys
    else:
        ts, ys = times, solution.evaluate(times)[0]

    def of(t, y):
        lines = shape(t, y)
        if not isinstance(lines, Mapping):
            raise TypeError(
                "shape(t, y) must return a dictionary with the name and the points of each line; "
                f"got {type(lines).__name__}."
            )
        return {str(name): jnp.asarray(points) for name, points in lines.items()}

    lines = {name: np.asarray(x, float) for name, x in jax.jit(jax.vmap(of))(ts, ys).items()}
    dimensions = {x.shape[-1] if x.ndim == 3 else None for x in lines.values()}
    if not lines or len(dimensions) > 1 or not dimensions <= {2, 3}:
        shapes = {name: x.shape[1:] for name, x in lines.items()}
        raise ValueError(
            f"Lines are arrays (points, 2), or all of them (points, 3); shape(t, y) gave {shapes}."
        )
    ts = np.asarray(ts, float)
    # Rows after the end of a motion that failed repeat it.
    ts, first = np.unique(ts if ts[-1] >= ts[0] else -ts, return_index=True)
    wanted = np.linspace(ts[0], ts[-1], count)
    right = np.clip(np.searchsorted(ts, wanted, side="right"), 1, max(len(ts) - 1, 1))
    right = np.minimum(right, len(ts) - 1)
    left = np.maximum(right - 1, 0)
    gap = np.where(right > left, ts[right] - ts[left], 1.0)
    weight = ((wanted - ts[left]) / gap)[:, None, None]
    return {
        name: (1 - weight) * x[first][left] + weight * x[first][right] for name, x in lines.items()
    }


def _box(lines: dict[str, np.ndarray], limits: Any) -> list[tuple[float, float]]:
    """What each axis shows, to one scale."""
    dimension = next(iter(lines.values())).shape[-1]
    if limits is not None:
        if np.shape(limits) != (dimension, 2) or not np.all(np.diff(np.asarray(limits)) > 0):
            raise ValueError(
                f"limits are a lower and an upper number for each of {dimension} axes; "
                f"got {limits}."
            )
        return [(float(low), float(high)) for low, high in limits]
    points = np.concatenate([x.reshape(-1, dimension) for x in lines.values()])
    points = points[np.all(np.isfinite(points), axis=1)]
    if not len(points):
        raise ValueError("shape(t, y) gives no finite point.")
    low, high = points.min(0), points.max(0)
    longest = max(np.max(high - low), 1e-12)
    # A motion along a line would have no width.
    half = np.maximum((high - low) / 2, longest / (2 if dimension == 3 else 8)) + MARGIN * longest
    return [(m - h, m + h) for m, h in zip((low + high) / 2, half, strict=True)]


def _frames(
    lines: dict[str, np.ndarray],
    traced: Sequence[str],
    box: list[tuple[float, float]],
    pixels: int,
    view: Any,
) -> list[np.ndarray]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    spans = [high - low for low, high in box]
    flat = len(box) == 2
    width, height = (s / max(spans) for s in spans) if flat else (1.0, 1.0)
    # Even numbers, which films want.
    size = [2 * math.ceil(pixels * s / 2) for s in (width, height)]
    figure = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100)
    canvas = FigureCanvasAgg(figure)
    options: Any = {} if flat else {"projection": "3d"}
    axis: Any = figure.add_axes((0, 0, 1, 1), **options)
    axis.set(xlim=box[0], ylim=box[1])
    if flat:
        axis.axis("off")
    else:
        axis.set(zlim=box[2], xticklabels=[], yticklabels=[], zticklabels=[])
        axis.set_box_aspect(spans)
        axis.view_init(*view)
    trails = {
        name: axis.plot(*lines[name][:1, -1].T, color="tab:red", linewidth=1, alpha=0.7)[0]
        for name in traced
    }
    drawn = {}
    for number, (name, points) in enumerate(lines.items()):
        dots = points.shape[1] <= 12
        drawn[name] = axis.plot(
            *points[0].T, color=f"C{number % 10}", linewidth=2.5, solid_capstyle="round",
            marker="o" if dots else None, markersize=4 if points.shape[1] > 1 else 9,
        )[0]  # fmt: skip
    moving = [*trails.values(), *drawn.values()]
    for line in moving:
        line.set_animated(True)
    canvas.draw()
    behind, frames = canvas.copy_from_bbox(figure.bbox), []
    for at in range(len(next(iter(lines.values())))):
        for name, line in drawn.items():
            _place(line, lines[name][at])
        for name, line in trails.items():
            _place(line, lines[name][: at + 1, -1])
        canvas.restore_region(behind)
        for line in moving:
            axis.draw_artist(line)
        frames.append(np.asarray(canvas.buffer_rgba())[..., :3].copy())
    return frames


def _place(line: Any, points: np.ndarray) -> None:
    if points.shape[1] == 2:
        line.set_data(*points.T)
    else:
        line.set_data_3d(*points.T)
