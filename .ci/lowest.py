"""Print the lowest versions that `pyproject.toml` allows, as constraints for pip.

Of what is installed with the package, and with the extras that are named as arguments: a line
`name==version` for each requirement with a lower bound.
"""

import re
import sys
import tomllib
from pathlib import Path


BOUND = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)$")


def constraints(extras: list[str]) -> list[str]:
    """The lines."""
    path = Path(__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    found = [BOUND.match(requirement.replace(" ", "")) for requirement in wanted]
    return sorted(f"{match[1]}=={match[2]}" for match in found if match)


if __name__ == "__main__":
    print("\n".join(constraints(sys.argv[1:])))
