"""Every fault of a source is named with its line and a sentence; nothing else is found, and nothing escapes."""

import pytest

from utils.book.lint import lint
from utils.book.problems import BuildProblem, SourceProblem
from utils.book.source import read_chapter

EXERCISE = '# %% key="a" exercise="05.1"\n'
GRADE = '\n\n# %% key="g"\ngrade(f)\n'


def found(shelf) -> list[tuple[int, str]]:
    path = shelf.source("05_tiny")
    try:
        return [(problem.line, problem.sentence) for problem in lint(read_chapter(path))]
    except SourceProblem as faults:
        return [(problem.line, problem.sentence) for problem in faults.problems]


HEADERS = [
    ("# %%\nx = 1\n", 4, "this cell has no key"),
    ('# %% key="title"\nx = 1\n', 4, 'the key "title" is taken by line 1'),
    ('# %% key="A b"\nx = 1\n', 4, "key is 'A b'"),
    ("# %% key=3\nx = 1\n", 4, "key is 3"),
    ('# %% key="a" key="b"\nx = 1\n', 4, "key is given twice"),
    ('# %% key="a" covrs="N1"\nx = 1\n', 4, "the header flag 'covrs' means nothing here"),
    ('# %% Hello key="a"\nx = 1\n', 4, "a header holds flags only, and 'Hello' is none"),
    ('# %% key="a" tags=[1\nx = 1\n', 4, "the header's flags cannot be read"),
    ('# %% key="a" tags="demo"\nx = 1\n', 4, "tags is not a list"),
    ('# %% key="a" tags=["demos"]\nx = 1\n', 4, "the tag 'demos' is not known"),
    ('# %% key="a" covers="Z3"\nx = 1\n', 4, "covers names 'Z3'"),
    ('# %% key="a" covers="N99"\nx = 1\n', 4, "covers names N99, which is no row"),
    ('# %% key="a" covers=["N3"]\nx = 1\n', 4, "covers is ['N3']"),
    ('# %% [raw] key="a"\n# x\n', 4, "a raw cell"),
    ('# %% [md] key="a"\n# x\n', 4, "[md] in a header: write [markdown]"),
    ('#%% key="a"\nx = 1\n', 4, "jupytext would begin a cell here"),
    ('# %% key="a"\n# <codecell>\nx = 1\n', 5, "jupytext would begin a cell here"),
    ('# %% key="a"\ndef f():\n    # %% key="b"\n    pass\n', 6, "jupytext would begin a cell here"),
    ('# %% [markdown] key="a"\n# ```\n# %% pie\n# ```\n', 6, "jupytext sees no cell begin here"),
    ('# %% key="a"\n\n# %% key="b"\nx = 1\n', 4, "this cell is empty"),
]

TEXT = [
    ('# %% [markdown] key="a"\n# ### deep\n', 5, "a level 3 heading after a level 1"),
    ('# %% [markdown] key="a"\n# # two\n', 5, "a second `#` heading"),
    ('# %% [markdown] key="a"\n# Two\n# ===\n', 5, "a second `#` heading"),
    ('# %% [markdown] key="a"\n# <h1>two</h1>\n', 5, "a second `#` heading"),
    ('# %% [markdown] key="a"\n# words\n#\n# ![](x.png)\n', 7, "a picture without alt text"),
    ('# %% [markdown] key="a"\n# words\n#\n# ![ ][x]\n#\n# [x]: a.png\n', 7, "a picture without alt text"),
    ('# %% [markdown] key="a"\n# words <img src="x">\n', 5, "a picture without alt text"),
    ('# %% [markdown] key="a"\n# <div>\n# <img src="x" alt="">\n# </div>\n', 5, "a picture without alt text"),
    ('# %% [markdown] key="a"\n"""\nhi\n"""\n', 5, "text of a markdown cell begins with `# `"),
    ('# %% [markdown] key="a"\n# hi\nx = 1\n', 6, "text of a markdown cell begins with `# `"),
    ('# %% key="a"\n' + "x = 1\n" * 26, 4, "a code cell of 26 lines"),
]

