"""Where the book's files lie, and which chapter a person means by "5", "05", "05_attention" or a path.

A shelf is one folder with `solutions/` and `chapters/` in it. The real one is this checkout; tests make small ones.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.book.problems import BuildProblem, shown

NAME = re.compile(r"\d\d_[a-z0-9]+(?:_[a-z0-9]+)*")


@dataclass(frozen=True)
class Shelf:
    """One book: `root` holds `solutions/` (source and executed notebooks) and `chapters/` (what a learner opens)."""

    root: Path

    def source(self, chapter: str) -> Path:
        return self.root / "solutions" / f"{chapter}.py"

    def solution(self, chapter: str) -> Path:
        return self.root / "solutions" / f"{chapter}.ipynb"

    def chapter(self, chapter: str) -> Path:
        return self.root / "chapters" / f"{chapter}.ipynb"

    def chapters(self) -> list[str]:
        """The names of all chapters that have a source, in the order of the book.

        Raises:
            BuildProblem: there is no source at all, a name is not of the form NN_slug, or a number is used twice.
        """
        folder = self.root / "solutions"
        names = sorted(path.stem for path in folder.glob("*.py"))
        if not names:
            raise BuildProblem(f"There is no chapter source in {shown(folder)}: a chapter is a file NN_slug.py there.")
        for name in names:
            if not NAME.fullmatch(name):
                sentence = (
                    "a chapter's file is named NN_slug.py: two digits, then lower-case words joined by underscores."
                )
                raise BuildProblem(sentence, self.source(name))
        for earlier, later in zip(names, names[1:], strict=False):
            if earlier[:2] == later[:2]:
                raise BuildProblem(
                    f"Two chapters have the number {later[:2]}: {earlier}.py and {later}.py; renumber one."
                )
        return names

    def choose(self, wanted: Sequence[str] | None) -> list[str]:
        """The chapters meant by `wanted` ("5", "05", "05_attention" or a path), in book order; all when empty.

        Raises:
            BuildProblem: no chapter is meant by one of them; the sentence lists what there is.
        """
        names = self.chapters()
        if not wanted:
            return names
        return [name for name in names if name in {self._one(word, names) for word in wanted}]

    @staticmethod
    def _one(word: str, names: list[str]) -> str:
        stem = Path(word).name.removesuffix(".py").removesuffix(".ipynb")
        for name in names:
            if stem == name or (stem.isdecimal() and stem.zfill(2) == name[:2]):
                return name
        raise BuildProblem(f"There is no chapter {word!r}; there is {', '.join(names)}.")


def the_book() -> Shelf:
    """The shelf of this checkout.

    Raises:
        BuildProblem: the book was installed without one.
    """
    from utils.paths import book_root, is_checkout

    if not is_checkout():
        raise BuildProblem("Only a checkout of the book has what this needs: clone its repository and run it there.")
    return Shelf(book_root())
