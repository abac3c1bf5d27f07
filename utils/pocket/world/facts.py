"""What the story world knows: capitals, sounds, opposites, colors, order, sums and so on, told in many frames.

A fact is a relation, a subject and an answer. A relation tells it in two ways and asks it in one; a frame puts that
into a sentence. Of the sixteen forms (frame and way) of each fact one is kept out of training, so that every fact can
be asked in a form that was never read word for word, though both the fact and the form were read often, apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from utils.pocket.world.lexicon import NAMES, SOUNDS
from utils.pocket.world.teller import Teller, fixed_draw, pair_key, with_article


@dataclass(frozen=True)
class Relation:
    """`tells` and `reply` end in the answer, so that it completes them; {x} is the subject and {y} the answer."""

    name: str
    weight: float
    tells: tuple[str, str]
    ask: str
    reply: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Frame:
    """A sentence around a fact. {tell} or {ask} and {reply} come from the relation; {name} and {other} are names."""

    name: str
    form: str


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """'France/Paris the_sky/blue' → (('France', 'Paris'), ('the sky', 'blue'))."""
    return tuple((x.replace("_", " "), y) for x, y in (item.split("/") for item in text.split()))


def _row(text: str, circle: bool = True) -> tuple[tuple[str, str], ...]:
    """'one two three' → each word with the one after it, and the last with the first if it is a circle."""
    words = text.split()
    return tuple(zip(words, words[1:] + words[:1] if circle else words[1:], strict=False))


def _back(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((after, before) for before, after in pairs)


NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTHS = "January February March April May June July August September October November December"

_CAPITALS = _pairs(
    "France/Paris Spain/Madrid Italy/Rome England/London Germany/Berlin Russia/Moscow Japan/Tokyo China/Beijing "
    "Egypt/Cairo Greece/Athens Ireland/Dublin Norway/Oslo Austria/Vienna Poland/Warsaw Portugal/Lisbon Canada/Ottawa "
    "Australia/Canberra Indonesia/Jakarta Iraq/Baghdad Iran/Tehran Afghanistan/Kabul Syria/Damascus Cuba/Havana "
    "Belgium/Brussels Hungary/Budapest Sweden/Stockholm Denmark/Copenhagen Finland/Helsinki Turkey/Ankara India/Delhi "
    "Thailand/Bangkok Lebanon/Beirut Chile/Santiago Peru/Lima Scotland/Edinburgh Wales/Cardiff "
    "Pakistan/Islamabad Libya/Tripoli Switzerland/Bern Tunisia/Tunis"
)
_OPPOSITES = _pairs(
    "hot/cold big/small old/new fast/slow open/closed happy/sad light/dark hard/soft wet/dry full/empty rich/poor "
    "strong/weak early/late high/low long/short near/far clean/dirty loud/quiet thick/thin wide/narrow left/right "
    "true/false good/bad black/white sweet/bitter safe/dangerous deep/shallow brave/afraid cheap/expensive "
    "easy/difficult sharp/dull smooth/rough"
)
_COLORS = _pairs(
    "grass/green snow/white the_sky/blue blood/red coal/black a_lemon/yellow a_carrot/orange milk/white gold/yellow "
    "ash/gray chocolate/brown a_banana/yellow a_tomato/red the_sun/yellow the_night/black a_leaf/green the_sea/blue "
    "a_strawberry/red a_pig/pink a_crow/black a_frog/green smoke/gray flour/white wood/brown"
)
_YOUNG = _pairs(
    "cow/calf dog/puppy cat/kitten sheep/lamb bear/cub duck/duckling hen/chick pig/piglet deer/fawn goat/kid"
)
_HOMES = _pairs(
    "a_bee/hive a_bird/nest a_horse/stable a_spider/web a_lion/den a_dog/kennel a_pig/sty a_bear/cave a_cow/barn "
    "a_duck/pond a_whale/sea a_mouse/hole a_king/castle a_camel/desert a_fish/river a_wolf/forest a_soldier/fort"
)
_SUMS = tuple(
    (f"{a} and {b}", c)
    for i, a in enumerate(NUMBERS.split()[:7], 1)
    for j, b in enumerate(NUMBERS.split()[:7], 1)
    for c in [NUMBERS.split()[i + j - 1]]
)

RELATIONS = tuple(
    Relation(*row)
    for row in (
        (
            "capital",
            4,
            ("the capital of {x} is {y}", "people in {x} call their capital {y}"),
            "What is the capital of {x}?",
            "it is {y}",
            _CAPITALS,
        ),
        (
            "sound",
            2.5,
            ("the sound of {x} is a {y}", "you can hear {x} {y}"),
            "What can {x} do?",
            "it can {y}",
            tuple((with_article(record["name"]), record["does"]) for record in SOUNDS),
        ),
        (
            "opposite",
            4,
            ("the opposite of {x} is {y}", "what is not {x} is {y}"),
            "What is the opposite of {x}?",
            "it is {y}",
            _OPPOSITES + _back(_OPPOSITES),
        ),
        (
            "color",
            2.5,
            ("the color of {x} is {y}", "you can see that {x} is {y}"),
            "What color is {x}?",
            "it is {y}",
            _COLORS,
        ),
        (
            "next day",
            1,
            ("the day after {x} is {y}", "after {x} comes {y}"),
            "Which day comes after {x}?",
            "it is {y}",
            _row(DAYS),
        ),
        (
            "day before",
            1,
            ("the day before {x} is {y}", "before {x} comes {y}"),
            "Which day comes before {x}?",
            "it is {y}",
            _back(_row(DAYS)),
        ),
        (
            "next month",
            1.5,
            ("the month after {x} is {y}", "after {x} comes {y}"),
            "Which month comes after {x}?",
            "it is {y}",
            _row(MONTHS),
        ),
        (
            "next number",
            2,
            ("the number after {x} is {y}", "after {x} comes {y}"),
            "Which number comes after {x}?",
            "it is {y}",
            _row(NUMBERS, circle=False),
        ),
        ("sum", 4, ("adding {x} gives {y}", "the sum of {x} is {y}"), "How much is {x}?", "it is {y}", _SUMS),
        (
            "young",
            1,
            ("a young {x} is a {y}", "the child of a {x} is a {y}"),
            "What do we call a young {x}?",
            "it is a {y}",
            _YOUNG,
        ),
        (
            "home",
            1.5,
            ("the home of {x} is a {y}", "you find {x} in a {y}"),
            "Where does {x} live?",
            "it lives in a {y}",
            _HOMES,
        ),
    )
)
RELATION = {relation.name: relation for relation in RELATIONS}
_WEIGHTS = [relation.weight for relation in RELATIONS]

FRAMES = (
    Frame("plain", "{Tell}."),
    Frame("everyone knows", "Everyone knows that {tell}."),
    Frame("remember", "Remember: {tell}."),
    Frame("learned", "Today {name} learned that {tell}."),
    Frame("did you know", '"Did you know that {tell}?" asked {name}.'),
    Frame("said", 'The teacher said, "{Tell}."'),
    Frame("quiz", "Question: {ask} Answer: {reply}."),
    Frame("class", '"{ask}" asked the teacher. {name} said, "I think {reply}."'),
    Frame("two friends", 'Once {name} asked {other}, "{ask}" and {other} said that {reply}.'),
    Frame("riddle", "Here is a riddle. {ask} You know that {reply}."),
)


def capitalized(text: str) -> str:
    return text[0].upper() + text[1:]


def choose_fact(teller: Teller) -> tuple[Relation, str, str]:
    relation = teller.choose(RELATIONS, _WEIGHTS)
    subject, answer = teller.choose(relation.pairs)
    return relation, subject, answer


def ways(frame: Frame) -> int:
    """In how many ways a frame can hold a fact: one for each telling, or the one question."""
    return 1 if "{ask}" in frame.form else 2


FORMS = tuple((frame, way) for frame in FRAMES for way in range(ways(frame)))


def held_out_form(relation: Relation, subject: str) -> tuple[Frame, int]:
    """The one form in which a fact never stands in training text."""
    return FORMS[fixed_draw(f"fact:{relation.name}:{subject}", len(FORMS))]


def fact_sentence(
    frame: Frame, way: int, relation: Relation, subject: str, answer: str, name: str = "", other: str = ""
) -> str:
    tell = relation.tells[way].format(x=subject, y=answer)
    return frame.form.format(
        tell=tell,
        Tell=capitalized(tell),
        ask=relation.ask.format(x=subject),
        reply=relation.reply.format(x=subject, y=answer),
        name=name,
        other=other,
    )


def tell_fact(teller: Teller) -> dict:
    """One fact in one frame, as one or two sentences."""
    frame = teller.choose(FRAMES)
    relation, subject, answer = choose_fact(teller)
    way = teller.index(ways(frame))
    if held_out_form(relation, subject) == (frame, way):
        teller.hold_out()
    name = teller.choose(NAMES) if "{name}" in frame.form else ""
    other = teller.choose_unlike(NAMES, name) if "{other}" in frame.form else ""
    if other:
        teller.key(pair_key(name, other))
    teller.say(fact_sentence(frame, way, relation, subject, answer, name, other))
    return {"frame": frame.name, "way": way, "relation": relation.name, "subject": subject, "answer": answer}


def tell_facts(teller: Teller) -> dict:
    """A text of one to four facts; whether another follows is a choice after each of the first three."""
    told = [tell_fact(teller)]
    while len(told) < 4 and teller.choose((True, False), (2, 1)):
        told.append(tell_fact(teller))
    return {"facts": told}


def story_fact(teller: Teller) -> dict[str, str]:
    """A fact as the school story needs it."""
    relation, subject, answer = choose_fact(teller)
    return {
        "ask": relation.ask.format(x=subject),
        "tell": relation.tells[0].format(x=subject, y=answer),
        "answer": relation.reply.format(x=subject, y=answer),
        "Answer": capitalized(relation.reply.format(x=subject, y=answer)),
    }
