"""HTML and SVG that a page can hold whatever the tokens are, and that read without color."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from utils import show
from utils.show.theme import GREEN, ORANGE

T = {"title": "<b>title</b>", "note": "a & b"}
VOID = {"br"}


class Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def elements(html):
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    return parser.seen


def test_elements_are_balanced(figure):
    if isinstance(figure, show.Figure):
        from utils.show.html import note_html, title_html

        assert "details" in elements(
            title_html(figure.title) + note_html(figure.note, figure.body, figure.min_width, 300)
        )
    else:
        assert "figure" in elements(figure.html)


@pytest.mark.parametrize(
    "make",
    [
        lambda: show.tokens(["<script>alert(1)</script>", '"'], ids=[1, 2], **T).html,
        lambda: show.table([["<img src=x>"]], ["<u>"], **T).html,
        lambda: show.svg_heatmap([[1.0]], ["<script>"], ["<img>"], "<b>title</b>"),
    ],
)
def test_what_people_write_stays_text(make):
    seen = elements(make())
    assert not {"script", "img", "b", "u"} & set(seen)


def test_a_tables_verdicts_are_told_by_sign_and_edge_as_well_as_color():
    made = show.table([["q"], ["k"], ["v"]], ["hook"], verdicts=[True, False, None], verdict_name="same", **T)
    right, wrong, open_ = made.html.split("<tr")[2:]
    assert "✓" in right and "solid" in right and GREEN in right
    assert "✗" in wrong and "dashed" in wrong and ORANGE in wrong
    assert "·" in open_ and "style" not in open_.split(">")[0]
    assert [line.split() for line in made.text.split("\n") if line[:1] in "✓✗·"] == [["✓", "q"], ["✗", "k"], ["·", "v"]]


def test_tables_have_column_headers_and_numbers_on_the_right():
    html = show.table([["a", 1.5]], ["name", "value"], **T).html
    assert html.count('<th scope="col"') == 2
    assert '<td style="text-align:left">a</td><td style="text-align:right">1.5</td>' in html


def test_numbers_written_as_text_stand_right_too():
    html = show.table([["1,024", "05", "1 of 2"], ["−3.5%", "", "2"]], ["size", "gap", "share"], **T).html
    assert html.count("text-align:right") == 6
    assert '<td style="text-align:right">1,024</td>' in html
    assert '<td style="text-align:left">1 of 2</td>' in html


def test_a_number_that_is_missing_does_not_turn_its_column():
    html = show.table([["a", "1.5"], ["b", None]], ["name", "value"], **T).html
    assert '<td style="text-align:right">1.5</td>' in html and '<td style="text-align:right">–</td>' in html


def test_a_cell_keeps_its_spaces():
    assert "white-space:pre-wrap" in show.table([["a  b"]], ["text"], **T).html
    assert "white-space" not in show.table([["a b"]], ["text"], **T).html


def test_a_negative_token_value_has_an_edge_of_its_own():
    html = show.tokens(["a", "b"], [1.0, -1.0], **T).html
    assert re.findall(r"border:1px (\w+)", html) == ["solid", "dashed"]


def svg(*given, **named):
    return ElementTree.fromstring(show.svg_heatmap(*given, **named))


def tag(element):
    return element.tag.split("}")[1]


def test_the_strip_is_xml_with_a_title_that_says_where_the_largest_is():
    root = svg([[0, 0.5], [0, 2.0]], ["q0", "q1"], [" a", " b"], "Where the values differ")
    assert tag(root) == "svg" and root.get("role") == "img"
    assert root[0].text == "Where the values differ: 2 rows × 2 columns; largest 2 at q1, ·b"
    words = {element.text for element in root.iter() if tag(element) == "text"}
    assert {"q0", "q1", "·a", "·b", "Where the values differ"} <= words


def paths(root, kind):
    """The squares, lines or crosses drawn in the paths of a class."""
    return sum(element.get("d").count("M") for element in root.iter() if element.get("class") == kind)


def test_cells_that_differ_are_filled_and_hatched_and_nan_is_crossed():
    def count(matrix):
        return tuple(paths(svg(matrix), kind) for kind in ("cells", "hatch", "crosses"))

    assert count([[0.0, 0.0]]) == (0, 0, 0)
    assert count([[0.2, 1.0]]) == (2, 4, 0)  # one line for a small difference, three for a large one
    assert count([[np.nan, 0.0]]) == (0, 0, 1)


def test_booleans_are_differences():
    assert paths(svg(np.array([[True, False]])), "cells") == 1


def test_a_few_cells_tell_their_value_on_hover():
    tips = [element.text for element in svg([[0.25, 2.0]], ["q"], [" a", " b"]).iter() if tag(element) == "title"]
    assert tips[1:] == ["q, ·a: 0.25", "q, ·b: 2"]


def test_a_large_matrix_is_shown_by_blocks_that_lose_no_difference_and_stays_small():
    matrix = np.zeros((100, 200))
    matrix[77, 155] = 1
    text = show.svg_heatmap(matrix)
    root = ElementTree.fromstring(text)
    assert paths(root, "cells") == 1
    assert "each cell: the largest of 5 × 5" in text and root[0].text.endswith(
        "100 rows × 200 columns; largest 1 at 75, 155"
    )
    assert len(show.svg_heatmap(np.random.default_rng(0).random((500, 500)))) < 80_000


def test_where_nothing_differs_it_says_so():
    assert svg([[0.0]])[0].text.endswith("all are zero")


def test_a_stream_names_its_parts_for_a_screen_reader(make):
    root = ElementTree.fromstring(re.search(r"<svg.*</svg>", make("stream").html).group())
    assert root[0].text.endswith("from embed to unembed; reading it and adding to it: attention, MLP")
    assert sum(tag(e) == "circle" for e in root) == 2
