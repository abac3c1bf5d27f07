"""What a class handed in, one piece at a time: found, told apart by student, read, cleaned and matched to the book.

Nothing that a student can do to a file stops the intake. What cannot be read or recognized becomes a sentence on that
student's submission, and the rest goes on. Only names are held for the whole class; the contents of one student's
files at a time.
"""

import unicodedata
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from utils.classroom.archives import Collection, File, Limits, Unreadable
from utils.classroom.decoding import NoNotebook, read_cells
from utils.classroom.known import chapters
from utils.classroom.marks import Cell, Notebook, Submission
from utils.classroom.matching import chapter_of, matched
from utils.classroom.names import Layout, Sender
from utils.grading.text import one_line

MOST_OF_A_STUDENT = 100

__all__ = ["Cell", "Intake", "Notebook", "Received", "clean"]


@dataclass(frozen=True)
class Received:
    """One thing handed in. `counts` is False where the same student's later one takes its place."""

    submission: Submission
    notebook: Notebook | None
    counts: bool


class Intake(AbstractContextManager):
    """All submissions at a path; `chapter` leaves out those of other chapters.

    `total` is the number of notebooks found, `problems` what belongs to no student, one sentence each.
    """

    def __init__(self, path: Path, chapter: str | None = None, limits: Limits | None = None):
        self.chapter = chapter
        self._collection = Collection(Path(path), limits or Limits())
        files = self._collection.files()
        layout = Layout(files, self._collection.is_archive, tuple(chapters()))
        self.problems: list[str] = []
        self._by_student: dict[str, list[tuple[Sender, File]]] = {}
        for file in files:
            if sender := layout.sender(file):
                self._by_student.setdefault(sender.student, []).append((sender, file))
        self.total = sum(_is_notebook(file) for group in self._by_student.values() for _, file in group)
        self._left_out = self._by_owner(layout)
        self.problems += self._nearly_the_same_names()
        if not self._by_student:
            self.problems.append(f"There is no file of a student in {path}.")

    def __exit__(self, *_) -> None:
        self._collection.__exit__()

    @property
    def students(self) -> list[str]:
        return sorted(self._by_student)

    def __iter__(self) -> Iterator[Received]:
        for student in self.students:
            yield from self._of_student(student)

    def _of_student(self, student: str) -> Iterator[Received]:
        group = self._by_student[student]
        stamps = _timestamps(group)
        notebooks = [(sender, file) for sender, file in group if _is_notebook(file)]
        found = [self._read(sender, file, stamps) for sender, file in notebooks[:MOST_OF_A_STUDENT]]
        wrong_chapter = [r for r in found if r.notebook and self.chapter not in (None, r.notebook.chapter)]
        found = [r for r in found if r not in wrong_chapter]
        latest: dict[str, Received] = {}
        for received in sorted((r for r in found if r.notebook), key=_order):
            latest[received.notebook.chapter] = received
        problems = list(self._left_out.get(student, ()))
        if len(notebooks) > MOST_OF_A_STUDENT:
            problems.append(f"{student} handed in {len(notebooks)} notebooks: the first {MOST_OF_A_STUDENT} are read.")
        if not any(r.notebook for r in found):
            problems.append(self._nothing(student, group, bool(wrong_chapter)))
        path = group[0][1].parts[0]
        for received in found:
            counts = received.notebook is not None and latest[received.notebook.chapter] is received
            sent = received.submission
            if received.notebook is None and sent.path == path:  # a file that lies in no folder: one record of it
                received = replace(received, submission=replace(sent, problems=(*sent.problems, *problems)))
                problems = []
            yield self._with_note(replace(received, counts=counts), found)
        if problems:
            yield Received(Submission(student, path, notebooks={}, problems=tuple(problems)), None, False)

    def _read(self, sender: Sender, file: File, stamps: dict[str, str]) -> Received:
        received = stamps.get("/".join(file.parts[:-1])) or file.modified
        sent = Submission(sender.student, file.path, sender.attempt, received, {}, (), sender.late)
        try:
            notebook = clean(file.read(), sender.name)
        except Unreadable as why:
            return Received(replace(sent, problems=(str(why),)), None, False)
        except NoNotebook as why:
            return Received(replace(sent, problems=(f"{file.path} {why}.",)), None, False)
        return Received(replace(sent, notebooks={notebook.chapter: notebook.digest}), notebook, True)

    @staticmethod
    def _with_note(received: Received, found: list[Received]) -> Received:
        """Say which of several counts."""
        notebook = received.notebook
        if not received.counts or notebook is None:
            return received
        same = [r for r in found if r.notebook and r.notebook.chapter == notebook.chapter]
        if len(same) == 1:
            return received
        note = f"It was handed in {len(same)} times; the latest counts, which is {received.submission.path}."
        return replace(received, notebook=replace(notebook, notes=(*notebook.notes, note)))

    def _nothing(self, student: str, group: list[tuple[Sender, File]], other_chapter: bool) -> str:
        if other_chapter:
            return f"{student} handed in no notebook of chapter {self.chapter}."
        names = [file.name for _, file in group if not _is_notebook(file) and file.name != "timestamp.txt"]
        others = f": only {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}" if names else ""
        return f"{student} handed in no notebook that can be graded{others}."

    def _by_owner(self, layout: Layout) -> dict[str, list[str]]:
        """What the collection left out, by the student whose it seems to be; else it is the class's."""
        owned: dict[str, list[str]] = {}
        for path, sentence in self._collection.problems:
            sender = layout.sender(File(path, None, bytes)) if "/" in path else None
            if sender and sender.student in self._by_student:
                owned.setdefault(sender.student, []).append(sentence)
            else:
                self.problems.append(sentence)
        return owned

    def _nearly_the_same_names(self) -> Iterator[str]:
        alike: dict[str, list[str]] = {}
        for student in self.students:
            alike.setdefault(unicodedata.normalize("NFKC", student).casefold(), []).append(student)
        for names in alike.values():
            if len(names) > 1:
                yield f"{' and '.join(names)} may be the same student: they are graded as {len(names)} students."


