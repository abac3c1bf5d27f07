"""Two answers are the same when names, comments, annotations and layout are all that differ."""

import pytest

from utils.classroom.known import chapters
from utils.classroom.similar import fingerprint

STUB = 'def f(x, y):\n    """What it does."""\n    raise NotImplementedError("Write f here, then run the next cell.")\n'
ANSWER = '''
def f(x: Float[Tensor, "a b"], y) -> int:
    """What it does."""
    total = 0
    for row in x:
        # the largest first
        total += max(row, key=lambda v: v * y) if len(row) > 2 else row[0] ** 2
    helper = [total for _ in range(3)]
    return sum(helper) / len(helper)
'''


def of(source):
    return fingerprint(source, "f", STUB)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.replace("total", "acc").replace("row", "line").replace("helper", "h"),
        lambda s: s.replace("x:", "matrix:").replace("in x", "in matrix").replace(", y)", ", k)").replace("* y", "* k"),
        lambda s: s.replace('"""What it does."""', '"""Mine."""').replace("# the largest first", "# !"),
        lambda s: s.replace(': Float[Tensor, "a b"]', "").replace(" -> int", ""),
        lambda s: s.replace("total = 0", "total: int = 0"),
        lambda s: s.replace("    ", "  ").replace("max(row, key", "max(\n    row,\n    key"),
        lambda s: "import math\n" + s + "\nf([[1]], 2)\n",
        lambda s: "@torch.no_grad()" + s,
    ],
)
def test_what_makes_no_difference(change):
    assert change(ANSWER) != ANSWER
    assert of(change(ANSWER)) == of(ANSWER) is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.replace("> 2", "> 3"),
        lambda s: s.replace("sum(helper)", "max(helper)"),
        lambda s: s.replace("+=", "-="),
        lambda s: s.replace("v * y", "y * v"),
        lambda s: s.replace("/ len", "// len"),
    ],
)
def test_what_makes_a_difference(change):
    assert of(change(ANSWER)) not in (of(ANSWER), None)


@pytest.mark.parametrize(
    "source",
    [
        STUB,
        STUB.replace("(x, y)", "(a, b)").replace("What it does", "Mine"),
        "def f(x, y):\n    return x @ y\n",
        "def g(x, y):\n" + "    x = x + y * 2\n" * 20,
        "not python (",
        "",
        "\0",
        "(" * 5000,
        "def f(x, y):\n    return [" + "x, " * 500_000 + "]",
    ],
)
def test_what_tells_nothing(source):
    assert of(source) is None


@pytest.mark.parametrize("slug", chapters())
def test_no_shipped_stub_has_a_fingerprint(slug):
    chapter = chapters()[slug]
    for name, exercise in chapter.names.items():
        stub = chapter.stub(exercise)
        assert fingerprint(stub, name, stub) is None
        assert fingerprint(stub.replace("the next cell", "it"), name, stub) is None, "a stub with other words in it"
