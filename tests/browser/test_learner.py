"""A learner's way through each chapter in a real browser: the stub, a wrong answer and its name, a hint, the right one.

What the report and the hint say is taken from the exercise's own declaration, so that the test follows the wording.
"""

import re
from dataclasses import dataclass

import nbformat
import pytest

from utils.exercises import exercise
from utils.paths import chapters_dir

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STUB = "raise NotImplementedError"


@dataclass(frozen=True)
class Walk:
    """One exercise of a chapter: a line that is wrong, the key of the mistake, and a line that is right."""

    id: str
    wrong: str
    key: str
    right: str


WALKS = [
    Walk("00.1", "return x - x.mean()", "mean_over_everything", "return x - x.mean(-1, keepdim=True)"),
    Walk("01.4", "return inner @ outer", "other_order", "return outer @ inner"),
    Walk(
        "02.2",
        "return [ord(character) for character in text]",
        "code_points",
        'return list(text.encode("utf-8"))',
    ),
    Walk("03.1", "return W_E.roll(-1, 0)[tokens]", "row_after", "return W_E[tokens]"),
    Walk(
        "04.1",
        "return x.var(-1, unbiased=False, keepdim=True).sqrt() + eps",
        "eps_outside_the_root",
        "return (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt()",
    ),
    Walk(
        "05.2",
        'return einsum(q, k, "b i h d, b j h d -> b h i j")',
        "no_scale",
        'return einsum(q, k, "b i h d, b j h d -> b h i j") / q.shape[-1] ** 0.5',
    ),
    Walk("06.2", "return x @ W_in", "bias_forgotten", "return x @ W_in + b_in"),
    Walk("07.4", "return logits[:, 0].softmax(-1)", "first_position", "return logits[:, -1].softmax(-1)"),
    Walk(
        "08.2",
        "return -((torch.bincount(train.flatten(), minlength=d_vocab) + 1)"
        " / (train.numel() + d_vocab)).log()[test].mean().item()",
        "position_0_counted",
        "return -((torch.bincount(train[:, 1:].flatten(), minlength=d_vocab) + 1)"
        " / (train[:, 1:].numel() + d_vocab)).log()[test[:, 1:]].mean().item()",
    ),
    Walk("09.1", "return logits.argmin(-1)", "argmin", "return logits.argmax(-1)"),
    Walk(
        "10.1",
        'return einsum(components, W_U[:, answer] - W_U[:, wrong], "c b m, m b -> c b")',
        "no_final_scale",
        'return einsum(components / final_scale, W_U[:, answer] - W_U[:, wrong], "c b m, m b -> c b")',
    ),
    Walk(
        "11.1",
        "return x / (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt() * w",
        "divided_by_the_standard_deviation",
        "return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * w",
    ),
]


def test_every_chapter_is_walked_through():
    written = {path.name[:2] for path in chapters_dir().glob("[0-9][0-9]_*.ipynb")}
    assert written == {walk.id[:2] for walk in WALKS}, "add a Walk for each chapter"


@pytest.mark.parametrize("walk", WALKS, ids=[walk.id for walk in WALKS])
def test_a_wrong_answer_is_named_and_the_right_one_passes(lab, page, keep, walk):
    declared = exercise(walk.id)
    misconception = next(wrong.message for wrong in declared.wrongs if wrong.key == walk.key)
    page.goto(lab.address(next(chapters_dir().glob(f"{walk.id[:2]}_*.ipynb")).name))
    page.locator(".jp-Notebook .jp-MarkdownCell h1").first.wait_for()
    keep("opened")

    answer = _cell(page, re.compile(rf"^\s*(def|class) {declared.name}\b"))
    grading = _cell(page, re.compile(rf"^\s*grade\({declared.name}\)\s*$"))
    grading.scroll_into_view_if_needed()
    _select(grading)
    _menu(page, "Run", "Run All Above Selected Cell")
    _run(page, grading)
    _reported(grading, f"{declared.name} is not written yet.")

    _write(page, answer, STUB, walk.wrong)
    _run(page, answer)
    _run(page, grading)
    _reported(grading, _first_words(misconception))
    keep("misconception-named")

    _ask(page, grading, f'hint("{walk.id}")', _first_words(declared.hint_ladder[0]))
    keep("hint")

    _write(page, answer, walk.wrong.split("(")[0], walk.right)
    _run(page, answer)
    _run(page, grading)
    _reported(grading, f"{declared.name} is right.")
    assert _first_words(misconception) not in grading.locator(".jp-OutputArea").inner_text()
    keep("passed")
    errors = page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').all_text_contents()
    assert all(text.startswith("Preparing SmolLM2 for the first time") for text in errors), errors