def clean(data: bytes, name: str = "") -> Notebook:
    """The notebook in a file's bytes, matched to the book. `name` is the file's, the last resort to know the chapter.

    Raises:
        NoNotebook: there is none, or it is of no chapter of the book.
    """
    raw = read_cells(data)
    chapter = chapter_of(raw, chapters(), name)
    if chapter is None:
        raise NoNotebook("is a notebook, but of no chapter of this book")
    notebook = matched(raw, chapter)
    if name and chapter.slug not in name:
        note = f"The file is called {one_line(name)}; by its cells it is chapter {chapter.slug}."
        notebook = replace(notebook, notes=(note, *notebook.notes))
    return notebook


def _is_notebook(file: File) -> bool:
    return file.name.lower().endswith(".ipynb")


def _order(received: Received) -> tuple:
    """Later is greater: by the platform's number, by time, and then a file of the chapter's own name before others."""
    sent, chapter = received.submission, received.notebook.chapter
    return sent.attempt or 0, sent.received or "", f"{chapter}.ipynb" == sent.path.rsplit("/", 1)[-1], sent.path


def _timestamps(group: list[tuple[Sender, File]]) -> dict[str, str]:
    """nbgrader's times of submission by folder, ISO 8601; what is no time is left out."""
    stamps = {}
    for _, file in group:
        if file.name == "timestamp.txt":
            try:
                text = file.read()[:100].decode("utf-8", errors="replace").strip()
                stamps["/".join(file.parts[:-1])] = _iso(text)
            except (Unreadable, ValueError):
                continue  # then the file's own time is taken
    return stamps


def _iso(text: str) -> str:
    """nbgrader writes "2031-01-31 12:34:56.789 UTC"."""
    for ending in ("UTC", "GMT"):
        if text.endswith(ending):
            text = text.removesuffix(ending).strip() + "+00:00"
    return datetime.fromisoformat(text).isoformat(timespec="seconds")
