"""A page for every public name, from its docstring and its example: Markdown that MyST reads."""

import functools
import importlib
import inspect
import pathlib
import re


ROOMS = (
    "jaxspark", "jaxspark.methods", "jaxspark.linear", "jaxspark.forces", "jaxspark.stiff",
    "jaxspark.batch", "jaxspark.diagnostics", "jaxspark.pictures", "jaxspark.multibody",
    "jaxspark.symbolic", "jaxspark.fit", "jaxspark.diffrax",
)  # fmt: skip
# Of a room with many names what belongs together; each name is in one group.
GROUPS = {
    "jaxspark.multibody": {
        "Bodies and joints": (
            "Mechanism", "Body", "Joint", "Revolute", "Prismatic", "Cylindrical", "Screw",
            "Universal", "Spherical", "Planar", "Free", "Weld", "PointOnLine", "PointOnPlane",
        ),
        "Constraints beside joints": (
            "Coupling", "Gear", "RackAndPinion", "Belt", "Distance", "PointOnSurface", "Rolling",
            "KnifeEdge", "Shape", "Sphere", "Disk", "Torus", "Ellipsoid", "Convex", "Prescribed",
            "PrescribedVelocity", "Holonomic", "Nonholonomic",
        ),
        "Forces": (
            "Motor", "Controller", "Spring", "Bushing", "PointForce", "BodyForce",
            "PenaltyContact", "JointFriction", "Force",
        ),
        "Results": ("Results", "BodyMotion", "JointMotion", "Wrench", "angles"),
        "Files and identification": (
            "load", "save", "sites", "Place", "sensors", "model", "identify", "Identification",
            "base_parameters", "BaseParameters", "regressor", "log_cholesky", "from_log_cholesky",
        ),
        "Coordinates of bodies": ("ByBodies",),
    },
}  # fmt: skip
EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


@functools.cache
def public(room):
    """The public names of a room, and what they are, in alphabetical order."""
    module = importlib.import_module(room)
    names = (name for name in vars(module) if not name.startswith("_"))
    found = {name: getattr(module, name) for name in sorted(names, key=str.lower)}
    return {
        name: value
        for name, value in found.items()
        if (inspect.isclass(value) or callable(value))
        and getattr(value, "__module__", "").startswith("jaxspark")
    }


@functools.cache
def home():
    """Where each object is at home: the first room that names it."""
    homes = {}
    for room in ROOMS:
        for name, value in public(room).items():
            homes.setdefault(id(value), f"{room}.{name}")
    return homes


def pages():
    """Of each name its object, at home there."""
    homes = home()
    return {
        f"{room}.{name}": value
        for room in ROOMS
        for name, value in public(room).items()
        if homes[id(value)] == f"{room}.{name}"
    }


def stem(name, value):
    """The name of its files, which differ where large and small letters are the same, too."""
    both = name.lower() in {other.lower() for other in home().values() if other != name}
    return f"{name}-class" if both and inspect.isclass(value) else name


def of_docstring(text):
    """A docstring, which is Markdown with references and asides of mkdocs, as Markdown of MyST."""
    text = re.sub(r"\[`([\w.]+)`\]\[\]", lambda found: f"{{py:obj}}`~{found[1]}`", text)
    return re.sub(
        r"^\?\?\? cite \"(\w+)\"\n((?:    .*\n?|\n)*)",
        lambda found: f":::{{admonition}} {found[1]}\n{inspect.cleandoc(found[2])}\n:::\n",
        text,
        flags=re.M,
    )


def signature(value):
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "()"
    # Annotations make a line unreadable; the docstring says what each argument is.
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(value).parameters.values()
        if parameter.name != "self"
    ]
    text = str(inspect.Signature(parameters))
    return re.sub(r"<[^<>]*>|FrozenInstance\S*", "...", text)


def members(name, kind):
    for member, value in sorted(vars(kind).items()):
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            directive, function, arguments = "py:property", value.fget, ""
        elif inspect.isfunction(value):
            directive, function, arguments = "py:method", value, signature(value)
        else:
            function = inspect.unwrap(getattr(value, "method", getattr(value, "fn", None)) or value)
            if isinstance(value, functools.cached_property):
                yield from _member("py:property", f"{name}.{member}", value.func)
                continue
            if not inspect.isfunction(function):
                continue
            directive, arguments = "py:method", signature(function)
        yield from _member(directive, f"{name}.{member}{arguments}", function)


def _member(directive, title, function):
    text = inspect.getdoc(function)
    if text:
        yield f"`````{{{directive}}} {title}\n\n{of_docstring(text)}\n`````\n"


def page(name, value):
    kind = "py:class" if inspect.isclass(value) else "py:function"
    room, _, short = name.rpartition(".")
    parts = [f"# {short}\n", f"`{room}.{short}`\n" if room else ""]
    body = of_docstring(inspect.getdoc(value) or "")
    inner = "\n".join(members(name, value)) if inspect.isclass(value) else ""
    parts.append(f"``````{{{kind}}} {name}{signature(value)}\n\n{body}\n\n{inner}\n``````\n")
    example = EXAMPLES / f"{stem(name, value)}.py"
    if example.exists():
        code = example.read_text(encoding="utf-8").strip()
        parts.append(f"## Example\n\n```python\n{code}\n```\n")
    return "\n".join(parts)


def listed(room, files):
    """The pages of a room, group by group: every file once."""
    groups = GROUPS.get(room, {"": [name.rpartition(".")[2] for name in files]})
    parts = []
    for title, names in groups.items():
        lines = "\n".join(f"names/{files[f'{room}.{name}']}" for name in names)
        toctree = f"```{{toctree}}\n:maxdepth: 1\n\n{lines}\n```\n"
        parts.append(f"## {title}\n\n{toctree}" if title else toctree)
    return "\n".join(parts)


def write(app):
    folder = pathlib.Path(app.srcdir) / "reference" / "names"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for name, value in pages().items():
        wanted[f"{stem(name, value)}.md"] = page(name, value)
    for room in ROOMS:
        module = importlib.import_module(room)
        own = {
            name: stem(name, value)
            for name, value in pages().items()
            if name.rpartition(".")[0] == room
        }
        also = sorted(
            homes for name, value in public(room).items()
            if (homes := home()[id(value)]) != f"{room}.{name}"
        )  # fmt: skip
        elsewhere = ", ".join(f"{{py:obj}}`{name}`" for name in also)
        text = f"# {room}\n\n{of_docstring(inspect.getdoc(module) or '')}\n\n" + listed(room, own)
        if elsewhere:
            text += f"\nHere, too: {elsewhere}.\n"
        wanted[f"../{room}.md"] = text
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()


def setup(app):
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
