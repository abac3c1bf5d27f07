"""A grader without a sandbox: an answer's comment says what becomes of it, as in `# fake: failed no_scale`."""

import os
import re
import signal

from utils.classroom.known import chapters
from utils.classroom.marks import ExerciseMark, Graded, verdict_as_json
from utils.grading.verdict import Mismatch, Verdict

SAID = re.compile(r"# fake: (\w+) ?(\w*)")
SENTENCES = {"no_scale": "Nothing divides by √d_head.", "": "The values are not right yet."}


def first_time():
    """True once, however many processes ask."""
    try:
        os.close(os.open(os.environ["FAKE_GRADER_FLAG"], os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


class Grader:
    def __init__(self, seed, sandbox=True, limits=None):
        self.seed = seed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def grade(self, notebook, student):
        answers = {cell.exercise: cell.source for cell in notebook.cells if cell.exercise}
        made = [self._mark(e, answers.get(e)) for e in chapters()[notebook.chapter].exercises]
        return Graded(student, notebook.chapter, notebook.digest, tuple(made), notebook.notes, 0.01)

    def _mark(self, exercise, source):
        if source is None:
            return ExerciseMark(exercise, "missing")
        said = SAID.search(source)
        status, key = said.groups() if said else ("passed", "")
        if "NotImplementedError" in source:
            status = "not_written"
        if status == "kills" or (status == "killsonce" and first_time()):
            os.kill(os.getpid(), signal.SIGKILL)
        if status == "killsgrader" and first_time():
            os.kill(int(os.environ["FAKE_GRADER_COMMAND"]), signal.SIGKILL)
            signal.pause()  # until Dask sees that the grader is gone
        if status == "breaks":
            raise RuntimeError("a fault of the book's")
        status = "passed" if status in ("killsonce", "killsgrader") else status
        return ExerciseMark(exercise, status, self._verdict(exercise, status, key), 0.001, source)

    def _verdict(self, exercise, status, key):
        if status not in ("passed", "failed"):
            return None
        passed = status == "passed"
        if passed:
            return verdict_as_json(Verdict(exercise, "a title", True, "passed", "It is right.", checked=("12 values",)))
        place = (("batch", 0), ("query_pos", 1))
        where = Mismatch(place, 3.0, 1.5, 2, 4, 3.0, 1e-5, ((0.0, 1.0), (0.4, 0.0)), ("batch", "query_pos"))
        return verdict_as_json(
            Verdict(exercise, "a title", False, "reference", SENTENCES.get(key, key), diagnosis=key or None,
                    mismatch=where, printed="SECRET INPUT", wanted_shape=place, got_shape=place,
                    where="on the reference model's own values", advice=f'hint("{exercise}") gives a hint.')
        )  # fmt: skip
