"""The registry of the book's exercises: filled once from the modules ch00 … ch11 and checked for doubles."""

import importlib
import pkgutil

from utils.errors import BookError

_by_id: dict = {}
_loaded = False


class UnknownExercise(BookError):
    """No exercise has this id or this name."""


def register(exercise) -> None:
    """Called by each declaration. Two exercises with one id are a fault of the book's."""
    if exercise.id in _by_id:
        raise ValueError(f"Exercise {exercise.id} is declared twice.")
    _by_id[exercise.id] = exercise


def _load() -> None:
    global _loaded
    if _loaded:
        return
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("ch") and m.name[2:].isdigit())
    for name in names:
        importlib.import_module(f"{__name__}.{name}")
    _loaded = True


def all_exercises(chapter: int | None = None) -> list:
    """Every exercise in the book's order, or those of one chapter."""
    _load()
    wanted = [e for e in _by_id.values() if chapter is None or e.chapter == chapter]
    return sorted(wanted, key=lambda e: (e.chapter, int(e.id.split(".")[1])))


def exercise(id_or_name: str):
    """The exercise of this id ("05.2") or of this answer's name ("attention_scores").

    Raises:
        UnknownExercise: neither is known; the sentence names the nearest ones.
    """
    _load()
    if not isinstance(id_or_name, str):
        raise UnknownExercise('Say which exercise by its id or its name, as "05.2" or "attention_scores".')
    if id_or_name in _by_id:
        return _by_id[id_or_name]
    found = [e for e in all_exercises() if e.name == id_or_name]
    if len(found) == 1:
        return found[0]
    if found:
        ids = " and ".join(e.id for e in found)
        raise UnknownExercise(
            f'Exercises {ids} are both called {id_or_name}: say which, as in grade({id_or_name}, "{found[0].id}").'
        )
    import difflib

    near = difflib.get_close_matches(str(id_or_name), [e.name for e in all_exercises()] + list(_by_id), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ' Say which one you mean: grade(answer, "05.2").'
    raise UnknownExercise(f"No exercise of this book is called {id_or_name!r}.{hint}")
