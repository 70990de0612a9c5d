"""Make the README's pictures anew: `python docs/readme_pictures.py`."""

import pathlib
import re
import runpy

import matplotlib as mpl


HERE = pathlib.Path(__file__).parent
TO = HERE / "_static"


def main() -> None:
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "the same every time"
    leg = runpy.run_path(str(HERE / "gallery" / "plot_jansen.py"))
    leg["film"].save(TO / "jansen.webp")
    readme = (HERE.parent / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    code = code.replace("jaxspark.pictures.plot(", "figure = jaxspark.pictures.plot(")
    names: dict = {}
    exec(code, names)
    names["figure"].savefig(TO / "pendulum.svg", metadata={"Date": None})
    lines = (TO / "pendulum.svg").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line.rstrip() for line in lines)
    (TO / "pendulum.svg").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
