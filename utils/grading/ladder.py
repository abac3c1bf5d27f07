"""Hints one rung at a time: which one comes next, and how it is shown."""

from dataclasses import dataclass

from utils.exercises.declare import Exercise
from utils.grading.page import page, paragraph
from utils.grading.store import notice, take_hint


@dataclass(frozen=True)
class Hint:
    """One rung of an exercise's ladder; a notebook or terminal shows it."""

    exercise: str
    title: str
    number: int
    of: int
    text: str
    note: str

    @property
    def headline(self) -> str:
        return f"Hint {self.number} of {self.of} · {self.exercise} {self.title}"

    def _repr_html_(self) -> str:
        return page("hint", "?", self.headline, paragraph(self.text) + paragraph(self.note, small=True))

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(str(self))

    def __str__(self) -> str:
        return f"{self.headline}\n{self.text}\n{self.note}"


def next_hint(exercise: Exercise) -> Hint:
    """The next rung; after the last the ladder begins again."""
    rungs = exercise.hint_ladder
    lap, place = divmod(take_hint(exercise.id) - 1, len(rungs))
    again = f'hint("{exercise.id}")'
    if place + 1 == len(rungs):
        note = f"That was the last one; {again} begins again with the first."
    elif lap and place == 0:
        note = f"You have seen all {len(rungs)}, so this is the first again; {again} gives the second."
    else:
        note = f"{again} gives the next one."
    return Hint(
        exercise.id, exercise.title, place + 1, len(rungs), rungs[place], " ".join(filter(None, [note, notice()]))
    )
