"""Attention figures: small, rounded, safe, and the drawing code once a notebook."""

import base64
import json
import re
import zlib

import pytest
import torch

from utils import show
from utils.show import bundle
from utils.show.bundle import Carrier

WORDS = {"title": "t", "note": "n"}


def props(figure):
    """What CircuitsVis is given."""
    return json.loads(re.search(r"push\(\[box,(\{.*?\})\]\);", figure.html).group(1))


def test_eight_heads_over_twenty_tokens_take_under_25_kilobytes(causal_pattern):
    assert len(show.heads(causal_pattern(8, 20), [" token"] * 20, **WORDS).html) < 25_000


def test_numbers_have_three_decimals(causal_pattern):
    pattern = causal_pattern(2, 5)
    drawn = torch.tensor(props(show.heads(pattern, list("abcde"), **WORDS))["attention"], dtype=torch.float64)
    torch.testing.assert_close(drawn, pattern.double(), atol=5.01e-4, rtol=0)
    assert all(len(number) <= 5 for number in re.findall(r"0\.\d+", json.dumps(drawn.tolist())))


def test_the_same_call_gives_the_same_html_with_its_own_id(causal_pattern):
    first, again = (show.heads(causal_pattern(), list("abcdefghij"), **WORDS).html for _ in range(2))
    other = show.heads(causal_pattern(2), list("abcdefghij"), **WORDS).html
    assert first == again
    assert re.search(r'id="(book-heads-\w+)"', first).group(1) != re.search(r'id="(book-heads-\w+)"', other).group(1)


@pytest.mark.parametrize("fill", [-torch.inf, torch.finfo(torch.float32).min, -1e9, -1e5])
def test_a_mask_is_recognized_and_not_drawn(fill):
    scores = torch.tensor([[[1.0, fill], [2.0, 3.0]]])
    got = props(show.heads(scores, ["a", "b"], **WORDS))
    assert got["maskUpperTri"] is True
    assert got["attention"] == [[[1, 0], [2, 3]]] and got["maxValue"] == 3


def test_scores_before_masking_are_drawn_whole():
    got = props(show.heads(torch.tensor([[[1.0, -8.0], [2.0, 3.0]]]), ["a", "b"], **WORDS))
    assert got["maskUpperTri"] is False and got["attention"][0][0] == [1, -8]
    assert (got["minValue"], got["maxValue"]) == (-8, 8)


def test_a_pattern_is_colored_on_the_scale_from_0_to_1(causal_pattern):
    assert props(show.heads(causal_pattern(), list("abcdefghij"), **WORDS))["maxValue"] == 1


def test_a_token_cannot_end_the_script_or_open_a_tag():
    html = show.heads(torch.eye(2)[None], ["</script><b>", "<!--"], title="<i>", note="n").html
    script = html[html.index("<script>") + len("<script>") :]
    assert script.index("</script>") == len(script) - len("</script></figure>")
    assert "<b>" not in html and "<!--" not in html and "<i>" not in html


def test_labels_name_the_heads():
    assert props(show.heads(torch.eye(2)[None], ["a", "b"], labels=["L2H3"], **WORDS))["attentionHeadNames"] == ["L2H3"]


def test_html_holds_the_text_form_for_notebooks_that_are_not_trusted(causal_pattern):
    figure = show.heads(causal_pattern(), list("abcdefghij"), **WORDS)
    assert "<details open>" in figure.html and "Head 0: " in figure.html.split("<pre")[1]


def test_outside_a_notebook_no_drawing_code_is_carried(causal_pattern):
    figure = show.heads(causal_pattern(), list("abcdefghij"), **WORDS)
    assert figure._repr_mimebundle_()["text/html"] == figure.html


def test_the_drawing_code_is_circuitsvis_own_and_takes_under_half_a_megabyte():
    from importlib.resources import files

    script = bundle.script()
    packed = re.search(r'atob\("([^"]+)"\)', script).group(1)
    assert zlib.decompress(base64.b64decode(packed)) == (files("circuitsvis") / "dist/cdn/iife.js").read_bytes()
    assert len(script) < 500_000
    assert "http" not in script.replace(packed, "")


def test_one_output_carries_the_code_and_running_its_cell_again_carries_it_again():
    carrier = Carrier()
    assert carrier.carries("first", "run 1")
    assert not carrier.carries("first", "run 1")  # a second figure in the same cell
    assert not carrier.carries("second", "run 2")
    assert carrier.carries("first", "run 3")
    assert not carrier.carries("first", "run 3")


def test_without_circuitsvis_one_sentence_says_what_to_do(monkeypatch, one_sentence):
    monkeypatch.setattr(bundle.importlib.util, "find_spec", lambda name: None)
    bundle.script.cache_clear()
    with pytest.raises(show.ShowProblem) as problem:
        bundle.script()
    assert "make env" in one_sentence(problem.value)


def test_the_setting_by_which_circuitsvis_leaves_out_labels_is_there_to_be_changed():
    """The bundle widens how densely tokens are named: a release that words it otherwise must be looked at."""
    from importlib.resources import files

    code = (files("circuitsvis") / "dist/cdn/iife.js").read_text()
    assert code.count("autoSkipPadding:3") == 1
    assert 'replace("autoSkipPadding:3","autoSkipPadding:-4")' in bundle.script()