CODE = [
    ('# %% key="a"\n# %nomagic\n', 5, "`%nomagic` is no line magic"),
    ('# %% key="a"\n# %%nomagic\nx = 1\n', 5, "`%%nomagic` is no cell magic"),
    ('# %% key="a"\nx = 1\n# %%time\n', 6, "the cell magic `%%time` works on the first line"),
    ('# %% key="a"\n# y = %nomagic 3\n', 5, "`%nomagic` is no line magic"),
    ('# %% key="a"\nif True:\n    # %d holes\n    x = 1\n', 6, "`%d` is no line magic"),
    ('# %% key="a"\n# %pip install torch\n', 5, "`%pip` does what the reader's machine happens to do"),
    ('# %% key="a"\n# !ls\n', 5, "jupytext takes the comment `# !ls`"),
    ('# %% key="a"\n# ?print\n', 5, "jupytext takes the comment `# ?print`"),
    ('# %% key="a"\n# why?\nx = 1\n', 5, "jupytext takes the comment `# why?`"),
    ('# %% key="a"\n# cat is an animal\nx = 1\n', 5, "jupytext takes the comment `# cat is an animal`"),
    ('# %% key="a"\nx = = 1\n', 5, "this is not Python"),
    ('# %% key="a"\nreturn 1\n', 5, "this is not Python"),
    ('# %% key="a"\n%matplotlib inline\n', 5, "write a magic as a comment, `# %matplotlib inline`"),
    ('# %% key="a"\ns = """\n', 5, "this is not Python"),
    ('# %% key="a"\nif True:\n\tx = 1\n', 6, "a tab in the indentation"),
    ('# %% key="a"\nx = "a\u2028b"\n', 5, "a character that ends a line for some programs"),
    ('# %% key="a"\nx = "\0"\n', 5, "a NUL character"),
]

EXERCISES = [
    (EXERCISE + "def f(x):\n    # SOLUTION\n    return x" + GRADE, 6, "this `# SOLUTION` has no `# END` in its cell"),
    (EXERCISE + "def f(x):\n    return x\n    # END" + GRADE, 7, "this `# END` has no `# SOLUTION`"),
    (EXERCISE + "def f(x):\n    # SOLUTION\n    # SOLUTION\n    return x\n    # END" + GRADE, 6, "before the next"),
    (EXERCISE + "def f(x):\n    # Solution:\n    return x" + GRADE, 6, "`# Solution:` is nearly a marker"),
    (EXERCISE + "def f(x):\n    y = 1  # END\n    return y" + GRADE, 6, "`# END` stands on a line of its own"),
    (EXERCISE + "# SOLUTION\nf = 1\n# END" + GRADE, 5, "this region is not inside a function"),
    (EXERCISE + "class f:\n    # SOLUTION\n    x = 1\n    # END" + GRADE, 6, "this region is not inside a function"),
    (EXERCISE + "def f(x):\n    # SOLUTION\n    # words\n    # END\n    return x" + GRADE, 6, "holds no statement"),
    (EXERCISE + "def f(x):\n    # SOLUTION\n    return x\n# END" + GRADE, 6, "stand at the indentation of the code"),
    (EXERCISE + "def f(x):\n  # SOLUTION\n    return x\n  # END" + GRADE, 6, "stand at the indentation of the code"),
    (
        EXERCISE
        + "def f(x):\n    if x:\n        # SOLUTION\n        return 1\n    else:\n        x = 2\n        # END"
        + GRADE,
        7,
        "this region spans more than one block",
    ),
    (
        EXERCISE + "def f(x):\n    return (\n        # SOLUTION\n        x\n        # END\n    )" + GRADE,
        7,
        "a statement runs across",
    ),
    (
        EXERCISE + "def f(x):\n    # SOLUTION\n    y = (x +\n    # END\n        1)\n    return y" + GRADE,
        6,
        "a statement runs across",
    ),
    (
        '# %% key="a"\ndef f(x):\n    # SOLUTION\n    return x\n    # END' + GRADE,
        6,
        "an answer in a cell without exercise",
    ),
    (EXERCISE + "def f(x):\n    return x" + GRADE, 4, "an exercise without an answer"),
    (EXERCISE + "def f(x):\n    # SOLUTION\n    return x\n    # END\n", 4, "let it call grade(f)"),
    (EXERCISE + "def h(x):\n    # SOLUTION\n    return x\n    # END" + GRADE, 4, "let it call grade(h)"),
    ('# %% key="a" exercise="06.1"\nx = 1\n', 4, "exercise 06.1 does not belong to chapter 05"),
    ('# %% [markdown] key="a" exercise="05.1"\n# x\n', 4, "this is a markdown cell"),
    ('# %% [markdown] key="a" solution="05.1"\n# x\n', 4, "solution 05.1 has no exercise cell"),
]


