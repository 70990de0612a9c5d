"""Files that become parts of the page."""

import importlib.resources


def resource(name: str) -> str:
    """The text of a file in the folder `data` beside this one."""
    path = importlib.resources.files("jaxspark.fit._report") / "data" / name
    return path.read_text(encoding="utf-8")
