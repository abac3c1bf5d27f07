"""A learner's way through chapter 05 in a real browser: a wrong answer, what it is called, the right one, a figure.

What the report says is taken from the exercise's own declaration, so that the test follows the wording.
"""

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STUB = "raise NotImplementedError"
FORGOT_THE_SCALE = 'return einsum(q, k, "b i h d, b j h d -> b h i j")'
WITH_THE_SCALE = FORGOT_THE_SCALE + " / q.shape[-1] ** 0.5"


def test_a_wrong_answer_is_named_and_the_right_one_passes(lab, page, keep):
    from utils.exercises import exercise

    misconception = next(wrong.message for wrong in exercise("05.2").wrongs if wrong.key == "no_scale")
    page.goto(lab.address("05_attention.ipynb"))
    page.locator(".jp-Notebook .jp-MarkdownCell h1").first.wait_for()
    keep("opened")

    answer = _cell(page, "def attention_scores(")
    grading = _cell(page, re.compile(r"^\s*grade\(attention_scores\)\s*$"))
    _write(page, answer, STUB, FORGOT_THE_SCALE)
    _select(grading)
    _menu(page, "Run", "Run All Above Selected Cell")
    _run(page, grading)
    _reported(grading, misconception)
    keep("misconception-named")

    _write(page, answer, "return einsum", WITH_THE_SCALE)
    _run(page, answer)
    _run(page, grading)
    _reported(grading, "attention_scores is right.")
    assert misconception not in grading.locator(".jp-OutputArea").inner_text()
    keep("passed")

    _run(page, _cell(page, "def known(text)"))
    figure = _cell(page, "Scores before the mask")
    _run(page, figure)
    assert _drawn(page, figure), "the attention figure is blank"
    keep("attention-figure")
    assert not page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').count(), "a cell wrote an error"


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
