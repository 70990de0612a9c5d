"""What goes wrong in a command, in words for whoever typed it."""

import difflib
import linecache
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path


PACKAGE = Path(__file__).resolve().parent.parent


class CommandError(Exception):
    """A command cannot go on; the message says why, `status` is how the program ends."""

    def __init__(self, message: object, status: int = 2):
        super().__init__(str(message))
        self.status = status


def no_such(what: str, name: str, known: Collection[str]) -> str:
    """There is no such thing; which there are, and which is nearest."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f' Did you mean "{near[0]}"?' if near else ""
    return f'there is no {what} "{name}".{hint} There are: {", ".join(known) or "none"}.'


@contextmanager
def blaming(model: Path) -> Iterator[None]:
    """Errors within as `CommandError`s: those in the model's file with its line there.

    Those that the library raises on purpose keep their words. Any other is a fault of the
    library, and passes with its traceback.
    """
    try:
        yield
    except (CommandError, KeyboardInterrupt):
        raise
    except BaseException as error:
        words = _words(error, model.resolve())
        if words is None:
            raise
        raise CommandError(words) from None


def _words(error: BaseException, model: Path) -> str | None:
    if isinstance(error.__cause__, KeyError) and error.__cause__.args == ("inputs",):
        # It has the line where the model looks for them.
        error = error.__cause__
    kind = type(error).__name__
    # JAX notes how to see its own frames, which is for its developers.
    notes = [note for note in getattr(error, "__notes__", ()) if "JAX_TRACEBACK" not in note]
    message = " ".join([str(error) or kind, *notes])
    if isinstance(error, SyntaxError) and error.filename and _is_users(error.filename, model):
        line = (error.text or "").strip()
        return f"{error.filename}, line {error.lineno}: {kind}: {error.msg}\n    {line}".rstrip()
    frames = [frame for each in _chain(error) for frame in traceback.extract_tb(each.__traceback__)]
    own = [frame for frame in frames if _is_users(frame.filename, model)]
    if own:
        frame = own[-1]
        function = "" if frame.name == "<module>" else f", in {frame.name}"
        source = linecache.getline(frame.filename, frame.lineno or 0).strip()
        if isinstance(error, SystemExit):
            message = f"it ends the program, with {error.code!r}"
        hint = ""
        if isinstance(error, KeyError) and error.args == ("inputs",):
            hint = (
                "\nThe model has inputs: name their columns in [inputs] of the configuration. "
                "(jaxspark simulate takes their samples by --inputs or --data.)"
            )
        return (
            f"{frame.filename}, line {frame.lineno}{function}: {kind}: {message}\n"
            f"    {source}{hint}"
        )
    if not frames or not isinstance(error, ValueError | TypeError | RuntimeError):
        return None
    raised_here = Path(frames[-1].filename).resolve().is_relative_to(PACKAGE)
    return message if raised_here else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that led to it, the first of them first."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _chain(before)
    yield error


def _is_users(filename: str, model: Path) -> bool:
    """Whether a file is the model's, or a module beside it."""
    return not filename.startswith("<") and Path(filename).resolve().parent == model.parent
