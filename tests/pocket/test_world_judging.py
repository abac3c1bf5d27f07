"""`check_story` takes every story of the world and refuses those that lose their hero, pronoun or end."""

import re
from itertools import islice

import pytest

from utils.pocket.world import check_story, stories
from utils.pocket.world.lexicon import BOYS, GIRLS
from utils.pocket.world.plots import PLOTS
from utils.pocket.world.story import gender, sentences

OTHER = {"he": "she", "his": "her", "him": "her", "she": "he", "her": "his", "He": "She", "His": "Her"}
OTHER |= {"She": "He", "Her": "His"}
PRONOUN = re.compile(r"\b(he|his|him|she|her|He|His|She|Her)\b")


@pytest.fixture(scope="module")
def told():
    """Ten stories of every plot."""
    by_plot = {plot: [] for plot in PLOTS}
    for story in stories(21):
        if len(by_plot[story.facts["plot"]]) < 10:
            by_plot[story.facts["plot"]].append(story)
        if all(len(group) == 10 for group in by_plot.values()):
            return [story for group in by_plot.values() for story in group]


def refused(text, *checks):
    verdict = check_story(text)
    return any(not verdict[check] for check in checks)


@pytest.mark.parametrize("split", ["train", "held_out"])
def test_every_story_of_the_world_is_right(split):
    for story in islice(stories(20, split), 1500):
        verdict = check_story(story.text, story.facts)
        assert all(verdict.values()), (verdict, story.text)


def test_every_pronoun_is_the_heros(told):
    for story in told:
        own = {"he", "his", "him"} if gender(story.facts["hero"]) == "boy" else {"she", "her"}
        assert {word.lower() for word in PRONOUN.findall(story.text)} <= own


def test_one_pronoun_of_the_other_kind_is_refused(told):
    for story in told:
        for found in PRONOUN.finditer(story.text):
            text = story.text[: found.start()] + OTHER[found[0]] + story.text[found.end() :]
            assert refused(text, "pronoun"), text


def test_another_name_for_the_hero_in_one_place_is_refused(told):
    for story in told:
        hero, pal = story.facts["hero"], story.facts["pal"]
        stranger = next(name for name in (BOYS if hero in BOYS else GIRLS) if name not in (hero, pal))
        for found in re.finditer(rf"\b{hero}\b", story.text):
            text = story.text[: found.start()] + stranger + story.text[found.end() :]
            assert refused(text, "hero", "name"), text


def test_a_name_that_nobody_has_is_refused(told):
    for story in told:
        hero = story.facts["hero"]
        text = story.text.replace(hero, hero + "o").replace(hero + "o", hero, 1)
        assert refused(text, "name"), text


def test_a_pal_whose_bond_does_not_fit_is_refused():
    story = next(s for s in stories(22) if f"her brother {s.facts['pal']}" in s.text)
    assert refused(story.text.replace("her brother", "her sister", 1), "pal")


def parts(story):
    """The sentences before the last of the plot, and that last sentence."""
    last = len(list(sentences(story.facts["plot"]))) - 2
    return story.facts["sentences"][:last], story.facts["sentences"][last]


def test_a_story_cut_before_its_end_is_refused(told):
    for story in told:
        before, end = parts(story)
        words = " ".join([*before, end]).split()
        for length in range(12, len(words), 4):
            assert refused(" ".join(words[:length]), "ending"), words[:length]


def test_the_end_of_another_plot_is_refused(told):
    for story, other in zip(told, told[10:] + told[:10], strict=True):
        end = parts(other)[1].replace(other.facts["hero"], story.facts["hero"])
        text = " ".join([*parts(story)[0], end.replace(other.facts["pal"], story.facts["pal"])])
        assert refused(text, "ending"), text


def test_an_end_that_speaks_of_another_thing_is_refused():
    story = next(s for s in stories(23) if re.search(r"never left the \w+ at the \w+ again.$", s.text))
    toy = re.search(r"never left the (\w+) at", story.text)[1]
    head, _, tail = story.text.rpartition(f"the {toy} at")
    other = "kite" if toy != "kite" else "drum"
    assert refused(f"{head}the {other} at{tail}", "ending")


def test_a_story_that_goes_on_after_its_end_is_refused(told):
    assert all(refused(story.text + " Then it began", "ending") for story in told)


@pytest.mark.parametrize(
    "text", ["", "The end.", "Once upon a time there was a kind girl named Tom.", "Code: cup end."]
)
def test_what_is_no_story_is_refused(text):
    assert not any(check_story(text).values())


def test_a_story_about_someone_else_than_asked_is_refused(told):
    story = told[0]
    assert not check_story(story.text, {"hero": story.facts["pal"]})["hero"]
    assert not check_story(story.text, {"plot": "fear"})["plot"]


def test_articles_agree(told):
    for story in told:
        assert not re.search(r"\b[Aa] ([aeiou]|honest)", story.text), story.text
        assert not re.search(r"\b[Aa]n (?!honest)[^aeiou]", story.text), story.text