def test_an_attention_figure_is_drawn(lab, page, keep):
    page.goto(lab.address("05_attention.ipynb"))
    page.locator(".jp-Notebook .jp-MarkdownCell h1").first.wait_for()
    figure = _cell(page, "Scores before the mask")
    _select(figure)
    _menu(page, "Run", "Run All Above Selected Cell")
    _run(page, figure)
    assert _drawn(page, figure), "the attention figure is blank"
    keep("attention-figure")


def test_a_figure_outlives_a_change_of_theme(lab, page, keep):
    code = 'from utils import show\nshow.bars({"a": 1, "b": 2}, title="t", note="n", x_name="x", y_name="y")'
    cells = [nbformat.v4.new_markdown_cell("# Figure"), nbformat.v4.new_code_cell(code)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / "figure.ipynb")
    page.goto(lab.address("figure.ipynb"))
    page.locator(".jp-Notebook .jp-MarkdownCell h1").first.wait_for()
    _run(page, _cell(page, "show.bars"))
    figure = page.locator(".js-plotly-plot .main-svg").first
    figure.wait_for()
    height = page.locator(".js-plotly-plot").bounding_box()["height"]

    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Settings$")).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Theme$")).hover()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^JupyterLab Dark$")).click()
    page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    keep("dark")
    assert height > 0 and page.locator(".js-plotly-plot").bounding_box()["height"] == height


def _first_words(sentence: str) -> str:
    """A sentence up to where the browser may show it otherwise: code, mathematics, numbers filled in."""
    return re.split(r"[`${\n]", sentence)[0].strip()


def _ask(page, after, line: str, answer: str) -> None:
    """Write a cell of one's own below this one, run it, and see the answer."""
    _select(after)
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    own = page.locator(".jp-CodeCell.jp-mod-selected")
    own.locator(".cm-content").click()
    page.keyboard.type(line)
    page.keyboard.press("Escape")
    alone = _cell(page, re.compile(rf"^\s*{re.escape(line)}\s*$"))
    _run(page, alone)
    _reported(alone, answer)


def _cell(page, text):
    """The code cell that holds this text."""
    return page.locator(".jp-CodeCell").filter(has=page.locator(".cm-content", has_text=text))


def _select(cell) -> None:
    cell.scroll_into_view_if_needed()
    cell.locator(".jp-InputPrompt").click()


def _write(page, cell, start: str, line: str) -> None:
    """Put the cursor on the line that begins so, and type another in its place."""
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-line", has_text=start).click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.type(line)
    assert line in cell.locator(".cm-content").inner_text()


def _run(page, cell) -> None:
    """Shift+Enter in this cell, and wait until it has a new number: it has run to its end."""
    _select(cell)
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.inner_text()
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(
        "([prompt, before]) => /\\[\\d+\\]/.test(prompt.innerText) && prompt.innerText !== before",
        arg=[prompt.element_handle(), before],
    )


def _menu(page, name: str, item: str) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{name}$")).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{item}$")).click()


def _reported(cell, sentence: str) -> None:
    cell.locator(".jp-OutputArea-output", has_text=sentence).first.wait_for()


def _drawn(page, cell) -> bool:
    """Whether the figure has a canvas of some size with more than one color on it."""
    canvas = cell.locator(".book-heads-box canvas").first
    canvas.wait_for()
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box and min(box["width"], box["height"]) > 40, f"the figure's first canvas measures {box}"
    page.wait_for_function(
        "canvas => { const p = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        " const colors = new Set(); for (let i = 0; i < p.length; i += 4) colors.add([p[i], p[i+1], p[i+2]].join());"
        " return colors.size > 4; }",
        arg=canvas.element_handle(),
    )
    return True
