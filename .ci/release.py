"""Build what is released, look at what is in it, and run the main job of the wheel alone.

    python .ci/release.py [FOLDER]

The distributions stay in the folder, if one is given. `build` and `twine` are of the extra `dev`.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile


ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of a copy without its history, what of it is under version control is not known.
UNDER_GIT = (ROOT / ".git").exists()
# Caches and installed copies, which may lie in a checkout.
NOT_SOURCES = {"__pycache__", "build", "dist", ".venv"}


def run(*command: str | pathlib.Path, cwd: pathlib.Path = ROOT) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")
    return done.stdout


def build(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The sdist, and the wheel made of it, with the time of the last commit in them."""
    committed = run("git", "log", "-1", "--format=%ct").strip() if UNDER_GIT else "1577836800"
    os.environ["SOURCE_DATE_EPOCH"] = committed
    run(sys.executable, "-m", "build", "--outdir", folder)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def differences(found: set[str], wanted: set[str], what: str) -> None:
    if found != wanted:
        raise SystemExit(
            f"{what} lacks {sorted(wanted - found)} and should not have {sorted(found - wanted)}"
        )


def look_into(sdist: pathlib.Path, wheel: pathlib.Path) -> None:
    """The sdist has all that is under version control; the wheel the package and its licences."""
    with tarfile.open(sdist) as archive:
        names = {member.name.split("/", 1)[1] for member in archive if member.isfile()}
    if UNDER_GIT:
        tracked = set(run("git", "ls-files").splitlines())
        differences(names, tracked | {"PKG-INFO"}, "The sdist")
    else:
        sources = [path for path in (ROOT / "jaxspark").rglob("*") if path.is_file()]
        places = [path.relative_to(ROOT) for path in sources]
        tracked = {str(path) for path in places if not NOT_SOURCES & set(path.parts)}
        needed = tracked | {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"}
        differences(names & needed, needed, "The sdist")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    of_package = {name for name in tracked if name.startswith("jaxspark/")}
    about = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    licences = {"LICENSE", "jaxspark/_main/data/LICENSE.txt"}
    papers = {f"licenses/{name}" for name in licences}
    papers |= {"METADATA", "RECORD", "WHEEL", "entry_points.txt"}
    differences(names, of_package | {f"{about}/{name}" for name in papers}, "The wheel")


def main_job(wheel: pathlib.Path, folder: pathlib.Path) -> None:
    """As a user has it: the wheel in an empty environment, away from the sources."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    run(python, "-m", "jaxspark", "--quiet", "--out", folder / "out", cwd=folder)
    version = run(python, "-c", "import jaxspark; print(jaxspark.__version__)", cwd=folder).strip()
    if version != wheel.name.split("-")[1]:
        raise SystemExit(f"The wheel {wheel.name} says that its version is {version}")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        kept = pathlib.Path(sys.argv[1]).resolve() if sys.argv[1:] else folder / "dist"
        if kept.exists() and any(kept.iterdir()):
            raise SystemExit(f"{kept} is not empty")
        made = build(kept)
        again = build(folder / "again")
        for one, other in zip(made, again, strict=True):
            if (
                hashlib.sha256(one.read_bytes()).digest()
                != hashlib.sha256(other.read_bytes()).digest()
            ):
                raise SystemExit(f"{one.name} comes out otherwise when it is built again")
        look_into(*made)
        run(sys.executable, "-m", "twine", "check", "--strict", *made)
        main_job(made[1], folder)
        print(f"{made[0].name} and {made[1].name}: the same twice, complete, and the main job runs")


if __name__ == "__main__":
    main()
