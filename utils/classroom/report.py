"""The teacher's page: what this class has understood and what it has not, who needs a word, and what went wrong.

One file, no network, light and dark, and nothing in it of hidden inputs, for it may be shown in class. It is made in
one pass over the marks; only counts and names are held, and of a very large class the table of marks shows the first
students and leaves the rest to the CSV.
"""

import functools
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from utils.classroom.exports import total
from utils.classroom.known import chapters
from utils.classroom.marks import ExerciseMark
from utils.classroom.pages import file_name, render
from utils.classroom.points import Points, number
from utils.classroom.store import Standing, Store, marks
from utils.classroom.told import told

SIGNS = {
    "passed": ("✓", "good", "right"),
    "failed": ("✗", "bad", "not right yet"),
    "not_written": ("…", "none", "not written"),
    "missing": ("–", "none", "not in the notebook"),
    "timeout": ("∞", "bad", "took too long"),
    "crashed": ("!", "bad", "crashed"),
    "not_run": ("?", "bad", "could not be run"),
}
# What went wrong where no misconception explains it, by the check that decided.
STAGES = {
    "there": "nothing of this name",
    "callable": "no function",
    "signature": "other parameters",
    "runs": "an error is raised",
    "allowed": "a call that is not allowed",
    "type": "another type",
    "shape": "another shape",
    "dtype": "another dtype",
    "device": "another device",
    "untouched": "the input is changed",
    "finite": "values that are not finite",
    "property": "a property does not hold",
}
TROUBLE = ("timeout", "crashed", "not_run")
UNWRITTEN = ("not_written", "missing")
MOST_ROWS = 2_000
MOST_EXAMPLES = 200  # of students whose mistake in an exercise has no name
# An answer that more than this share of those who wrote one have alike is the usual one, and no sign of anything.
USUAL, FEW = 0.1, 3


