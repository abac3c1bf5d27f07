"""The plotly JSON that we write ourselves is plotly's, small, the same every time, and asks no server."""

import json

import pytest
import torch

from utils import show


def test_plotly_accepts_it(plotly_figure):
    from plotly.graph_objects import Figure

    Figure(data=plotly_figure.data, layout=plotly_figure.spec["layout"])  # raises on any name or value it doesn't know


def test_it_is_the_same_every_time(make, plotly_kind):
    torch.manual_seed(1)
    first = json.dumps(make(plotly_kind).spec)
    torch.manual_seed(1)
    assert json.dumps(make(plotly_kind).spec) == first


def test_no_button_sends_the_data_anywhere(plotly_figure):
    config = plotly_figure.spec["config"]
    assert config["showSendToCloud"] is False and config["plotlyServerURL"] == "" and config["displaylogo"] is False
    assert {button for group in config["modeBarButtons"] for button in group} == {
        "zoom2d", "pan2d", "resetScale2d", "toImage",
    }  # fmt: skip
    assert "http" not in json.dumps(plotly_figure.spec)


def test_heights_are_fixed_and_widths_follow_the_page(plotly_figure):
    layout = plotly_figure.layout
    assert 150 <= layout["height"] <= 1100 and layout["autosize"] and "width" not in layout


def test_title_and_note_travel_with_the_json(plotly_figure):
    assert plotly_figure.spec["layout"]["meta"] == {
        "title": plotly_figure.title,
        "note": plotly_figure.note,
    }


def test_axes_have_names(plotly_figure):
    axes = [axis for name, axis in plotly_figure.layout.items() if name[1:5] == "axis"]
    named = [axis["title"]["text"] for axis in axes if axis["title"]["text"]]
    if len(axes) > 2:  # panels: the columns' name stands below them all
        named += [word["text"] for word in plotly_figure.layout["annotations"] if word["text"] == "column"]
    assert len(named) == 2


def test_series_differ_by_more_than_color(make):
    figure = make("lines")
    curves = [trace for trace in figure.data if trace.get("name")]
    assert len({trace["line"]["dash"] for trace in curves}) == len({trace["marker"]["symbol"] for trace in curves}) == 2
    hatches = [trace["marker"].get("pattern", {}).get("shape", "") for trace in make("bars in series").data]
    assert len(set(hatches)) == 2


def test_a_heatmap_of_400_cells_is_small(causal_pattern):
    figure = show.matrix(causal_pattern(1, 20)[0], title="t", note="n")
    assert len(json.dumps(figure.spec)) < 8_000


def test_a_token_that_looks_like_a_tag_stays_text(make):
    assert make("matrix").data[0]["x"][0] == "0 &lt;|endoftext|&gt;"


def test_repeated_tokens_stay_apart(make):
    labels = make("matrix").data[0]["x"]
    assert len(set(labels)) == len(labels) == 10


def test_masked_cells_are_empty():
    figure = show.matrix([[1.0, -torch.inf], [1.0, 2.0]], title="t", note="n")
    assert figure.data[0]["z"] == [[1, None], [1, 2]]
    assert figure.data[0]["zmin"] == 1 and figure.data[0]["zmax"] == 2


def test_both_signs_get_a_scale_around_zero():
    trace = show.matrix([[-1.0, 3.0]], title="t", note="n").data[0]
    assert (trace["zmin"], trace["zmax"]) == (-3, 3)
    trace = show.matrix([[0.0, 3.0]], title="t", note="n").data[0]
    assert (trace["zmin"], trace["zmax"]) == (0, 3)


def test_the_map_of_the_plane_sends_basis_vectors_to_columns():
    figure = show.grid_map([[1, 2], [3, 4]], title="t", note="n")
    tips = [(trace["x"], trace["y"]) for trace in figure.data if trace["name"].startswith("where")]
    assert tips == [([1], [3]), ([2], [4])]


def test_the_words_of_two_arrows_stand_apart():
    def sides(matrix):
        figure = show.grid_map(matrix, title="t", note="n")
        return [trace["textposition"] for trace in figure.data if trace["name"].startswith("where")]

    assert sides([[1, 1], [0, 1]]) == ["top right", "top right"]  # at different heights
    assert sides([[1, 0], [1, 1]]) == ["top right", "top left"]  # side by side
    assert sides([[1, 1], [1, 1]]) == ["top right", "bottom right"]  # at one place


