"""Whose file is this? The names that learning platforms give to downloads, nbgrader's folders, and plain ones.

A platform's own number for a person is kept beside the name: two students may share a name, never that number.
"""

import re
import unicodedata
from dataclasses import dataclass

from utils.classroom.archives import File

# lastfirst_LATE_12345_67890_05_attention-2.ipynb: LATE where it was, person, submission, then the file's own name.
_CANVAS = re.compile(r"(?P<name>[^_/]+)(?P<late>_LATE)?_(?P<account>\d+)_(?P<submission>\d+)_(?P<file>.+)")
# First Last_12345_assignsubmission_file_, as a folder or before the file's own name.
_MOODLE = re.compile(r"(?P<name>.+)_(?P<account>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)")
_AGAIN = re.compile(r"-(\d{1,3})$")
_CHAPTER = re.compile(r"[\W_]*\d\d_[a-z0-9]+(?:_[a-z0-9]+)*[\W_]*")


@dataclass(frozen=True)
class Sender:
    """Who handed a file in, as far as its path tells. `name` is the file's own name, without what a platform added."""

    student: str
    name: str
    account: str = ""
    attempt: int | None = None
    late: bool = False


class Layout:
    """How a collection of files is laid out, found out once from all of its paths."""

    def __init__(self, files: list[File], in_archive: bool, slugs: tuple[str, ...]):
        self.slugs = slugs
        paths = [file.parts for file in files]
        stamped = {path[:-1] for path in paths if path[-1] == "timestamp.txt" and len(path) > 2}
        self.nbgrader_folders = stamped
        notebooks = [path for path in paths if path[-1].lower().endswith(".ipynb")]
        self.submitted = next((path.index("submitted") for path in notebooks if "submitted" in path[:2]), None)
        self.strip = 1 if in_archive and self._has_outer_folder(notebooks) else 0

    def sender(self, file: File) -> Sender | None:
        """Who handed it in; None where it is not a student's, as nbgrader's own copies beside `submitted`."""
        parts = file.parts
        if self.submitted is not None:
            parts = parts[self.submitted + 1 :] if parts[self.submitted : self.submitted + 1] == ("submitted",) else ()
            return Sender(_tidy(parts[0]), parts[-1]) if len(parts) > 1 else None
        for part in parts:
            if found := _MOODLE.fullmatch(part):
                return _from_platform(found, found["file"] if part == parts[-1] else parts[-1])
        if found := _CANVAS.fullmatch(parts[-1]):
            return _from_platform(found, found["file"])
        folder = next((parts[:n] for n in range(len(parts) - 1, 1, -1) if parts[:n] in self.nbgrader_folders), None)
        if folder:
            return Sender(_tidy(folder[-2]), parts[-1])
        parts = parts[self.strip :]
        if len(parts) > 1:
            return self._from_folder(parts)
        stem = parts[-1].rsplit(".", 1)[0]
        return Sender(_tidy(self._without_chapter(stem)) or stem, parts[-1])

    def _from_folder(self, parts: tuple[str, ...]) -> Sender:
        folder = re.sub(r"\.(zip|tar|tgz|tbz2|txz|tar\.\w+)$", "", parts[0])  # an archive that a student sent
        if found := _CANVAS.fullmatch(folder):
            return _from_platform(found, parts[-1])
        return Sender(_tidy(folder), parts[-1])

    def _without_chapter(self, stem: str) -> str:
        """What is left of "05_attention_ann" or "ann 05_attention" without the chapter's name."""
        for slug in self.slugs:
            if slug in stem and stem != slug:
                return " ".join(part.strip(" _-()") for part in stem.split(slug)).strip()
        return stem

    @staticmethod
    def _has_outer_folder(notebooks: list[tuple[str, ...]]) -> bool:
        """Whether one folder holds those of several students, as when a folder has been zipped."""
        outer = {path[0] for path in notebooks}
        return len(outer) == 1 and len({path[1] for path in notebooks if len(path) > 2}) > 1


def _from_platform(found: re.Match, name: str) -> Sender:
    groups = found.groupdict()
    stem, dot, ending = name.rpartition(".")
    again = _AGAIN.search(stem) if groups.get("submission") else None
    if again:
        name = stem[: again.start()] + dot + ending
    return Sender(
        f"{_tidy(groups['name'])} ({groups['account']})",
        name,
        groups["account"],
        int(again[1]) + 1 if again else None,
        bool(groups.get("late")),
    )


def _tidy(name: str) -> str:
    """One way to write a name: composed accents, single spaces."""
    return " ".join(unicodedata.normalize("NFC", name).split())
