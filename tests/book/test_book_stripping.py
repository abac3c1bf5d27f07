"""An answer becomes one stub; what is around it stays; no telling line of it is left where the learner reads."""

import ast

import pytest

from utils.book.lint import lint
from utils.book.source import read_chapter
from utils.book.strip import chapter_text, leaks, solution_text, stub

GRADE = '\n\n# %% key="g"\ngrade(f)\n'


@pytest.fixture
def stripped(titled):
    def strip(code: str) -> tuple[str, str]:
        shelf = titled('# %% key="a" exercise="05.1"\n' + code + GRADE)
        chapter = read_chapter(shelf.source("05_tiny"))
        cell = chapter.cells[1]
        return chapter_text(cell), solution_text(cell)

    return strip


CASES = {
    "function": (
        "def f(x):\n    '''Doc.'''\n    # SOLUTION\n    return x\n    # END",
        "def f(x):\n    '''Doc.'''\n    {f}",
    ),
    "async": ("async def f(x):\n    # SOLUTION\n    await x\n    # END", "async def f(x):\n    {f}"),
    "two regions": (
        "def f(x):\n    # SOLUTION\n    y = x\n    # END\n    y += 1\n    # SOLUTION\n    return y\n    # END",
        "def f(x):\n    {f}\n    y += 1\n    {f}",
    ),
    "methods": (
        "class f:\n    def __init__(self):\n        # SOLUTION\n        self.x = 1\n        # END\n\n"
        "    @property\n    def y(self):\n        # SOLUTION\n        return 2\n        # END",
        "class f:\n    def __init__(self):\n        {f.__init__}\n\n    @property\n    def y(self):\n        {f.y}",
    ),
    "nested": (
        "def f(x):\n    def inner(y):\n        # SOLUTION\n        return y\n        # END\n\n    return inner(x)",
        "def f(x):\n    def inner(y):\n        {f.inner}\n\n    return inner(x)",
    ),
    "decorated inside": (
        "def f(x):\n    # SOLUTION\n    @staticmethod\n    def g():\n        return x\n\n    return g\n    # END",
        "def f(x):\n    {f}",
    ),
    "markers in strings": (
        'def f(x):\n    """\n    # SOLUTION\n    """\n'
        '    # SOLUTION\n    s = """\n# END\n    """\n    return s\n    # END',
        'def f(x):\n    """\n    # SOLUTION\n    """\n    {f}',
    ),
    "in a branch": (
        "def f(x):\n    try:\n        # SOLUTION\n        return x\n        # END\n    except OSError:\n        x = 1",
        "def f(x):\n    try:\n        {f}\n    except OSError:\n        x = 1",
    ),
    "in a case": (
        "def f(x):\n    match x:\n        case 1:\n            # SOLUTION\n            return x\n            # END",
        "def f(x):\n    match x:\n        case 1:\n            {f}",
    ),
    "two statements a line": ("def f(x):\n    # SOLUTION\n    y = x; return y\n    # END", "def f(x):\n    {f}"),
    "blank lines inside": ("def f(x):\n    # SOLUTION\n\n    y = x\n\n    return y\n\n    # END", "def f(x):\n    {f}"),
}


@pytest.mark.parametrize("code, expected", CASES.values(), ids=CASES)
def test_each_answer_becomes_one_stub_at_its_place(stripped, code, expected):
    learner, solution = stripped(code)
    for name in ("f.__init__", "f.inner", "f.y", "f"):
        expected = expected.replace("{" + name + "}", stub(name))
    assert learner == expected
    ast.parse(learner)
    assert ast.dump(ast.parse(solution)) == ast.dump(ast.parse(code))
    assert "# SOLUTION" not in solution.replace('"""\n    # SOLUTION', "")


def test_the_stub_says_what_to_write_when_it_is_called_and_not_before(stripped):
    learner, _ = stripped("def f(x):\n    # SOLUTION\n    return x\n    # END")
    names: dict = {}
    exec(learner, names)
    with pytest.raises(NotImplementedError, match=r"^Write f here, then run the next cell\.$"):
        names["f"](1)


def test_cells_of_the_solutions_are_left_out(tiny_text, book):
    chapter = read_chapter(book(tiny_text).source("05_tiny"))
    left_out = [cell.flags.key for cell in chapter.cells if chapter_text(cell) is None]
    assert left_out == ["halve-why", "halve-second"]


ANSWER = '# %% key="a" exercise="05.1"\ndef f(x):\n    # SOLUTION\n    {}\n    return weights\n    # END' + GRADE
LINE = "weights = x.softmax(dim=-1) / 2.0  # halved"


@pytest.mark.parametrize(
    "cell",
    [
        '# %% [markdown] key="z"\n# Write `weights = x.softmax(dim=-1) / 2.0`, nothing else.\n',
        '# %% key="z"\nweights = x.softmax(dim=-1)/2.0\n',
        '# %% key="z"\nif True:\n    # weights = x.softmax( dim=-1 ) / 2.0\n    pass\n',
    ],
)
def test_a_line_of_an_answer_anywhere_in_the_chapter_is_found(titled, cell):
    shelf = titled(ANSWER.format(LINE) + "\n" + cell)
    (problem,) = lint(read_chapter(shelf.source("05_tiny")))
    assert problem.line == 7 and 'also stands in the cell "z"' in problem.sentence


@pytest.mark.parametrize(
    "line", ["return weights", "batch, pos, d_model = x.shape", "import torch.nn.functional as F", "y = x.mean()"]
)
def test_lines_that_any_code_has_give_nothing_away(titled, line):
    text = ANSWER.format(line)
    assert line in text
    shelf = titled(text + f'\n# %% [markdown] key="z"\n#     {line}\n')
    assert lint(read_chapter(shelf.source("05_tiny"))) == []


def test_a_line_of_a_cell_that_only_solutions_hold_is_an_answer_too(titled):
    second = '\n# %% key="b" solution="05.1"\ntorch.special.softmax(x, -1)\n'
    prose = '\n# %% [markdown] key="z"\n# Or `torch.special.softmax(x, -1)`.\n'
    shelf = titled(ANSWER.format(LINE) + second + prose)
    chapter = read_chapter(shelf.source("05_tiny"))
    texts = {cell.flags.key: text for cell in chapter.cells if (text := chapter_text(cell)) is not None}
    assert [(leak.answer, leak.cell_key) for leak in leaks(chapter, texts)] == [("torch.special.softmax(x, -1)", "z")]