def test_a_histogram_counts_shares():
    figure = show.histogram({"a": [0.0, 0.0, 0.0, 1.0]}, title="t", note="n", x_name="x", bins=2)
    assert figure.data[0]["y"] == [0.75, 0.25]


def test_bars_split_by_what_is_marked():
    chosen, others = show.bars({"a": 1, "b": 2}, marked=["b"], title="t", note="n", x_name="x", y_name="y").data
    assert (chosen["y"], others["y"]) == ([None, 2], [1, None])
    assert (chosen["name"], others["name"]) == ("marked", "the others")


def test_the_column_axis_has_its_name_below_the_labels():
    """With a standoff plotly writes a short name between two labels, where no label is in its way."""
    layout = show.matrix(torch.eye(4), column_name="head", title="T", note="N.").spec["layout"]
    assert layout["xaxis"]["title"] == {"text": "head"}


def test_a_logarithmic_axis_of_few_decades_writes_1_2_5():
    axis = show.lines([0, 1], {"a": [6, 418]}, x_name="x", y_name="y", log_y=True, title="T", note="N.").spec["layout"]
    assert axis["yaxis"]["ticktext"][:6] == ["1", "2", "5", "10", "20", "50"]
    axis = show.lines([0, 1], {"a": [5, 29]}, x_name="x", y_name="y", log_y=True, title="T", note="N.").spec["layout"]
    assert [tick for tick in axis["yaxis"]["ticktext"] if 5 <= float(tick) <= 29] == ["5", "7", "10", "15", "20"]


def test_a_logarithmic_axis_of_many_decades_writes_powers_of_ten():
    """Not 10µ or 100n, which are plotly's own, and 10² in letters no larger than 10."""
    axis = show.lines([0, 1], {"a": [1e-2, 1e3]}, x_name="x", y_name="y", log_y=True, title="T", note="N.").layout
    assert axis["yaxis"]["ticktext"] == ["10⁻²", "10⁻¹", "1", "10", "10²", "10³"]
    assert axis["yaxis"]["tickvals"] == [0.01, 0.1, 1, 10, 100, 1000]
    axis = show.lines([0, 1], {"a": [1e-7, 1e12]}, x_name="x", y_name="y", log_y=True, title="T", note="N.").layout
    assert axis["yaxis"]["ticktext"] == ["10⁻⁹", "10⁻⁶", "10⁻³", "1", "10³", "10⁶", "10⁹", "10¹²"]


def test_the_words_of_a_level_stand_where_no_curve_runs_through_them():
    def words(curve, **more):
        layout = show.lines(
            [*range(100)], {"a": curve}, x_name="x", y_name="y", levels={"l": 5}, title="T", note="N.", **more
        )
        (word,) = layout.spec["layout"]["annotations"]
        return word["x"], word["xanchor"]

    assert words(torch.linspace(100, 50, 100)) == (1, "right")
    assert words(torch.linspace(100, 5.5, 100)) == (0, "left")
    assert words(torch.linspace(100, 5.5, 100), log_y=True) == (0, "left")
    assert words([6.0] * 35 + [100.0] * 30 + [6.0] * 35) == (0.5, "center")


def test_the_words_of_a_mark_stand_where_no_curve_runs_through_them():
    def words(curve, at):
        (word,) = show.lines(
            [*range(100)], {"a": curve}, x_name="x", y_name="y", marks={"the mark": at}, title="T", note="N."
        ).layout["annotations"]
        return word["xanchor"], word["yanchor"]

    assert words(torch.linspace(0, 1, 100), 50) == ("left", "top")
    assert words([0.0] * 50 + [1.0] * 50, 50) == ("right", "top")
    assert words([1.0] * 99 + [0.0], 30) == ("left", "bottom")
    assert words(torch.linspace(0, 1, 100) ** 9, 99) == ("right", "bottom")  # to the right of it the plot ends


def test_a_level_beyond_all_curves_does_not_lie_on_the_edge():
    def axis(level, **more):
        words = {"x_name": "x", "y_name": "y", "title": "T", "note": "N."}
        return show.lines([0, 1], {"a": [1, 2]}, levels={"l": level}, **words, **more).layout["yaxis"]

    (lower,) = axis(0)["autorangeoptions"]["include"]
    (upper,) = axis(3)["autorangeoptions"]["include"]
    assert lower < 0 and upper > 3
    assert "autorangeoptions" not in axis(1.5) and "autorangeoptions" not in axis(0.5, log_y=True)


