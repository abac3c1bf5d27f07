"""The report says the same in a notebook and in a terminal, to the eye and to a screen reader, and is never fooled."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
import torch

from utils.exercises import exercise
from utils.grading import check
from utils.grading.compare import structure
from utils.grading.facts import facts_of, figures, place
from utils.grading.general import Scene, find
from utils.grading.report import to_html, to_text
from utils.grading.verdict import Mismatch, Verdict

MAP = Mismatch(
    index=(("batch", 0), ("n_heads", 2), ("query_pos", 3), ("key_pos", 1)),
    got=0.53,
    want=0.21,
    bad=14,
    total=96,
    worst=1.0,
    map=((0.0, -1.0), (0.01, 0.4), (0.6, 0.0), (0.0, 1.0)),
    map_axes=("query_pos", "key_pos"),
    map_first=(3, 1),
)
SHAPE = (("batch", 2), ("n_heads", 8), ("query_pos", 4), ("key_pos", 2))
VALUE = Verdict(
    "05.2",
    "attention scores",
    False,
    "reference",
    "Nothing divides by √d_head.",
    diagnosis="no_scale",
    evidence="Your values are the expected ones times 5.657.",
    where="on the reference model's own values (hook_q)",
    wanted_shape=SHAPE,
    got_shape=SHAPE,
    mismatch=MAP,
    advice='hint("05.2") gives a hint.',
    printed="here I am\nand here",
)
PASSED = Verdict(
    "05.2",
    "attention scores",
    True,
    "passed",
    "attention_scores is right.",
    checked=("2 comparisons", "11 on fresh inputs"),
)
STUB = Verdict("05.2", "attention scores", False, "there", "attention_scores is not written yet.", advice="hint helps.")
SHORT = replace(VALUE, stage="shape", mismatch=None, got_shape=(("axis 0", 8), ("axis 1", 4), ("axis 2", 2)))
SWAPPED = replace(
    VALUE, stage="shape", mismatch=None, got_shape=(("batch", 2), ("n_heads", 8), ("query_pos", 2), ("key_pos", 4))
)
TWO = replace(VALUE, readings=("The keys are summed.", "The heads are averaged."), also=("heads_averaged",))
ALL = {"value": VALUE, "passed": PASSED, "stub": STUB, "short": SHORT, "swapped": SWAPPED, "two": TWO}


@pytest.fixture(params=ALL, ids=str)
def verdict(request):
    return ALL[request.param]


def words_of(page: str) -> str:
    """What is read on a page, without styles and drawings."""
    page = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<figcaption.*?</figcaption>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_both_reports_hold_the_same_facts_in_the_same_order(verdict):
    facts = facts_of(verdict)
    said = [facts.headline, *facts.sentences, facts.shape, facts.differ, facts.first, facts.evidence, *facts.checked]
    said += [facts.where, facts.advice, *facts.printed]
    for report in (words_of(to_html(verdict)), " ".join(to_text(verdict).split())):
        at = -1
        for fact in filter(None, said):
            assert (at := report.find(" ".join(fact.split()), at + 1)) >= 0, (fact, report)


def test_the_page_is_well_formed(verdict):
    class Balanced(HTMLParser):
        open_tags: list[str] = []

        def handle_starttag(self, tag, attrs):
            self.open_tags.append(tag)

        def handle_endtag(self, tag):
            assert self.open_tags.pop() == tag

    parser = Balanced()
    parser.feed(to_html(verdict))
    assert not parser.open_tags


def test_nothing_is_said_by_color_alone():
    page, text = to_html(SWAPPED), to_text(SWAPPED)
    assert page.count("≠") == text.count("≠") == 2
    assert "✗" in page and "Not yet" in page and "✓" in to_html(PASSED)


def test_axes_stand_under_each_other_and_the_one_that_is_missing_is_marked():
    lines = [line.split() for line in to_text(replace(SHORT, printed="")).splitlines() if line.startswith("  ")]
    assert lines == [
        ["axis", "wanted", "yours"],
        ["batch", "2", "–", "≠"],
        ["n_heads", "8", "8"],
        ["query_pos", "4", "4"],
        ["key_pos", "2", "2"],
    ]


def test_an_axis_too_many_is_marked_as_well():
    columns = facts_of(replace(SHORT, wanted_shape=SHAPE[1:], got_shape=(("", 8), ("", 1), ("", 4), ("", 2)))).columns
    assert [(c.name, c.wanted, c.yours) for c in columns if c.differs] == [("–", "", "1")]


def test_the_picture_can_be_read_without_color_and_by_a_screen_reader():
    page = to_html(VALUE)
    assert '<svg role="img"' in page and "<title>Where the values differ.</title>" in page
    described = re.search(r"<desc>(.*?)</desc>", page)[1]
    assert "4 of the 7 cells shown are wrong" in described and "query_pos 1, 2, 3" in described
    assert "batch 0, head 2, query_pos 3, key_pos 1" in described
    drawing = re.search(r"<svg.*?</svg>", page)[0]
    assert drawing.count('class="ok"') == 3 and all(f'class="b{n}"' in drawing for n in (1, 2, 3, 4))
    assert drawing.count('class="first"') == 1


def test_the_same_picture_in_letters():
    rows = [line for line in to_text(VALUE).splitlines() if re.search(r"\d [·░▒▓█]|\d  ", line)][-4:]
    assert [re.sub(r"^.*?\d ", "", row) for row in rows] == ["·", "░ ▒", "▓ ·", "· █"]


def test_two_that_fit_are_both_said():
    assert "The keys are summed." in to_text(TWO) and "The heads are averaged." in words_of(to_html(TWO))


def test_a_passing_report_is_short_and_holds_no_measured_number():
    assert len(to_text(PASSED).splitlines()) <= 4
    assert not re.search(r"\d\.\d|e-\d", to_text(PASSED).replace("05.2", ""))
    assert to_html(PASSED) == to_html(replace(PASSED))


def test_a_stub_is_told_so_politely():
    assert "Not written yet" in to_text(STUB) and "✗" not in to_text(STUB) and "unwritten" in to_html(STUB)


EVIL = '<script>alert(1)</script><img src=x onerror=y>&amp;"\x1b[31mred\x1b[0m\x1b]0;title\x07\x00\x08\u202egnp.exe'


def test_whatever_an_answer_says_is_harmless():
    verdict = replace(
        VALUE,
        title=EVIL,
        message=EVIL,
        evidence=EVIL,
        where=EVIL,
        printed=EVIL,
        advice=EVIL,
        checked=(EVIL,),
        wanted_shape=((EVIL, 1),),
        got_shape=((EVIL, 2),),
        mismatch=replace(MAP, got=EVIL, map_axes=(EVIL, EVIL), index=((EVIL, 0),)),
    )
    page, text = to_html(verdict), to_text(verdict)
    for hostile in ("<script", "<img", "\x1b", "\x00", "\x08", "\x07", "\u202e"):
        assert hostile not in page
    for hostile in ("\x1b", "\x00", "\x08", "\x07", "\u202e"):
        assert hostile not in text
    assert "red" in text and "title\n" not in text


def test_a_long_print_is_cut():
    printed = facts_of(replace(VALUE, printed="\n".join(map(str, range(1000))))).printed
    assert len(printed) == 13 and printed[-1] == "… and 988 more lines"


@pytest.mark.parametrize(
    "got, want, expected",
    [
        (0.53, 0.21, ("0.53", "0.21")),
        (1.000001, 1.0, ("1.000001", "1")),
        (float("nan"), -1.5, ("NaN", "−1.5")),
        (float("-inf"), 1.0, ("−∞", "1")),
        (3, 4, ("3", "4")),
        (True, False, ("True", "False")),
    ],
)
def test_values_are_shown_with_as_few_digits_as_tell_them_apart(got, want, expected):
    assert figures(got, want) == expected


@pytest.mark.parametrize(
    "index, said",
    [
        ((("batch", 0), ("n_heads", 2)), "batch 0, head 2"),
        ((("ids", 1), ("ids", 4)), "row 1, column 4"),
        ((("axis 0", 3),), "axis 0 at 3"),
    ],
)
def test_places_are_named(index, said):
    assert place(index) == said


def test_a_number_is_shown_beside_the_right_one():
    alone = Mismatch(got=7.59, want=5.839, bad=1, total=1)
    assert facts_of(replace(VALUE, mismatch=alone)).differ == "The value differs: yours 7.59, wanted 5.839."
    one_of_six = Mismatch(got=2_102_277, want=2_102_272, bad=1, total=6, path="mlp")
    found = facts_of(replace(VALUE, mismatch=one_of_six))
    assert (found.differ, found.first) == ("1 of 6 values differ.", "mlp: yours 2,102,277, wanted 2,102,272")


def test_what_is_done_before_comparing_is_said():
    assert (
        facts_of(replace(VALUE, mismatch=replace(MAP, after="softmax"))).differ
        == "14 of 96 values differ after softmax."
    )


@pytest.mark.parametrize(
    "number, answer, differ, first",
    [
        ("07.6", lambda right: lambda *args: right(*args) * 1.3, "The value differs: yours ", ""),
        (
            "06.8",
            lambda right: lambda cfg: right(cfg) | {"mlp": right(cfg)["mlp"] + 5},
            "1 of 6 values differ.",
            "mlp: ",
        ),
        ("01.1", lambda right: lambda *args: (1e3, -1e3), "Both values differ.", "entry 0: yours 1000, wanted "),
    ],
)
def test_reports_of_plain_values_show_them(number, answer, differ, first, pocket):
    found = facts_of(check(number, answer(exercise(number).solution), pocket))
    assert found.differ.startswith(differ) and found.first.startswith(first)


def test_an_answer_that_raises_is_told_its_arguments(pocket):
    verdict = check("05.2", lambda q, k: q @ k, pocket)
    assert verdict.evidence.startswith("It was called with q (2, ")
    assert f"{pocket.cfg.n_heads}, {pocket.cfg.d_head}), k (2, " in verdict.evidence

    def top_k_filter(logits, k):
        return exercise("09.4").solution(logits, k) if k != 9 else logits.nothing

    assert "k = 9" in check("09.4", top_k_filter, pocket).evidence


def test_a_lost_dtype_comes_with_its_remedy(pocket):
    def causal_mask(scores):
        return scores + torch.full(scores.shape[-2:], -torch.inf).triu(1 + scores.shape[-1] - scores.shape[-2])

    verdict = check("05.3", causal_mask, pocket)
    assert verdict.diagnosis == "dtype" and "dtype=x.dtype" in verdict.message

    def lowest(scores):
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + scores.shape[-1] - scores.shape[-2])
        return scores.masked_fill(hidden, torch.finfo(torch.float32).min)

    assert "finfo(x.dtype)" in check("05.3", lowest, pocket).message


@pytest.mark.parametrize(
    "want, got, said",
    [
        ([0] * 12, b"twelve bytes", "Give a list of 12 whole numbers, not a bytes object."),
        ((torch.ones(2),), torch.ones(2), "Give a tuple of 1 tensor, not a tensor of shape (2,)."),
        ([1.5, 2.5], [1.5], "Give 2 numbers; there are 1."),
        ([b"a", 1], None, "Give a list of 2 values, not None."),
    ],
)
def test_it_is_said_what_a_list_is_to_hold(want, got, said):
    assert structure(got, want).message == said


def test_axes_of_no_name_are_not_called_by_their_length(pocket):
    """ln_scale gives "... 1": the last axis has no name either."""
    verdict = check("04.1", lambda x, eps: exercise("04.1").solution(x, eps) ** 2, pocket)
    assert [name for name, _ in verdict.wanted_shape] == ["axis 0", "axis 1", "axis 2"]
    assert facts_of(verdict).shape.startswith("Shape: axis 0 = 2, axis 1 = ")


def test_sentences_about_axes_of_no_name_read_well():
    want = torch.arange(24.0).reshape(2, 3, 4) ** 2
    found = find(Scene(want.sum(0), want, ("axis 0", "axis 1", "d_model")))
    assert found[0] == ("summed_away", "The values are summed over axis 0: the result keeps all 2 entries.")
    found = find(Scene(want[:, 0], want, ("batch", "pos", "d_model")))
    assert found[0] == ("first_only", "Only the first entry of the pos axis is there: the result must keep all 3.")


def test_a_parameter_changed_where_gradients_are_on_is_told_about_no_grad(pocket):
    def load_weights(model, weights):
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])

    verdict = check("07.3", load_weights, pocket)
    assert verdict.stage == "runs" and "with torch.no_grad():" in verdict.message
