"""`book site`: runs Sphinx on what `sources` lays out and puts the result in its place, whole or not at all."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from utils.book.execute import CHECKOUT
from utils.book.problems import BuildProblem
from utils.book.shelf import Shelf

NEEDED = ("sphinx", "myst_nb", "sphinx_book_theme", "ziamath")
OURS = ".nojekyll"  # every site has it: GitHub's pages would leave out folders that begin with _ without it


@dataclass(frozen=True)
class Site:
    """A site that was made: pages, bytes of all files, and what Sphinx had to say."""

    folder: Path
    pages: int
    size: int
    warnings: tuple[str, ...]


def build_site(shelf: Shelf, out: Path, learners: bool = False) -> Site:
    """Make the site in `out`, in place of one that is there.

    Args:
        learners: publish the chapters as learners get them, instead of the executed solutions.

    Raises:
        BuildProblem: a package is missing, `out` holds something else, or Sphinx stopped.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise BuildProblem(f"The site needs the extra `site` ({', '.join(missing)} is missing): run `make env` again.")
    if out.exists() and not (out.is_dir() and ((out / OURS).is_file() or not any(out.iterdir()))):
        raise BuildProblem(f"{out} holds something that is not a site of the book: name an empty or a new folder.")
    from utils.book.site.sources import lay_out

    with tempfile.TemporaryDirectory(prefix="book-site-") as scratch:
        source, made = Path(scratch, "source"), Path(scratch, "site")
        source.mkdir()
        lay_out(shelf, source, learners)
        warnings = _sphinx(source, made, Path(scratch, "doctrees"))
        _tidy(made)
        _put(made, out)
    files = [path for path in out.rglob("*") if path.is_file()]
    pages = sum(path.suffix == ".html" for path in files)
    return Site(out, pages, sum(path.stat().st_size for path in files), warnings)


def _sphinx(source: Path, made: Path, doctrees: Path) -> tuple[str, ...]:
    """Run Sphinx in a process of its own; gives its warnings without the scratch folder's path."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore", "LC_ALL": "C.UTF-8"}
    environment["PYTHONPATH"] = os.pathsep.join([str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "sphinx", "-q", "-E", "-b", "html", "-d", str(doctrees), str(source), str(made)]
    done = subprocess.run(command, env=environment, cwd=source, capture_output=True, text=True, encoding="utf-8")
    said = [line.replace(f"{source}/", "") for line in done.stderr.splitlines() if line.strip()]
    if done.returncode:
        raise BuildProblem(f"Sphinx stopped: {said[-1] if said else 'it said nothing'}")
    return tuple(said)


def _tidy(made: Path) -> None:
    """Leave out what no page asks for, and let none ask for what is not there."""
    (made / OURS).touch()
    static = made / "_static"
    for path in [*made.rglob("*.map"), *made.glob(".buildinfo*"), *static.glob("*.html"), made / "objects.inv"]:
        path.unlink(missing_ok=True)
    for folder in (made / "_sources", static / "locales"):
        shutil.rmtree(folder, ignore_errors=True)
    # The theme's first stylesheet is one @import. Chromium, looking ahead, takes its address from the page's folder and
    # reports that nothing is there, so what it imports is put in its place.
    theme, basic = static / "styles" / "theme.css", static / "basic.css"
    text = basic.read_text(encoding="utf-8").replace("url(", "url(../")
    theme.write_text(theme.read_text(encoding="utf-8").replace('@import "../basic.css";', text), encoding="utf-8")


def _put(made: Path, out: Path) -> None:
    try:
        if out.exists():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, out)
    except OSError as reason:
        sentence = f"{out} cannot be written ({reason.strerror}): name a folder that you may write to."
        raise BuildProblem(sentence) from reason