def test_numbers_have_a_minus_and_no_hyphen(plotly_figure):
    """In cells, which are written by us, and in what hovering shows: a format of d3's would put a hyphen there."""
    for trace in plotly_figure.data:
        templates = trace.get("hovertemplate", "") + trace.get("texttemplate", "")
        assert ":." not in templates, templates
        assert trace["type"] != "heatmap" or trace.get("customdata") or trace["zhoverformat"]
    axes = [axis for name, axis in plotly_figure.layout.items() if name[1:5] == "axis"]
    assert axes and all(axis["hoverformat"] for axis in axes)


def test_numbers_in_cells_are_written_as_in_a_table():
    (trace,) = show.matrix([[-0.25, 1234.5], [torch.nan, 2.0]], title="T", note="N.").data
    assert (trace["text"], trace["texttemplate"]) == ([["−0.25", "1230"], ["", "2"]], "%{text}")


@pytest.mark.parametrize("labels", ["ab", [f"a long label {i}" for i in range(3)]])
def test_the_words_of_a_baseline_are_in_the_legend(labels):
    """Where the line meets a bar, words beside it would be covered."""
    bars = dict.fromkeys(labels, 1)
    words = {"x_name": "x", "y_name": "y", "title": "T", "note": "N."}
    figure = show.bars(bars, baseline=0.125, baseline_name="chance", **words)
    (line,) = figure.layout["shapes"]
    assert (line["name"], line["showlegend"], figure.layout["showlegend"]) == ("chance (0.125)", True, True)
    assert [trace["showlegend"] for trace in figure.data] == [False]
    assert figure.layout["height"] > show.bars(bars, **words).layout["height"]
    two = show.bars(bars, baseline=0.125, marked=labels[:1], **words)
    assert all(trace.get("showlegend", True) for trace in two.data)


def test_a_whole_number_at_a_level_is_not_rounded():
    figure = show.lines([0, 1], {"a": [0, 9000]}, x_name="x", y_name="y", levels={"l": 8192}, title="T", note="N.")
    assert figure.spec["layout"]["annotations"][0]["text"] == "l (8192)"


def test_panels_name_their_rows_and_columns_once():
    """Labels beside the first panel and below the last of each column, many left to hovering; each axis named once."""
    few = {"rows": ["layer 0", "layer 1"], "columns": ["head 0"], "row_name": "layer", "column_name": "head"}
    layout = show.matrices(torch.rand(5, 2, 1), list("abcde"), **few, title="T", note="N.").spec["layout"]
    places = ["", "2", "3", "4", "5"]
    assert [layout[f"yaxis{place}"]["showticklabels"] for place in places] == [True, False, False, False, True]
    assert [layout[f"xaxis{place}"]["showticklabels"] for place in places] == [False, True, True, True, True]
    assert [layout[f"yaxis{place}"]["title"]["text"] for place in places] == ["layer", "", "", "", ""]
    assert [layout[f"xaxis{place}"]["title"]["text"] for place in places] == [""] * 5
    (head,) = [word for word in layout["annotations"] if word["text"] == "head"]
    assert (head["x"], head["xanchor"], head["y"]) == (0.5, "center", 0) and head["yshift"] < 0
    many = show.matrices(torch.rand(1, 30, 30), ["a"], row_name="query_pos", title="T", note="N.").spec["layout"]
    assert (many["yaxis"]["showticklabels"], many["yaxis"]["title"]["text"]) == (False, "query_pos")


def test_labels_of_points_cover_no_other_label_and_no_point():
    """Two that are close get different sides; in a crowd a label is left out, and hovering still gives it."""
    pair = show.points([[0, 0], [0, 0.001], [1, 1]], ["a", "b", "c"], x_name="x", y_name="y", title="T", note="N.")
    (trace,) = pair.spec["data"]
    assert trace["text"] == ["a", "b", "c"]
    assert trace["textposition"][0] != trace["textposition"][1]
    crowd = show.points([[0, 0]] * 9 + [[1, 1]], list("abcdefghij"), x_name="x", y_name="y", title="T", note="N.")
    (trace,) = crowd.spec["data"]
    assert trace["text"].count("") >= 5
    assert trace["hovertext"] == list("abcdefghij")
    assert trace["text"][-1] == "j"