@pytest.mark.parametrize("text, line, sentence", HEADERS + TEXT + CODE + EXERCISES)
def test_the_fault_is_named_with_its_line(titled, text, line, sentence):
    problems = found(titled(text))
    assert [line] == [where for where, what in problems if sentence in what]
    assert len(problems) == 1 + sum(where > line for where, _ in problems)  # at most more of the same cell


WHOLE_FILES = [
    (b"", 0, "the file is empty"),
    (b"\n \n", 0, "the file is empty"),
    (b"# only a note\n", 0, "no cell was found"),
    (b'# %% key="a"\nx = "\xff"\n', 2, "this line is not UTF-8"),
    (b'import os\n# %% key="a"\nx = 1\n', 1, "this line belongs to no cell"),
    (b'# %% key="a"\nx = 1\n', 1, "there is no title"),
    (b'# %% [markdown] key="a"\n# ## Two\n', 2, "a level 2 heading as the first heading"),
]


@pytest.mark.parametrize("data, line, sentence", WHOLE_FILES)
def test_a_file_that_is_no_chapter_is_named(book, data, line, sentence):
    ((where, what),) = found(book(data))
    assert (where, sentence in what) == (line, True)


SOUND = [
    '# %% key="a"\n# %matplotlib inline\nx = 1\n',
    '# %% key="a"\n# %%time\nx = 1\n',
    '# %% key="a"\ns = """\n# %% key="b"\n# SOLUTION\n# %nomagic\n"""\n',
    '# %% key="a"\nx = 1  # it\'s """ quoted\n\n# %% key="b"\ny = 2\n',
    '# %% key="a"\n' + "x = 1\n" * 25,
    '# %% key="a"\nawait x\n',
    '# %% [markdown] key="a"\n# <img src="x" alt="a square"> and ![a circle](y.svg)\n#\n# ```\n# # no heading\n# ```\n',
    EXERCISE + "def f(x):\n    # SOLUTION\n" + "    x = x\n" * 40 + "    # END" + GRADE,
]


@pytest.mark.parametrize("text", SOUND)
def test_what_is_sound_is_left_alone(titled, text):
    assert found(titled(text)) == []


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(book, tiny_text):
    plain = read_chapter(book(tiny_text).source("05_tiny"))
    windows = read_chapter(book(b"\xef\xbb\xbf" + tiny_text.replace("\n", "\r\n").encode()).source("05_tiny"))
    assert plain == windows


def test_all_faults_are_told_at_once_as_file_line_sentence(titled):
    shelf = titled('# %% key="a" tags=["demos"]\nx = 1\n\n# %% key="B"\ny = 1\n')
    with pytest.raises(SourceProblem) as raised:
        read_chapter(shelf.source("05_tiny"))
    first, second = str(raised.value).split("\n")
    assert first.endswith("05_tiny.py:4: the tag 'demos' is not known: use " + first.partition("use ")[2])
    assert "05_tiny.py:7: key is 'B'" in second


def test_headings_are_judged_in_the_chapter_and_in_the_solutions(titled):
    answer = EXERCISE + "def f(x):\n    # SOLUTION\n    return x\n    # END" + GRADE
    only_there = '\n# %% [markdown] key="b" solution="05.1"\n# ## Two\n\n# %% [markdown] key="c"\n# ### Three\n'
    assert found(titled(answer + only_there)) == [
        (17, "a level 3 heading after a level 1: use level 2, so that no level is skipped.")
    ]


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(BuildProblem, match="there is no such file"):
        read_chapter(tmp_path / "05_none.py")
    (tmp_path / "05_folder.py").mkdir()
    with pytest.raises(BuildProblem, match=": it cannot be read"):
        read_chapter(tmp_path / "05_folder.py")