@dataclass
class Tally:
    """What is counted over the whole class."""

    students: set[str] = field(default_factory=set)
    late: int = 0
    notebooks: int = 0
    by_exercise: dict[str, Counter] = field(default_factory=lambda: defaultdict(Counter))
    mistakes: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    unnamed: dict[str, Counter] = field(default_factory=lambda: defaultdict(Counter))
    examples: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    trouble: list[tuple[str, str, str]] = field(default_factory=list)
    tables: dict[str, list[dict]] = field(default_factory=lambda: defaultdict(list))
    notes: list[tuple[str, str]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def add(self, standing: Standing, points: Points) -> None:
        sent, graded = standing.submission, standing.graded
        self.students.add(sent.student)
        if graded is None:
            return
        self.notebooks += 1
        self.late += sent.late
        self.notes += [(sent.student, note) for note in graded.notes]
        earned, possible = total(standing, points)
        self.shares.append(earned / possible if possible else 0.0)
        for mark in graded.marks:
            self._add_mark(sent.student, mark)
        found = {mark.exercise: mark.status for mark in graded.marks}
        self.tables[standing.chapter].append({
            "name": sent.student, "file": file_name(sent.student), "earned": number(earned), "late": sent.late,
            "cells": [SIGNS[found.get(e, "missing")] for e in in_order(standing.chapter)],
        } if len(self.tables[standing.chapter]) < MOST_ROWS else {})  # fmt: skip

    def _add_mark(self, student: str, mark: ExerciseMark) -> None:
        self.by_exercise[mark.exercise][mark.status] += 1
        if mark.status in TROUBLE:
            self.trouble.append((student, mark.exercise, mark.status))
        if mark.status != "failed" or not mark.verdict:
            return
        key = mark.verdict.get("diagnosis")
        if not key:
            self.unnamed[mark.exercise][STAGES.get(mark.verdict["stage"], "other values")] += 1
            if self.unnamed[mark.exercise].total() <= MOST_EXAMPLES:
                self.examples[mark.exercise][told(mark).message].append(student)
            return
        # A mistake that any exercise can have is told of each answer in its own words: "times 4" is not "times 32".
        sentence = _message(mark.exercise, key) or told(mark).message
        self.mistakes[mark.exercise, sentence].append(student)


def in_order(slug: str) -> list[str]:
    """A chapter's exercises by their numbers."""
    return sorted(chapters()[slug].exercises, key=_number)


def teachers_page(store: Store, points: Points, class_problems: list[str], title: str = "Report on the class") -> str:
    """The page as HTML; `class_problems` are the sentences of the intake that belong to no student."""
    tally = Tally()
    for standing in store.standings():
        tally.add(standing, points)
    problems = [*class_problems, *(sentence for _, sentence in store.problems())]
    pairs, common = same_answers(store)
    names = {e: name for chapter in chapters().values() for name, e in chapter.names.items()}
    return render(
        "report.html.j2",
        title=title,
        book=store.book,
        tiles=_tiles(tally, problems),
        mistakes=_mistakes(tally, names),
        unnamed=_unnamed(tally, names),
        exercises=[_exercise(e, tally.by_exercise[e], names) for e in sorted(tally.by_exercise, key=_number)],
        legend=list(SIGNS.values()),
        tables=[_table(slug, rows, points) for slug, rows in sorted(tally.tables.items())],
        trouble=[
            {"student": s, "file": file_name(s), "exercise": e, "what": SIGNS[status][2]}
            for s, e, status in tally.trouble
        ],
        pairs=pairs,
        common=common,
        intake=problems,
        notes=tally.notes,
    )


def same_answers(store: Store) -> tuple[list[dict], list[dict]]:
    """(pairs of students with the same answers, most first; answers that many have alike)."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    written: Counter = Counter()
    for row in store.counted(marks.c.exercise, marks.c.fingerprint):
        if row.fingerprint:
            groups[row.exercise, row.fingerprint].append(row.student)
            written[row.exercise] += 1
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    common = []
    for (exercise, _), students in groups.items():
        if len(students) < 2:
            continue
        if len(students) > max(FEW, USUAL * written[exercise]):
            common.append({"exercise": exercise, "count": len(students)})
        elif len(students) <= 50:
            for pair in combinations(sorted(students), 2):
                shared[pair].append(exercise)
    pairs = [
        {"first": a, "second": b, "first_file": file_name(a), "second_file": file_name(b),
         "exercises": sorted(exercises, key=_number)}
        for (a, b), exercises in shared.items()
    ]  # fmt: skip
    pairs.sort(key=lambda pair: (-len(pair["exercises"]), pair["first"], pair["second"]))
    return pairs, sorted(common, key=lambda c: (_number(c["exercise"]), -c["count"]))


def _tiles(tally: Tally, problems: list[str]) -> list[tuple[str, str]]:
    shares = sorted(tally.shares)
    middle = f"{100 * shares[len(shares) // 2]:.0f} %" if shares else "–"
    return [
        (f"{len(tally.students):,}", "students"),
        (f"{tally.notebooks:,}", "notebooks graded"),
        (middle, "of the points, half have less"),
        (f"{tally.late:,}", "late"),
        (f"{len(tally.trouble):,}", "time-outs and crashes"),
        (f"{len(problems):,}", "problems of intake"),
    ]


def _mistakes(tally: Tally, names: dict[str, str]) -> list[dict[str, Any]]:
    found = [
        {
            "exercise": exercise,
            "name": names[exercise],
            "message": sentence,
            "who": _linked(who),
        }
        for (exercise, sentence), who in tally.mistakes.items()
    ]
    return sorted(found, key=lambda m: (-len(m["who"]), _number(m["exercise"]), m["message"]))


def _linked(students: list[str]) -> list[dict[str, str]]:
    return [{"name": student, "file": file_name(student)} for student in students]


def _most_first(item: tuple[str, list[str]]) -> tuple[int, str]:
    message, students = item
    return -len(students), message


def _unnamed(tally: Tally, names: dict[str, str]) -> list[dict[str, Any]]:
    found = [
        {"exercise": e, "name": names[e], "count": counts.total(),
         "examples": [(message, _linked(who)) for message, who in sorted(tally.examples[e].items(), key=_most_first)],
         "more": max(0, counts.total() - MOST_EXAMPLES),
         "kinds": ", ".join(f"{kind} ({n})" for kind, n in counts.most_common())}
        for e, counts in tally.unnamed.items()
    ]  # fmt: skip
    return sorted(found, key=lambda u: (-u["count"], _number(u["exercise"])))


@functools.lru_cache(maxsize=4096)
def _message(exercise: str, key: str) -> str | None:
    """What the book says about a wrong answer of this exercise; None for a mistake that any exercise can have."""
    from utils.exercises import exercise as find

    return next((wrong.message for wrong in find(exercise).wrongs if wrong.key == key), None)


def _exercise(exercise: str, counts: Counter, names: dict[str, str]) -> dict[str, Any]:
    everyone = counts.total()
    passed, failed = counts["passed"], counts["failed"]
    trouble = sum(counts[status] for status in TROUBLE)
    share = {k: round(100 * n / everyone, 2) for k, n in (("p", passed), ("f", failed), ("t", trouble))}
    return share | {
        "exercise": exercise, "name": names[exercise], "passed": passed, "failed": failed, "trouble": trouble,
        "unwritten": sum(counts[status] for status in UNWRITTEN), "percent": round(100 * passed / everyone),
    }  # fmt: skip


def _table(slug: str, rows: list[dict], points: Points) -> dict[str, Any]:
    exercises = in_order(slug)
    return {
        "title": f"{slug[:2]} · {chapters()[slug].title}",
        "possible": number(sum(map(points.worth, exercises))),
        "exercises": exercises,
        "rows": rows[:MOST_ROWS],
        "more": max(0, len(rows) - MOST_ROWS),
    }


def _number(exercise: str) -> list[int]:
    return [int(part) for part in exercise.split(".")]
