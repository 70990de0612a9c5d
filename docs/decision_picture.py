"""Make the picture of the decision page from what the benchmarks' page measured.

python -m benchmarks page kinds --out measured
python docs/decision_picture.py measured/results.json
"""

import pathlib
import sys

import matplotlib as mpl

from benchmarks.page import from_json, SECTIONS


TO = pathlib.Path(__file__).parent / "_static" / "kinds.svg"


def main() -> None:
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "the same every time"
    record = from_json(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    (part,) = (part for part in record.parts if part.name == "kinds")
    figure = SECTIONS["kinds"].plot(part.results)
    figure.set_facecolor("white")
    figure.savefig(TO, metadata={"Date": None})
    lines = TO.read_text(encoding="utf-8").splitlines()
    TO.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
