"""Chapter 09, sampling: from logits to tokens, one filter at a time, then the loop, beams and the cache.

Nothing here depends on luck. Filters are compared as filters. `sample` draws so often that a right answer stays within
its bounds except with a probability below 1e-9 (Hoeffding's inequality), and a wrong one never does. Sources: top-k is
Fan et al. 2018, top-p Holtzman et al. 2020, min-p Nguyen et al. 2024.
"""

import math
from types import SimpleNamespace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from utils.exercises.ch05 import (
    WEIGHTS,
    attention,
    attention_out,
    attention_scores,
    mix_values,
    project_heads,
    random_layer,
)
from utils.exercises.declare import Build, Exercise, Unfit

FILTERS = ("fresh", "again", "strided", "ones", "square", "float64")  # borders are not safe in bfloat16

# 09.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

greediest = Exercise("09.1", difficulty=1, minutes=5)


@greediest.oracle
def greedy(logits: Float[Tensor, "... d_vocab"]) -> Int[Tensor, "..."]:
    """The id of the largest logit."""
    return logits.argmax(-1)


@greediest.on_reference
def _(cache):
    return (cache["logits"][:, -3:],), None


def _no_ties(draw, axes):
    """Logits that differ within each row in every dtype: evenly spaced numbers in random order."""
    shape = draw.shape(axes)
    order = torch.rand(shape, generator=draw.generator).argsort(-1)
    draw.made_floats = True
    return draw.place(((order - shape[-1] / 2) * 0.5).to(draw.dtype))


@greediest.fresh
def _(draw):
    return (_no_ties(draw, "batch d_vocab"),)


@greediest.fresh
def _(draw):
    return (_no_ties(draw, "batch pos d_vocab"),)


@greediest.special("on the logits of a single position")
def _(draw):
    return (_no_ties(draw, "7"),)


greediest.hints(
    "Which number in a row of logits belongs to the likeliest token? You want its place, not its size.",
    "max gives values, argmax gives places. Over which axis?",
    "`logits.argmax(…)`, over d_vocab, the last axis.",
)


@greediest.wrong("argmin", "That is the least likely token: the largest logit wins.")
def _(logits):
    return logits.argmin(-1)


@greediest.wrong(
    "over_pos", "The argmax runs over pos: it must compare tokens, so it runs over d_vocab, the last axis."
)
def _(logits):
    return logits.argmax(-2)


@greediest.wrong("axis_kept_as_1", "The vocabulary axis is still there with length 1: leave keepdim out.")
def _(logits):
    return logits.argmax(-1, keepdim=True)


@greediest.wrong("values_not_ids", "Those are the largest logits themselves: wanted are their ids, whole numbers.")
def _(logits):
    return logits.amax(-1)


@greediest.right
def by_topk(logits):
    return logits.topk(1).indices.squeeze(-1)


@greediest.right
def by_sort(logits):
    return logits.sort(-1, descending=True).indices[..., 0]


@greediest.right
def by_max(logits):
    return torch.max(logits.double(), dim=-1)[1]


# 09.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

tempered = Exercise("09.2", difficulty=1, minutes=5)


@tempered.oracle
def apply_temperature(logits: Float[Tensor, "... d_vocab"], temperature: float) -> Float[Tensor, "... d_vocab"]:
    """logits / temperature; a temperature of 0 or less is an error."""
    if temperature <= 0:
        raise ValueError(f"the temperature must be above 0, not {temperature}")
    return logits / temperature


@tempered.on_reference
def _(cache):
    return (cache["logits"][:, -1, :4000], 0.7), None


@tempered.fresh
def _(draw):
    return draw.normal("batch d_vocab", scale=2.0), draw.number(0.3, 0.8)


@tempered.fresh
def _(draw):
    return draw.normal("batch pos d_vocab", scale=2.0), draw.number(1.3, 3.0)


@tempered.special("where some tokens were ruled out before (logit −∞)")
def _(draw):
    logits = draw.normal("4 6")
    return logits.masked_fill(logits > 0.8, float("-inf")), 2.0


@tempered.special("at a temperature just above 0")
def _(draw):
    return draw.normal("3 5"), 1e-6


@tempered.special("at temperature 0")
def _(draw):
    return draw.normal("3 5"), 0.0


@tempered.special("at a temperature below 0")
def _(draw):
    return draw.normal("3 5"), -0.5


tempered.hints(
    "A high temperature makes the distribution flatter. Do larger or smaller differences between logits do that?",
    "The temperature works on logits, before any softmax, and it divides.",
    'Check the temperature first: `raise ValueError("…")` where it is 0 or less.',
    "`return logits / …`",
)


@tempered.wrong("multiplies", "The logits are multiplied: a high temperature must bring them together, so divide.")
def _(logits, temperature):
    apply_temperature(logits, temperature)
    return logits * temperature


@tempered.wrong(
    "on_probabilities", "The division is of probabilities: the temperature belongs to the logits, before softmax."
)
def _(logits, temperature):
    apply_temperature(logits, temperature)
    return logits.softmax(-1) / temperature


@tempered.wrong(
    "clamps_silently",
    (
        "A temperature of 0 or less is accepted and quietly made a small one: raise a ValueError, so that nobody is "
        "misled."
    ),
)
def _(logits, temperature):
    return logits / max(temperature, 1e-5)


@tempered.wrong("no_check", "A temperature of 0 or less is accepted: raise a ValueError.")
def _(logits, temperature):
    return logits / temperature


@tempered.wrong(
    "normalizes", "The result is normalized (log_softmax): only the division is wanted, logits stay logits."
)
def _(logits, temperature):
    return apply_temperature(logits, temperature).log_softmax(-1)


@tempered.wrong(
    "probabilities",
    "Probabilities are returned: only the division is wanted, so that filters can follow on the logits.",
)
def _(logits, temperature):
    return apply_temperature(logits, temperature).softmax(-1)


@tempered.wrong(
    "only_0_refused", "Only a temperature of 0 is refused: below 0 the least likely tokens would win. Refuse T ≤ 0."
)
def _(logits, temperature):
    return logits / temperature if temperature else apply_temperature(logits, temperature)


@tempered.wrong("small_ones_refused", "A small temperature is refused: every one above 0 is allowed. Refuse T ≤ 0.")
def _(logits, temperature):
    return apply_temperature(logits, temperature if temperature >= 1e-3 else 0.0)


@tempered.right
def times_inverse(logits, temperature):
    if not temperature > 0:
        raise ValueError("temperature must be positive")
    return logits * (1 / temperature)


@tempered.right
def with_div(logits, temperature):
    if temperature <= 0:
        raise ValueError
    return torch.div(logits, torch.full((), temperature, dtype=logits.dtype, device=logits.device))


@tempered.right
class Temper:
    """A callable object in place of a function."""

    def __new__(cls, logits, temperature):
        if temperature <= 0:
            raise ValueError("not above 0")
        return (logits.double() / temperature).to(logits.dtype)


# 09.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

sampling = Exercise("09.3", difficulty=3, minutes=15, vary=(), exact=False)

# Four rows of probabilities, repeated many times. The first two are alike and even, so that draws shared between
# neighbors show; the last two hold a token that must never be drawn, and sort in another order than their ids.
SHARES = torch.tensor(
    [
        [0.25, 0.25, 0.25, 0.25, 0.0, 0.0],
        [0.25, 0.25, 0.25, 0.25, 0.0, 0.0],
        [0.05, 0.0, 0.15, 0.5, 0.0, 0.3],
        [0.0, 0.1, 0.6, 0.0, 0.25, 0.05],
    ],
    dtype=torch.float64,
)
DRAWS = 5000  # of each row
# One row with a long tail, where half the weight lies: a temperature or a filter left in shows there. A token of the
# tail is as rare as 0.4 %; the rarest two together have more weight than top-p 0.99 leaves out.
TAIL = torch.linspace(3.0, 1.0, 63, dtype=torch.float64)
LONG = torch.cat([TAIL.flip(0)[:30], TAIL.sum()[None], TAIL[:33]])
LONG = LONG / LONG.sum()
ERROR = 1e-10
ROOM = math.log(2 * 256 / ERROR)  # for all frequencies compared
BOUND = math.sqrt(ROOM / (2 * DRAWS))  # Hoeffding, for what is drawn together


@sampling.oracle
def sample(logits: Float[Tensor, "... d_vocab"], generator: torch.Generator) -> Int[Tensor, "..."]:
    """One token a row, drawn from softmax(logits) with the generator's randomness."""
    rows = logits.softmax(-1).reshape(-1, logits.shape[-1])  # [rows d_vocab]
    return torch.multinomial(rows, 1, generator=generator).reshape(logits.shape[:-1])


@sampling.probe
def _(answer, logits, generator):
    """What can be said of the draws without luck: a table of facts, the same for every right way of drawing."""
    start = generator.get_state()
    calls = _kinds(logits) * DRAWS // logits[..., 0].numel()
    drawn = [_drawn(answer, logits, generator) for _ in range(calls)]
    moved = not torch.equal(generator.get_state(), start)
    generator.set_state(start)
    again = [_drawn(answer, logits, generator) for _ in range(min(calls, 100))]
    repeats = all(torch.equal(a, b) for a, b in zip(drawn, again, strict=False))
    return _facts(torch.stack(drawn), logits) | {"generator_moves_on": moved, "generator_decides": repeats}


AXIS_KEPT = (
    "The ids have an axis of length 1 at their end, as torch.multinomial leaves it: one id a row, so take it away with "
    "squeeze(-1) or reshape(logits.shape[:-1])."
)


def _drawn(answer, logits, generator):
    result = answer(logits, generator)
    if not isinstance(result, Tensor):
        raise Unfit(f"Return a tensor of ids, not a {type(result).__name__}.")
    if result.dtype != torch.int64:
        raise Unfit(f"Ids are whole numbers (int64): these are {str(result.dtype).removeprefix('torch.')}.")
    if result.shape == (*logits.shape[:-1], 1):
        raise Unfit(AXIS_KEPT)
    if result.shape != logits.shape[:-1]:
        raise Unfit(
            f"Logits of shape {tuple(logits.shape)} have {tuple(logits.shape[:-1])} rows to draw for: the result's "
            f"shape must be that, not {tuple(result.shape)}."
        )
    return result.detach()


def _kinds(logits):
    """How many different rows there are, in turn."""
    return 1 if logits.ndim == 1 or logits.shape[-1] == len(LONG) else len(SHARES)


def _within(frequency, share, n):
    """Whether frequencies in n draws are those of a share, but for a chance of ERROR (Chernoff's bound, as KL)."""
    hit = torch.where(frequency > 0, frequency * (frequency / share).log(), 0)
    miss = torch.where(frequency < 1, (1 - frequency) * ((1 - frequency) / (1 - share)).log(), 0)
    return bool((n * (hit + miss) <= ROOM).all())


def _facts(drawn, logits):
    """Which distribution the draws follow, and whether neighbors are drawn apart."""
    kinds = _kinds(logits)
    ids = drawn.reshape(-1, kinds).cpu()  # [draws kind]
    if bool(((ids < 0) | (ids >= logits.shape[-1])).any()):
        return {"ids_in_range": False}
    raw = logits.reshape(-1, logits.shape[-1])[:kinds].double().cpu()
    shares = raw.softmax(-1)  # [kind d_vocab]
    seen = torch.nn.functional.one_hot(ids, shares.shape[-1]).double()  # [draws kind d_vocab]
    frequency = seen.mean(0)
    positive = torch.where(torch.isfinite(raw), raw, 0).clamp(min=0)
    known = {
        "softmax": shares,
        "argmax": torch.nn.functional.one_hot(shares.argmax(-1), shares.shape[-1]).double(),
        "ranks": shares.sort(-1, descending=True).values,
        "logits": positive / positive.sum(-1, keepdim=True).clamp(min=1e-9),
        "even": torch.full_like(shares, 1 / shares.shape[-1]),
    }
    follows = next((name for name, p in known.items() if _within(frequency, p, len(ids))), "something else")
    if kinds == 1 and follows in ("softmax", "something else"):
        follows = _top_and_tail(frequency[0], shares[0], len(ids), follows)
    ruled_out = bool((frequency[shares == 0] > 0).any())
    return {
        "ids_in_range": True,
        "draws_ruled_out_tokens": ruled_out,
        "follows": follows,
        "rows_apart": kinds == 1 or _apart(seen[:, 0], seen[:, 1]),
        "leading_axes_apart": kinds == 1 or _apart_along_axes(drawn.cpu(), logits.ndim - 1),
    }


def _top_and_tail(frequency, shares, n, otherwise):
    """Told from the likeliest token and from bands of rare ones, each so heavy that it comes in n draws."""
    order = [i for i in shares.argsort().tolist() if shares[i] > 0]
    weight = drawn = 0.0
    for i in order:
        weight, drawn = weight + float(shares[i]), drawn + float(frequency[i])
        if n * -math.log1p(-min(weight, 1 - 1e-9)) > ROOM:
            if drawn == 0:
                return "no rare tokens"
            weight = drawn = 0.0
    top = shares.argmax()
    if not _within(frequency[top, None], shares[top, None], n):
        return "flatter" if frequency[top] < shares[top] else "sharper"
    return otherwise


def _apart(one, other):
    """Whether two draws [draws d_vocab], one-hot, are independent."""
    together = torch.einsum("nv,nw->vw", one, other) / len(one)
    return bool(((together - torch.outer(one.mean(0), other.mean(0))).abs() <= 2 * BOUND).all())


def _apart_along_axes(drawn, leading):
    """Whether the even rows, which four tokens share alike, agree across each leading axis in one of four cases."""
    axes = range(drawn.ndim - leading, drawn.ndim - 1)
    even = drawn.unflatten(-1, (-1, len(SHARES)))[..., :2]  # the first two of each four rows
    for axis in axes:
        agree = (even.narrow(axis, 0, 1) == even.narrow(axis, 1, 1)).double()
        if not _within(agree.mean()[None], torch.tensor([0.25], dtype=torch.float64), agree.numel()):
            return False
    return True


@sampling.judge
def _(facts, logits, generator):
    if not facts["ids_in_range"]:
        return "Some ids are not in the vocabulary: they must be from 0 to d_vocab − 1."
    if facts["draws_ruled_out_tokens"]:
        return "A token whose logit is −∞ was drawn: its probability is 0."
    if facts["follows"] != "softmax":
        what = {
            "argmax": "always the likeliest token",
            "even": "every token equally often",
            "flatter": "the likeliest token too seldom",
            "sharper": "the likeliest token too often",
            "no rare tokens": "the rarest tokens never",
        }.get(facts["follows"])
        return f"The draws do not follow softmax(logits){': they give ' + what if what else ''}, in {DRAWS:,} draws."
    if not facts["rows_apart"]:
        return "Neighboring rows are not drawn independently: what one row draws says something about the next."
    if not facts["leading_axes_apart"]:
        return "Rows that differ in a leading axis only are drawn alike: draw for every row, over all leading axes."
    if not facts["generator_decides"]:
        return "The same state of the generator gives other tokens: all randomness must come from the generator given."
    if not facts["generator_moves_on"]:
        return "The generator is where it was before: draw from it, so that the next call gives something new."
    return None


def _rows(shape):
    logits = (SHARES.log() + torch.tensor([[1.5], [1.5], [3.5], [3.5]])).float()  # a shift changes nothing
    return logits.repeat(DRAWS, 1).reshape(*shape, SHARES.shape[-1])


def _generator(draw):
    return torch.Generator(device=draw.device).manual_seed(draw.integer(0, 2**31))


@sampling.special("for many rows at once")
def _(draw):
    return draw.place(_rows((4 * DRAWS,))), _generator(draw)


@sampling.special("for rows with three leading axes")
def _(draw):
    return draw.place(_rows((2, 2, DRAWS))), _generator(draw)


@sampling.special("for many rows with a long tail")
def _(draw):
    return draw.place(LONG.log().float().repeat(DRAWS, 1)), _generator(draw)


@sampling.special("for a single position, one call after another")
def _(draw):
    return draw.place(_rows((4 * DRAWS,))[2]), _generator(draw)


sampling.hints(
    "You need probabilities first, then a die with d_vocab sides for each row.",
    "torch.multinomial draws from rows of weights; it takes a generator, and at most two axes.",
    "Flatten the leading axes to [rows d_vocab], draw one a row, and give the result the leading shape again.",
    "`torch.multinomial(rows, 1, generator=…).reshape(logits.shape[…])`",
)


@sampling.wrong("argmax", "That is the likeliest token each time: nothing is drawn.")
def _(logits, generator):
    torch.rand(1, generator=generator, device=logits.device)
    return logits.argmax(-1)


@sampling.wrong(
    "logits_as_probabilities", "The logits themselves are taken as weights: softmax turns them into probabilities."
)
def _(logits, generator):
    rows = torch.where(torch.isfinite(logits), logits, 0).clamp(min=0).reshape(-1, logits.shape[-1])
    return torch.multinomial(rows, 1, generator=generator).reshape(logits.shape[:-1])


@sampling.wrong(
    "rank_not_id",
    "The place in the sorted order is returned, not the token's id: look the id up in the indices that sort gives.",
)
def _(logits, generator):
    return sample(logits.sort(-1, descending=True).values, generator)


@sampling.wrong("axis_kept_as_1", AXIS_KEPT)
def _(logits, generator):
    return sample(logits, generator)[..., None]


@sampling.wrong("ignores_the_generator", "The randomness does not come from the generator given: pass it on.")
def _(logits, generator):
    rows = logits.softmax(-1).reshape(-1, logits.shape[-1])
    torch.rand(1, generator=generator, device=logits.device)
    return torch.multinomial(rows, 1).reshape(logits.shape[:-1])


@sampling.wrong(
    "generator_does_not_move",
    "A generator of the answer's own is used, or a copy: the one given must move on, so that the next draw is new.",
)
def _(logits, generator):
    twin = torch.Generator(device=generator.device)
    twin.set_state(generator.get_state())
    return sample(logits, twin)


@sampling.wrong(
    "one_draw_for_all_rows", "All rows share one random number, so they move together: draw one for each row."
)
def _(logits, generator):
    u = torch.rand(1, generator=generator, device=logits.device)
    return (logits.softmax(-1).cumsum(-1) < u).sum(-1).clamp(max=logits.shape[-1] - 1)


@sampling.wrong(
    "shared_across_leading_axes",
    "One random number serves all rows that differ in a leading axis only: draw one for every row, over all leading "
    "axes.",
)
def _(logits, generator):
    u = torch.rand(logits.shape[-2:-1], generator=generator, device=logits.device, dtype=torch.float64)
    running = logits.double().softmax(-1).cumsum(-1)
    return torch.searchsorted(running, u[..., None] * running[..., -1:], right=True).squeeze(-1)


@sampling.wrong("flattened", "The distribution is flatter than softmax(logits): is a temperature above 1 left in?")
def _(logits, generator):
    return sample(logits / 1.1, generator)


@sampling.wrong("sharpened", "The distribution is sharper than softmax(logits): is a temperature below 1 left in?")
def _(logits, generator):
    return sample(logits / 0.9, generator)


@sampling.wrong("tail_cut_off", "The rarest tokens are never drawn: is a filter such as top-p or top-k left in?")
def _(logits, generator):
    return sample(top_p_filter(logits, 0.95), generator)


@sampling.wrong(
    "seeded_anew",
    "The generator is set to a seed of the answer's own, so that each call gives the same: use it as it was given.",
)
def _(logits, generator):
    return sample(logits, generator.manual_seed(0))


@sampling.right
def by_gumbel(logits, generator):
    u = torch.rand(logits.shape, generator=generator, device=logits.device, dtype=torch.float64).clamp(min=1e-300)
    return (logits.double() - (-u.log()).log()).argmax(-1)


@sampling.right
def by_inverse(logits, generator):
    u = torch.rand(logits.shape[:-1], generator=generator, device=logits.device, dtype=torch.float64)
    running = logits.double().softmax(-1).cumsum(-1)
    return torch.searchsorted(running, u[..., None] * running[..., -1:], right=True).squeeze(-1)


@sampling.right
def by_exponentials(logits, generator):
    waits = torch.empty(logits.shape, device=logits.device).exponential_(generator=generator)
    return (logits.softmax(-1) / waits).argmax(-1)


# 09.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

top_k = Exercise("09.4", difficulty=2, minutes=10)


@top_k.oracle
def top_k_filter(logits: Float[Tensor, "... d_vocab"], k: int) -> Float[Tensor, "... d_vocab"]:
    """−∞ everywhere but at the k largest logits of each row (Fan et al. 2018)."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    best = logits.topk(min(k, logits.shape[-1])).indices
    return torch.full_like(logits, float("-inf")).scatter(-1, best, logits.gather(-1, best))


def _filter_fault(result, logits, wanted):
    """What is wrong with a filter's result, where `wanted` [...] is how many tokens stay in each row."""
    kept = result != float("-inf")
    if bool((kept & (result != logits)).any()):
        return "A logit that stays is not what it was: kept logits are unchanged, all others are exactly −∞."
    count = kept.sum(-1)
    if bool((count != wanted).any()):
        row = int((count != wanted).flatten().nonzero()[0])
        return f"In row {row} {int(count.flatten()[row])} tokens stay; it should be {int(wanted.flatten()[row])}."
    smallest = logits.masked_fill(~kept, float("inf")).amin(-1)
    largest = logits.masked_fill(kept, float("-inf")).amax(-1)
    if bool((smallest < largest).any()):
        row = int((smallest < largest).flatten().nonzero()[0])
        return f"In row {row} a token stays whose logit is smaller than that of one that goes."
    return None


@top_k.judge
def _(result, logits, k):
    """By property: which of several equal logits stay is free."""
    wanted = torch.full(logits.shape[:-1], min(k, logits.shape[-1]), device=logits.device)
    return _filter_fault(result, logits, wanted)


@top_k.on_reference
def _(cache):
    return (cache["logits"][:, -1], 50), None


@top_k.fresh
def _(draw):
    return draw.normal("batch d_vocab", scale=2.0), 2


@top_k.fresh
def _(draw):
    return draw.normal("batch pos d_vocab", scale=2.0), 3


@top_k.special("where several logits are equal")
def _(draw):
    return torch.tensor([[2.0, 1.0, 1.0, 1.0, 0.0], [3.0, 3.0, 3.0, 3.0, 3.0]], device=draw.device), 2


@top_k.special("where k is larger than the vocabulary")
def _(draw):
    return draw.normal("3 5"), 9


@top_k.special("where one row's logits are all higher than another's")
def _(draw):
    return draw.normal("3 6") + torch.tensor([[0.0], [50.0], [-50.0]], device=draw.device), 2


@top_k.special("for k = 0")
def _(draw):
    return draw.normal("3 5"), 0


@top_k.special("for a k below 0")
def _(draw):
    return draw.normal("3 5"), -2


@top_k.special("on the logits of a single position, for k = 1")
def _(draw):
    return draw.normal("7"), 1


top_k.hints(
    "Which k tokens stay in each row? What must the others' logits be, so that softmax gives them nothing?",
    "topk gives values and indices. The smallest value kept is a threshold, but think of rows with equal logits.",
    "Start from a tensor of −∞ and put the kept logits back at their indices: full_like, gather, scatter.",
    "`torch.full_like(logits, float('-inf')).scatter(-1, best, …)`, with `best = logits.topk(min(k, …)).indices`",
)


@top_k.wrong("one_too_many", "k + 1 tokens stay in each row: exactly k may.")
def _(logits, k):
    return top_k_filter(logits, k and k + 1)


@top_k.wrong(
    "strict_threshold",
    "The k-th largest logit goes too, as a strict comparison (logits > threshold) does: the threshold itself stays.",
)
def _(logits, k):
    if k < 1:
        raise ValueError
    threshold = logits.topk(min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits <= threshold, float("-inf"))


@top_k.wrong(
    "one_is_refused", "k = 1 is refused: it leaves the likeliest token alone, which is allowed. Only k < 1 is not."
)
def _(logits, k):
    return top_k_filter(logits, k if k > 1 else 0)


@top_k.wrong("keeps_the_smallest", "The k least likely tokens stay: keep the most likely ones.")
def _(logits, k):
    return -top_k_filter(-logits, k).masked_fill(top_k_filter(-logits, k) == float("-inf"), float("inf"))


@top_k.wrong("zeros", "Tokens that go get the logit 0, which softmax still gives weight: they need −∞.")
def _(logits, k):
    kept = top_k_filter(logits, k)
    return torch.where(torch.isfinite(kept), kept, 0)


@top_k.wrong(
    "probabilities", "Probabilities are returned: a filter gives logits, so that filters can follow each other."
)
def _(logits, k):
    return top_k_filter(logits, k).softmax(-1)


@top_k.wrong("crash_on_large_k", "A k larger than the vocabulary must keep everything: use min(k, d_vocab).")
def _(logits, k):
    if k < 1:
        raise ValueError
    best = logits.topk(k).indices
    return torch.full_like(logits, float("-inf")).scatter(-1, best, logits.gather(-1, best))


@top_k.wrong("ties_keep_extra", "Where logits are equal, a threshold keeps too many: exactly k tokens may stay.")
def _(logits, k):
    if k < 1:
        raise ValueError
    threshold = logits.topk(min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits < threshold, float("-inf"))


@top_k.wrong("one_threshold_for_all_rows", "One threshold is used for all rows: each row has its own k best tokens.")
def _(logits, k):
    if k < 1:
        raise ValueError
    threshold = logits.topk(min(k, logits.shape[-1])).values[..., -1].min()
    return logits.masked_fill(logits < threshold, float("-inf"))


@top_k.wrong("no_check", "k = 0 is accepted, which leaves nothing to draw: raise a ValueError where k is below 1.")
def _(logits, k):
    return top_k_filter(logits, k) if k else torch.full_like(logits, float("-inf"))


@top_k.wrong(
    "no_check_at_all", "A k below 1 is accepted, which leaves nothing to draw: raise a ValueError where k is below 1."
)
def _(logits, k):
    return top_k_filter(logits, k) if k > 0 else torch.full_like(logits, float("-inf"))


@top_k.wrong(
    "left_to_topk", "k is not looked at: topk takes k = 0 and leaves nothing to draw. Raise a ValueError where k < 1."
)
def _(logits, k):
    best = logits.topk(min(k, logits.shape[-1])).indices
    return torch.full_like(logits, float("-inf")).scatter(-1, best, logits.gather(-1, best))


@top_k.wrong(
    "made_at_least_1", "A k below 1 is quietly made 1: raise a ValueError, so that nobody is misled about what it does."
)
def _(logits, k):
    return top_k_filter(logits, max(k, 1))


ONLY_0 = "k = 0 is refused, but a k below 0 is not: raise a ValueError wherever k is below 1."


@top_k.wrong("only_0_refused", ONLY_0)
def _(logits, k):
    if k == 0:
        raise ValueError
    rank = logits.argsort(-1, descending=True).argsort(-1)
    return logits.masked_fill(rank >= k, float("-inf"))


@top_k.wrong("only_0_refused_the_rest_left_to_topk", ONLY_0)
def _(logits, k):
    if k == 0:
        raise ValueError
    best = logits.topk(min(k, logits.shape[-1])).indices
    return torch.full_like(logits, float("-inf")).scatter(-1, best, logits.gather(-1, best))


@top_k.right
def by_sorting(logits, k):
    if k < 1:
        raise ValueError("k < 1")
    order = logits.argsort(-1, descending=True)
    rank = order.argsort(-1)
    return logits.masked_fill(rank >= k, float("-inf"))


@top_k.right
def row_by_row(logits, k):
    if k <= 0:
        raise ValueError("k")
    out = logits.new_full(logits.shape, -torch.inf)
    for row, kept in zip(logits.reshape(-1, logits.shape[-1]), out.view(-1, logits.shape[-1]), strict=True):
        best = row.topk(min(k, len(row)), sorted=False).indices
        kept[best] = row[best]
    return out


@top_k.right
def with_mask(logits, k):
    if k < 1:
        raise ValueError("k")
    k = min(k, logits.shape[-1])
    stay = torch.zeros_like(logits, dtype=torch.bool).scatter_(-1, torch.topk(logits, k, dim=-1)[1], True)
    return torch.where(stay, logits, -torch.inf)


# 09.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

top_p = Exercise("09.5", difficulty=3, minutes=15, vary=FILTERS, keep=("d_vocab",))


@top_p.oracle
def top_p_filter(logits: Float[Tensor, "... d_vocab"], p: float, min_tokens: int = 1) -> Float[Tensor, "... d_vocab"]:
    """−∞ outside the smallest set of likeliest tokens with probability ≥ p (Holtzman et al. 2020)."""
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, not {p}")
    if p == 1:
        return logits.clone()
    ordered, order = logits.sort(-1, descending=True)
    shares = ordered.softmax(-1)
    stays = shares.cumsum(-1) - shares < p  # what came before has not reached p yet
    stays[..., :min_tokens] = True
    return torch.full_like(logits, float("-inf")).scatter(-1, order, ordered.masked_fill(~stays, float("-inf")))


@top_p.judge
def _(result, logits, p, min_tokens=1):
    shares = logits.double().softmax(-1).sort(-1, descending=True).values
    wanted = (shares.cumsum(-1) - shares < p).sum(-1) if p < 1 else torch.full(logits.shape[:-1], logits.shape[-1])
    wanted = wanted.to(logits.device).clamp(min=min(min_tokens, logits.shape[-1]))
    there = (logits > float("-inf")).sum(-1)  # what was ruled out before stays so, and is not seen to stay
    return _filter_fault(result, logits, wanted.minimum(there))


def _away_from_sums(logits, low, high):
    """A p in [low, high] as far as can be from every running sum of probabilities."""
    sums = logits.double().softmax(-1).sort(-1, descending=True).values.cumsum(-1).flatten()
    sums = sums[(sums > low - 0.1) & (sums < high + 0.1)]
    grid = torch.linspace(low, high, 301, dtype=torch.float64, device=logits.device)
    gaps = (grid[:, None] - sums).abs().amin(-1) if len(sums) else torch.ones_like(grid)
    return float(grid[gaps.argmax()])


@top_p.on_reference
def _(cache):
    logits = cache["logits"][:, -1, :5000]  # the commonest tokens
    return (logits, _away_from_sums(logits, 0.4, 0.9)), None


@top_p.fresh
def _(draw):
    logits = draw.normal("batch d_vocab", scale=1.5)
    return logits, _away_from_sums(logits, 0.6, 0.95)


@top_p.fresh
def _(draw):
    """A small p, whose first token is already enough."""
    logits = draw.normal("batch pos d_vocab", scale=1.5)
    return logits, 0.02


@top_p.special("with min_tokens = 3")
def _(draw):
    return torch.tensor([[5.0, 0.0, 1.0, 2.0, -1.0], [0.0, 9.0, 1.0, 2.0, 3.0]], device=draw.device), 0.5, 3


@top_p.special("with min_tokens = 2, where one row needs more tokens to reach p and another fewer")
def _(draw):
    return torch.tensor([[0.1, 0.4, -5.0, 0.3, 0.2], [0.0, 9.0, 1.0, 2.0, 3.0]], device=draw.device), 0.9, 2


@top_p.special("where some tokens were ruled out before (logit −∞), as by top-k")
def _(draw):
    out = float("-inf")
    rows = [[0.5, out, 0.2, out, 1.0, 0.0], [out, 6.0, out, 0.0, out, 1.0]]
    return torch.tensor(rows, device=draw.device), 0.7


@top_p.special("with more min_tokens than there are tokens")
def _(draw):
    return draw.normal("2 4"), 0.3, 9


@top_p.special("for p = 1")
def _(draw):
    return draw.normal("3 7", scale=3.0), 1.0


@top_p.special("for p above 1")
def _(draw):
    return draw.normal("3 5"), 1.2


@top_p.special("for a p below 0")
def _(draw):
    return draw.normal("3 5"), -0.5


@top_p.special("on the logits of a single position")
def _(draw):
    return torch.tensor([0.0, 3.0, 1.0, 2.0], device=draw.device), 0.8


@top_p.special("for p = 0")
def _(draw):
    return draw.normal("3 5"), 0.0


top_p.hints(
    "Put the tokens of a row in order of probability and add them up. When may you stop?",
    "sort, softmax, cumsum. The token that takes the sum over p still belongs to the set.",
    "A token stays where the sum of those before it is below p: cumsum minus its own share. Then take the mask back "
    "to the "
    "tokens' own order with scatter or with the inverse of the sorting order.",
    "`stays = shares.cumsum(-1) - shares < p; stays[..., :min_tokens] = …`",
)


def _sorted_rule(rule, logits, p, min_tokens):
    """A top-p filter whose rule of what stays, on sorted shares, is another."""
    if not 0 < p <= 1:
        raise ValueError
    ordered, order = logits.sort(-1, descending=True)
    shares = ordered.softmax(-1)
    stays = rule(shares) | (torch.zeros_like(shares) if p < 1 else torch.ones_like(shares)).bool()
    stays[..., :min_tokens] = True
    return torch.full_like(logits, float("-inf")).scatter(-1, order, ordered.masked_fill(~stays, float("-inf")))


@top_p.wrong(
    "crossing_token_dropped",
    "The token that takes the sum over p is dropped: the set must reach p, so that token belongs to it.",
)
def _(logits, p, min_tokens=1):
    return _sorted_rule(lambda shares: shares.cumsum(-1) <= p, logits, p, min_tokens)


@top_p.wrong(
    "one_too_many",
    "One token too many stays: the one that takes the sum over p is the last. A mask already moved on by one place, or "
    "made from cumsum minus the token's own share, must not be moved again.",
)
def _(logits, p, min_tokens=1):
    def rule(shares):
        before = torch.nn.functional.pad(shares.cumsum(-1), (2, 0))[..., : shares.shape[-1]]
        return before < p

    return _sorted_rule(rule, logits, p, min_tokens)


@top_p.wrong(
    "empty_at_small_p", "At a small p no token stays, so there is nothing to draw: the likeliest always stays."
)
def _(logits, p, min_tokens=1):
    return _sorted_rule(lambda shares: shares.cumsum(-1) <= p, logits, p, min_tokens if min_tokens > 1 else 0)


@top_p.wrong(
    "mask_left_sorted",
    (
        "The mask is in sorted order but is applied to tokens in their own: take it back with scatter or by the "
        "inverse order."
    ),
)
def _(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError
    shares = logits.sort(-1, descending=True).values.softmax(-1)
    stays = (shares.cumsum(-1) - shares < p) | (p == 1)
    stays[..., :min_tokens] = True
    return logits.masked_fill(~stays, float("-inf"))


@top_p.wrong("not_sorted", "The running sum goes over the tokens as they come: sort them by probability first.")
def _(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError
    shares = logits.softmax(-1)
    stays = (shares.cumsum(-1) - shares < p) | (p == 1)
    stays[..., :min_tokens] = True
    return logits.masked_fill(~stays, float("-inf"))


@top_p.wrong("logits_summed", "The running sum is of logits: p is a probability, so put softmax before cumsum.")
def _(logits, p, min_tokens=1):
    top_p_filter(logits, p)
    ordered, order = logits.sort(-1, descending=True)
    stays = (ordered.cumsum(-1) - ordered < p) | (p == 1)
    stays[..., :min_tokens] = True
    return torch.full_like(logits, float("-inf")).scatter(-1, order, ordered.masked_fill(~stays, float("-inf")))


def _each_above(logits, p, min_tokens):
    """Tokens stay by their own probability, and so do the `min_tokens` likeliest."""
    top_p_filter(logits, p)
    best = logits.topk(min(min_tokens, logits.shape[-1])).indices
    stays = (logits.softmax(-1) >= p).scatter(-1, best, True) | (p == 1)
    return logits.masked_fill(~stays, float("-inf"))


EACH_ABOVE = (
    "Each token is compared with p by itself: it is the sum of the likeliest tokens' probabilities that must reach p "
    "(cumsum, after sorting)."
)


@top_p.wrong("each_token_above_p", EACH_ABOVE)
def _(logits, p, min_tokens=1):
    return _each_above(logits, p, min_tokens)


@top_p.wrong("each_token_above_p_or_none", EACH_ABOVE)
def _(logits, p, min_tokens=1):
    top_p_filter(logits, p)
    return logits.masked_fill(logits.softmax(-1) < p, float("-inf"))


@top_p.wrong(
    "mask_gathered",
    "The mask is taken back with gather by the sorting order, which mixes it once more: use scatter(-1, order, mask), "
    "or gather by the inverse, order.argsort(-1).",
)
def _(logits, p, min_tokens=1):
    top_p_filter(logits, p)
    ordered, order = logits.sort(-1, descending=True)
    shares = ordered.softmax(-1)
    stays = (shares.cumsum(-1) - shares < p) | (p == 1)
    stays[..., :min_tokens] = True
    return logits.masked_fill(~stays.gather(-1, order), float("-inf"))


@top_p.wrong(
    "left_sorted", "The result is in sorted order: each logit must stand at its own token's place, so scatter it back."
)
def _(logits, p, min_tokens=1):
    return top_p_filter(logits, p, min_tokens).sort(-1, descending=True).values if p < 1 else top_p_filter(logits, p)


@top_p.wrong(
    "min_tokens_ignored", "min_tokens is not used: at least that many tokens stay, whatever their probability."
)
def _(logits, p, min_tokens=1):
    return top_p_filter(logits, p)


@top_p.wrong(
    "min_tokens_in_place_of_p",
    "With min_tokens above 1 exactly that many tokens stay, whatever p is: it is a lower bound, and a row that needs "
    "more tokens to reach p keeps more.",
)
def _(logits, p, min_tokens=1):
    kept = top_p_filter(logits, p)
    if min_tokens == 1:
        return kept
    best = logits.topk(min(min_tokens, logits.shape[-1])).indices
    return torch.full_like(logits, float("-inf")).scatter(-1, best, logits.gather(-1, best))


@top_p.wrong(
    "nan_by_the_lowest_logit",
    "The row's lowest logit is subtracted before softmax: where a token was ruled out before, that is −∞ and all "
    "becomes NaN. softmax needs no help, and if anything the highest is subtracted.",
)
def _(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError
    ordered, order = logits.sort(-1, descending=True)
    shares = (ordered - ordered.amin(-1, keepdim=True)).softmax(-1)
    stays = (shares.cumsum(-1) - shares < p) | (p == 1)
    stays[..., :min_tokens] = True
    return torch.full_like(logits, float("-inf")).scatter(-1, order, ordered.masked_fill(~stays, float("-inf")))


@top_p.wrong(
    "nan_where_ruled_out",
    "A token that was ruled out before (logit −∞) becomes NaN: −∞ times 0, or −∞ − (−∞), has no value. Use "
    "masked_fill, where or scatter in place of arithmetic with a mask.",
)
def _(logits, p, min_tokens=1):
    return top_p_filter(logits, p, min_tokens) + logits * 0


@top_p.wrong("any_p_accepted", "A p of 0 or less, or above 1, is accepted: raise a ValueError.")
def _(logits, p, min_tokens=1):
    return top_p_filter(logits, min(max(p, 1e-9), 1.0), min_tokens)


@top_p.right
def by_inverse_order(logits, p, min_tokens=1):
    if p <= 0 or p > 1:
        raise ValueError("p")
    order = logits.argsort(-1, descending=True)
    shares = logits.double().softmax(-1).gather(-1, order)
    before = shares.cumsum(-1) - shares
    gone = (before >= p) & (torch.arange(logits.shape[-1], device=logits.device) >= min_tokens)
    if p == 1:
        gone = torch.zeros_like(gone)
    return logits.masked_fill(gone.gather(-1, order.argsort(-1)), float("-inf"))


@top_p.right
def row_by_row(logits, p, min_tokens=1):
    if not (p > 0 and p <= 1):
        raise ValueError("p")
    out = torch.full_like(logits, float("-inf")).reshape(-1, logits.shape[-1])
    for i, row in enumerate(logits.reshape(-1, logits.shape[-1])):
        total = 0.0
        for n, j in enumerate(row.argsort(descending=True)):
            if total >= p and n >= min_tokens and p < 1:
                break
            out[i, j] = row[j]
            total += float(row.double().softmax(-1)[j])
            if n > 200 and total >= p:
                break
    return out.reshape(logits.shape)


@top_p.right
def by_ascending(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError("p")
    ordered, order = logits.sort(-1)
    reached = ordered.softmax(-1).cumsum(-1) <= 1 - p
    if p == 1:
        reached = torch.zeros_like(reached)
    reached[..., max(0, logits.shape[-1] - min_tokens) :] = False
    return logits.masked_fill(torch.zeros_like(reached).scatter(-1, order, reached), -torch.inf)


# 09.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

penalized = Exercise("09.6", difficulty=2, minutes=10)


@penalized.oracle
def frequency_penalty(
    logits: Float[Tensor, "batch d_vocab"], tokens: Int[Tensor, "batch pos"], penalty: float
) -> Float[Tensor, "batch d_vocab"]:
    """logits − penalty · how often each token stands in the row's text."""
    counts = torch.zeros_like(logits).scatter_add(-1, tokens, torch.ones_like(tokens, dtype=logits.dtype))
    return logits - penalty * counts


@penalized.on_reference
def _(cache):
    return (cache["logits"][:, -1], cache.tokens, 0.5), None


@penalized.fresh
def _(draw):
    logits = draw.normal("batch d_vocab", scale=2.0)
    return logits, draw.ids("batch pos", logits.shape[-1]), 0.75


@penalized.special("for a text that says one token again and again")
def _(draw):
    tokens = torch.tensor([[1, 1, 1, 1], [2, 1, 2, 0]], device=draw.device)
    return draw.normal("2 4"), tokens, 1.5


@penalized.special("for a penalty below 0, which rewards repetition")
def _(draw):
    return draw.normal("2 4"), torch.tensor([[1, 1, 3], [2, 0, 2]], device=draw.device), -0.5


@penalized.special("where some tokens were ruled out before (logit −∞)")
def _(draw):
    logits, tokens = draw.normal("2 5"), torch.tensor([[1, 1, 3], [2, 0, 2]], device=draw.device)
    out = torch.tensor([[0, 1, 0, 0, 1], [1, 0, 0, 1, 0]], device=draw.device).bool()
    return logits.masked_fill(out, float("-inf")), tokens, 0.5


penalized.hints(
    "For each row and each token of the vocabulary: how often does it stand in the row's text?",
    "Count with scatter_add, with one_hot(...).sum, or with bincount row by row.",
    "Counts have the shape [batch d_vocab], as the logits have; use the logits' dtype.",
    "`logits - penalty * torch.zeros_like(logits).scatter_add(-1, tokens, …)`",
)


def _counts(logits, tokens):
    return frequency_penalty(torch.zeros_like(logits), tokens, -1.0)


@penalized.wrong(
    "presence_not_count",
    (
        "Each token that occurs is penalized once: a frequency penalty counts, so a token said three times pays three "
        "times."
    ),
)
def _(logits, tokens, penalty):
    return logits - penalty * (_counts(logits, tokens) > 0).to(logits.dtype)


@penalized.wrong("multiplies", "Logits are multiplied by the penalty for each occurrence: it is subtracted.")
def _(logits, tokens, penalty):
    return logits * torch.where(_counts(logits, tokens) > 0, penalty * _counts(logits, tokens), 1)


@penalized.wrong(
    "divides",
    "Logits are divided: that makes a negative logit larger, so a penalized token likelier. Subtract penalty · count.",
)
def _(logits, tokens, penalty):
    return logits / (1 + penalty * _counts(logits, tokens))


@penalized.wrong("adds", "The penalty is added: a positive penalty must lower the logit.")
def _(logits, tokens, penalty):
    return logits + penalty * _counts(logits, tokens)


@penalized.wrong("counts_of_row_0", "The first row's counts are used for all rows: each text has its own.")
def _(logits, tokens, penalty):
    return logits - penalty * _counts(logits, tokens[:1].expand_as(tokens))


@penalized.wrong("ignores_logits", "Only the penalty is returned: it is subtracted from the logits.")
def _(logits, tokens, penalty):
    return -penalty * _counts(logits, tokens)


@penalized.wrong(
    "counts_of_the_whole_batch",
    "Each row pays for the tokens of every row: count along pos only, each row for itself.",
)
def _(logits, tokens, penalty):
    counts = torch.nn.functional.one_hot(tokens, logits.shape[-1]).sum((0, 1))
    return logits - penalty * counts.to(logits.dtype)


@penalized.wrong(
    "first_token_skipped",
    "The first token of each text is not counted: BOS counts like any other, because all given tokens do.",
)
def _(logits, tokens, penalty):
    return frequency_penalty(logits, tokens[:, 1:], penalty)


@penalized.wrong(
    "last_token_skipped", "The last token of each text is not counted: all given tokens count, the newest too."
)
def _(logits, tokens, penalty):
    return frequency_penalty(logits, tokens[:, :-1], penalty)


@penalized.wrong(
    "share_not_count", "The penalty is times the token's share of the text: it is times how often it occurs."
)
def _(logits, tokens, penalty):
    counts = torch.nn.functional.one_hot(tokens, logits.shape[-1]).sum(1)
    return logits - penalty * (counts / tokens.shape[1]).to(logits.dtype)


RULED_OUT = (
    "A token that was ruled out before (logit −∞) gets a finite logit, with which a later step may bring it back: "
    "−∞ less a penalty is −∞, so leave it."
)
for _lowest in (-1e30, -1e9):
    penalized.wrong(f"ruled_out_made_finite_{_lowest:.2g}", RULED_OUT)(
        lambda logits, tokens, penalty, lowest=_lowest: frequency_penalty(logits, tokens, penalty).clamp(min=lowest)
    )


@penalized.wrong(
    "nan_where_ruled_out",
    "A token that was ruled out before (logit −∞) becomes NaN: −∞ times 0 has no value. Subtract penalty · count from "
    "the logits as they are.",
)
def _(logits, tokens, penalty):
    return frequency_penalty(logits, tokens, penalty) + logits * 0


@penalized.right
def by_one_hot(logits, tokens, penalty):
    return logits - penalty * torch.nn.functional.one_hot(tokens, logits.shape[-1]).sum(1).to(logits.dtype)


@penalized.right
def by_bincount(logits, tokens, penalty):
    counts = torch.stack([torch.bincount(row, minlength=logits.shape[-1]) for row in tokens])
    return (logits.double() - penalty * counts).to(logits.dtype)


@penalized.right
def by_loops(logits, tokens, penalty):
    out = logits.clone()
    for b, row in enumerate(tokens.tolist()):
        for token in set(row):
            out[b, token] = logits[b, token] - penalty * row.count(token)
    return out


# 09.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

loop = Exercise("09.7", difficulty=4, minutes=20, vary=(), exact=False)


class Toy(torch.nn.Module):
    """A model small enough to search through: its logits depend on every token it sees and on where each stands."""

    def __init__(self, d_vocab, n_ctx, seed, device):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.cfg = SimpleNamespace(n_ctx=n_ctx, d_vocab=d_vocab, d_vocab_out=d_vocab)
        self.by_token = torch.nn.Parameter(torch.randn(n_ctx, d_vocab, d_vocab, generator=generator).to(device))
        self.by_place = torch.nn.Parameter(torch.randn(n_ctx, d_vocab, generator=generator).to(device))
        self.requires_grad_(False)

    def renamed(self, ids):
        """The same model, in which the token that was i is ids[i]."""
        was = ids.argsort()
        self.by_token.data, self.by_place.data = self.by_token[:, was][:, :, was], self.by_place[:, was]
        return self

    def forward(self, tokens, **options):
        """[batch pos] → [batch pos d_vocab]; more than n_ctx tokens are refused."""
        pos = tokens.shape[1]
        if pos > self.cfg.n_ctx:
            raise ValueError(f"the model sees at most {self.cfg.n_ctx} tokens; it was given {pos}")
        seen = self.by_token[torch.arange(pos, device=tokens.device), tokens]  # [batch pos d_vocab]
        return seen.cumsum(1) + self.by_place[:pos]


class Pick:
    """The likeliest token, except where `script` says which token a row gets at a step."""

    def __init__(self, script):
        self.script, self.step = script, 0

    def __call__(self, logits):
        if logits.ndim != 2:
            raise ValueError(
                f"pick gets the logits of one position, [batch d_vocab]; it was given {tuple(logits.shape)}"
            )
        chosen = logits.argmax(-1)
        for (row, step), token in self.script.items():
            if step == self.step and row < len(chosen):
                chosen[row] = token
        self.step += 1
        return chosen


class Near(Pick):
    """A pick for which the logits' own values count: the token whose logit is nearest to −1."""

    def __call__(self, logits):
        return super().__call__(-(logits + 1).abs())


@loop.oracle
def generate(
    model, tokens: Int[Tensor, "batch pos"], n_new: int, pick, eos: int | None = None
) -> Int[Tensor, "batch pos+n_new"]:
    """The loop: look at the last n_ctx tokens, pick one for each row, append; an ended row is filled with eos."""
    ended = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    out = tokens.clone()
    for _ in range(n_new):
        logits = model(out[:, -model.cfg.n_ctx :])[:, -1]  # [batch d_vocab]
        new = pick(logits)  # [batch]
        if eos is not None:
            new = torch.where(ended, eos, new)
            ended = ended | (new == eos)
        out = torch.cat([out, new[:, None]], dim=1)
    return out


@loop.probe
def _(answer, model, tokens, n_new, pick, eos=None) -> Int[Tensor, "batch pos+n_new"]:
    result = answer(model, tokens, n_new, pick, eos)
    if n_new == 0 and isinstance(result, Tensor) and result.data_ptr() == tokens.data_ptr():
        raise Unfit("With n_new = 0 the input itself is returned: give a copy, so that changing one leaves the other.")
    return result


def _loop_case(draw, pos, n_new, script, eos, n_ctx=6, prompt=None, pick=Pick):
    seed, device = draw.integer(0, 2**31), draw.device
    tokens = draw.ids(f"2 {pos}", 7) if prompt is None else torch.tensor(prompt, device=device)
    return Build(lambda: Toy(7, n_ctx, seed, device)), tokens, n_new, Build(lambda: pick(script)), eos


@loop.special("without an eos, with a pick that goes by the logits' values")
def _(draw):
    return _loop_case(draw, 3, 3, {}, None, pick=Near)


@loop.special("where the text outgrows n_ctx")
def _(draw):
    return _loop_case(draw, 5, 6, {}, None)


@loop.special("where the prompt is longer than n_ctx")
def _(draw):
    return _loop_case(draw, 9, 2, {}, None)


@loop.special("where one row ends before the other")
def _(draw):
    row_0, row_1 = (1, 6, 5), (4, 2, 3, 6)  # what they get first: the random model could end a row where none should
    script = {(i, step): token for i, row in enumerate((row_0, row_1)) for step, token in enumerate(row)}
    return _loop_case(draw, 2, 5, script, 6)


@loop.special("where the prompt itself holds the eos token")
def _(draw):
    return _loop_case(draw, 3, 4, {(0, 2): 6}, 6, prompt=[[6, 1, 2], [6, 3, 6]])


@loop.special("where the eos token is number 0")
def _(draw):
    return _loop_case(draw, 2, 5, {(1, 1): 0, (1, 2): 3}, 0, prompt=[[1, 2], [3, 4]])


@loop.special("for a batch of one and another n_ctx")
def _(draw):
    return _loop_case(draw, 3, 6, {(0, 4): 6}, 6, n_ctx=4, prompt=[[1, 2, 3]])


@loop.special("with n_new = 0")
def _(draw):
    return _loop_case(draw, 4, 0, {}, None)


loop.hints(
    "What does one step need? The logits of the last position, a choice for each row, and a longer text.",
    "The model refuses more than model.cfg.n_ctx tokens: show it the last n_ctx, but keep the whole text.",
    "Keep a boolean for each row: has it ended? It starts False for all, whatever the prompt holds, and a row that has "
    "ended gets eos from then on. Test `eos is not None`: token 0 is a token too.",
    "`new = torch.where(ended, eos, pick(logits)); ended = ended | …; out = torch.cat([out, new[:, None]], dim=1)`",
)


def _loop_with(
    *, look=lambda logits: logits[:, -1], crop=True, start=None, fill=True, has_eos=None, stop=None, cut=None
):
    """The loop with one of its parts replaced."""

    def answer(model, tokens, n_new, pick, eos=None):
        use_eos = has_eos(eos) if has_eos else eos is not None
        ended = (
            start(tokens, eos)
            if start and use_eos
            else torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
        )
        out = tokens.clone()
        for _ in range(n_new):
            new = pick(look(model(out[:, -model.cfg.n_ctx :] if crop else out)))
            if use_eos:
                new = torch.where(ended, eos, new) if fill else new
                ended = ended | (new == eos)
            out = torch.cat([out, new[:, None]], dim=1)
            if stop and use_eos and stop(ended):
                break
        return cut(out, model) if cut else out

    return answer


loop.wrong(
    "not_the_last_position", "The logits are not those of the last position: only that one is about the next token."
)(_loop_with(look=lambda logits: logits[:, 0]))
loop.wrong("no_crop", "The model is shown more than n_ctx tokens: give it tokens[:, -n_ctx:].")(_loop_with(crop=False))
loop.wrong(
    "result_cropped", "The result is cut to n_ctx tokens: crop only what the model sees, and return the whole text."
)(_loop_with(cut=lambda out, model: out[:, -model.cfg.n_ctx :]))
loop.wrong(
    "stops_all_rows_at_one_eos", "All rows stop when one has ended: the others go on, and the result keeps its length."
)(_loop_with(stop=lambda ended: bool(ended.any())))
loop.wrong("goes_on_after_eos", "A row goes on after its end: from its first new eos on it is filled with eos.")(
    _loop_with(fill=False)
)
loop.wrong(
    "prompt_eos_counts",
    "A row whose prompt holds the eos token counts as ended: only a new eos ends it. GPT-2's BOS is the same token.",
)(_loop_with(start=lambda tokens, eos: (tokens == eos).any(1)))
loop.wrong("eos_zero_ignored", "`if eos:` is False for token 0, so that eos is ignored: write `if eos is not None:`.")(
    _loop_with(has_eos=bool)
)


loop.wrong(
    "pick_gets_probabilities",
    "pick is given probabilities: it gets the logits as the model gives them, and does what softmax it needs itself.",
)(_loop_with(look=lambda logits: logits[:, -1].softmax(-1)))
loop.wrong(
    "pick_gets_log_probabilities", "pick is given log-probabilities: it gets the logits as the model gives them."
)(_loop_with(look=lambda logits: logits[:, -1].log_softmax(-1)))
loop.wrong(
    "ends_early",
    "The result is shorter than wanted where all rows have ended: fill them with eos up to n_new new tokens.",
)(_loop_with(stop=lambda ended: bool(ended.all())))
loop.wrong(
    "others_filled_at_one_eos",
    "When one row has ended, the others are filled with eos as well: they go on, each until its own end.",
)(
    lambda model, tokens, n_new, pick, eos=None: _padded(
        _loop_with(stop=lambda ended: bool(ended.any()))(model, tokens, n_new, pick, eos), tokens, n_new, eos
    )
)
loop.wrong(
    "prompt_only_shown",
    "The model sees the same text at every step: it must be called again each time, with the new tokens too.",
)(lambda model, tokens, n_new, pick, eos=None: generate(_Deaf(model, tokens), tokens, n_new, pick, eos))
loop.wrong(
    "first_tokens_shown", "The model is shown the first n_ctx tokens: it is to see the last ones, tokens[:, -n_ctx:]."
)(lambda model, tokens, n_new, pick, eos=None: generate(_Beginning(model), tokens, n_new, pick, eos))


def _padded(out, tokens, n_new, eos):
    """Filled with eos up to n_new new tokens."""
    missing = tokens.shape[1] + n_new - out.shape[1]
    return torch.nn.functional.pad(out, (0, missing), value=eos or 0)


class _Deaf:
    """A model that sees its prompt, whatever it is given."""

    def __init__(self, model, prompt):
        self.model, self.prompt, self.cfg = model, prompt, model.cfg

    def __call__(self, tokens):
        return self.model(self.prompt[:, -self.cfg.n_ctx :])


class _Beginning:
    """A model that is shown the beginning of a text, whatever it is given."""

    def __init__(self, model):
        self.model, self.cfg = model, SimpleNamespace(n_ctx=10**6)

    def __call__(self, tokens):
        return self.model(tokens[:, : self.model.cfg.n_ctx])


@loop.wrong("pick_not_used", "The likeliest token is taken, whatever pick says: call pick for each new token.")
def _(model, tokens, n_new, pick, eos=None):
    return generate(model, tokens, n_new, lambda logits: logits.argmax(-1), eos)


@loop.wrong("only_the_new_tokens", "Only the new tokens are returned: the result begins with the prompt.")
def _(model, tokens, n_new, pick, eos=None):
    return generate(model, tokens, n_new, pick, eos)[:, tokens.shape[1] :]


@loop.wrong("changes_input", "The prompt itself is changed: work on a copy.")
def _(model, tokens, n_new, pick, eos=None):
    out = generate(model, tokens, n_new, pick, eos)
    tokens.resize_(out.shape).copy_(out)
    return tokens.clone()


@loop.right
def with_a_buffer(model, tokens, n_new, pick, eos=None):
    batch, pos = tokens.shape
    out = torch.full((batch, pos + n_new), 0 if eos is None else eos, dtype=tokens.dtype, device=tokens.device)
    out[:, :pos] = tokens
    going = torch.ones(batch, dtype=torch.bool, device=tokens.device)
    for end in range(pos, pos + n_new):
        new = pick(model(out[:, max(0, end - model.cfg.n_ctx) : end])[:, -1, :])
        out[going, end] = new[going]
        if eos is not None:
            going &= new != eos
    return out


@loop.right
def with_lists(model, tokens, n_new, pick, eos=None):
    rows, ended = tokens.tolist(), [False] * len(tokens)
    for _ in range(n_new):
        window = torch.tensor(rows, device=tokens.device)[:, -model.cfg.n_ctx :]
        for i, token in enumerate(pick(model(window)[:, -1]).tolist()):
            rows[i].append(eos if ended[i] else token)
            ended[i] = ended[i] or (eos is not None and token == eos)
    return torch.tensor(rows, dtype=tokens.dtype, device=tokens.device)


@loop.right
def stops_when_all_have_ended(model, tokens, n_new, pick, eos=None):
    out, ended = [*tokens.unbind(1)], torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    for done in range(n_new):
        new = pick(model(torch.stack(out, 1)[:, -model.cfg.n_ctx :])[:, -1])
        if eos is not None:
            new = new.masked_fill(ended, eos)
            ended = ended | new.eq(eos)
        out.append(new)
        if eos is not None and bool(ended.all()):
            out += [torch.full_like(new, eos)] * (n_new - done - 1)
            break
    return torch.stack(out, 1)


# 09.8 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

beam = Exercise("09.8", difficulty=5, minutes=40, vary=(), exact=False)


def _search(
    model,
    prompt,
    n_new,
    beams,
    eos,
    length_penalty,
    *,
    score=None,
    kept_by=None,
    look=lambda text, n_ctx: text[:, -n_ctx:],
    extend_ended=False,
    free_end=False,
    stop_at_end=False,
    raw=False,
    worst_kept=False,
    best=max,
):
    """Beam search for one row: a list of new ids and its score. Its parts can be replaced.

    `score(ids, total)` gives a beam's score; `kept_by` the one that decides what is kept, where that is another.
    """

    def value(entry):
        ids, total = entry
        return score(ids, total) if score else total / max(1, len(ids)) ** length_penalty

    def rank(entry):
        return kept_by(*entry) if kept_by else value(entry)

    kept = [([], 0.0)]
    for _ in range(n_new):
        pool = []
        for ids, total in kept:
            if ids and eos is not None and ids[-1] == eos and not extend_ended:
                pool.append((ids, total))
                continue
            text = torch.tensor([*prompt.tolist(), *ids], device=prompt.device)[None]
            logits = model(look(text, model.cfg.n_ctx))[0, -1].double()
            gains = (logits if raw else logits.log_softmax(-1)).tolist()
            if free_end and eos is not None:
                gains[eos] = 0.0
            pool += [([*ids, token], total + gain) for token, gain in enumerate(gains)]
        kept = sorted(pool, key=rank, reverse=not worst_kept)[:beams]
        if stop_at_end and eos is not None and kept[0][0][-1] == eos:
            break
    winner = best(kept, key=value)
    return winner[0], value(winner)


def _filled(ids, n_new, eos):
    """New ids cut after the first eos and filled with it."""
    if eos is not None and eos in ids:
        ids = ids[: ids.index(eos) + 1]
        return ids + [eos] * (n_new - len(ids))
    return ids


def _with_new(tokens, rows):
    new = torch.tensor(rows, dtype=tokens.dtype, device=tokens.device).reshape(len(tokens), -1)
    return torch.cat([tokens, new], dim=1)


@beam.oracle
def beam_search(
    model, tokens: Int[Tensor, "batch pos"], n_new: int, beams: int, eos: int | None = None, length_penalty: float = 0.0
) -> Int[Tensor, "batch pos+n_new"]:
    """Each row's best continuation by (sum of log-probabilities) / length^length_penalty, kept `beams` at a time."""
    rows = [_filled(_search(model, row, n_new, beams, eos, length_penalty)[0], n_new, eos) for row in tokens]
    return _with_new(tokens, rows)


def _beam_case(draw, seed, d_vocab, n_new, beams, eos=None, penalty=0.0, pos=2, n_ctx=12):
    """The model and the text are fixed, for on some random ones a wrong search finds the right answer.

    Which id stands for which token is drawn, so that nobody knows the right texts by heart; 0 stays 0.
    """
    device, generator = draw.device, torch.Generator().manual_seed(seed)
    tokens = torch.randint(d_vocab, (3, pos), generator=generator)
    ids = torch.cat([torch.zeros(1).long(), 1 + torch.randperm(d_vocab - 1, generator=draw.generator)])
    end = None if eos is None else int(ids[eos])
    model = Build(lambda: Toy(d_vocab, n_ctx, seed, device).renamed(ids.to(device)))
    return model, ids[tokens].to(device), n_new, beams, end, penalty


for _where, _case in {
    "with one beam, which is greedy": (6, 4, 1),
    "with two beams": (6, 4, 2),
    "with beams enough for an exhaustive search": (4, 3, 16),
    "with an eos": (5, 4, 3, 1),
    "with an eos and a length penalty": (5, 4, 3, 2, 0.8),
    "with an eos that is token 0, and a large length penalty": (4, 4, 4, 0, 2.0),
    "with a length penalty and many beams": (4, 4, 30, 1, 1.0),
}.items():
    for _times in range(2):

        @beam.special(_where)
        def _(draw, _case=_case, _times=_times):
            return _beam_case(draw, 11 + _times, *_case)


@beam.special("with two beams, where one beam more or less finds other texts")
def _(draw):
    return _beam_case(draw, 64, 6, 4, 2)


# On these models beams that are kept, or chosen at the end, by another score than the right one lead to other texts;
# the right scores are at least 0.007 apart where it is decided, so that rounding cannot turn them round.
for _seed, _beams, _penalty in ((130, 2, 1.0), (224, 2, 1.0), (260, 3, 1.0), (481, 3, 2.0)):

    @beam.special(f"with an eos, a length penalty and {_beams} beams, where it matters by what they are kept")
    def _(draw, _seed=_seed, _beams=_beams, _penalty=_penalty):
        return _beam_case(draw, _seed, 5, 4, _beams, 2, _penalty)


@beam.special("with an eos that is token 0, which ends the best texts")
def _(draw):
    return _beam_case(draw, 115, 5, 4, 3, 0, 0.3)


@beam.special("where the text outgrows n_ctx")
def _(draw):
    return _beam_case(draw, 5, 5, 4, 3, pos=3, n_ctx=4)


@beam.special("where the prompt is longer than n_ctx")
def _(draw):
    return _beam_case(draw, 6, 5, 2, 3, pos=6, n_ctx=4)


beam.hints(
    (
        "Do it for one row first. A beam is a list of new tokens and the sum of their log-probabilities. What can "
        "follow it?"
    ),
    "At each step put together: every beam that has ended, unchanged, and every extension of the others by one token. "
    "Keep the best by score.",
    "The score of a beam is its sum divided by (number of new tokens) ** length_penalty, the eos counted, the prompt "
    "not. "
    "Keep the sum itself apart: the score is only for comparing.",
    "`pool += [([*ids, token], total + gain) for token, gain in enumerate(logits.log_softmax(-1).tolist())]`, then "
    "`kept = sorted(pool, key=…, reverse=True)[:beams]`",
)


def _beams_with(width=lambda beams: beams, **parts):
    def answer(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
        beams = width(beams)
        scores = ("score", "kept_by")
        made = {name: part(tokens, length_penalty, eos) if name in scores else part for name, part in parts.items()}
        rows = [
            _filled(_search(model, row, n_new, beams, eos, length_penalty, **made)[0], n_new, eos) for row in tokens
        ]
        return _with_new(tokens, rows)

    return answer


def _by_sum(tokens, penalty, eos):
    return lambda ids, total: total


def _by_score(tokens, penalty, eos):
    return lambda ids, total: total / max(1, len(ids)) ** penalty


def _by_whole_length(tokens, penalty, eos):
    return lambda ids, total: total / (tokens.shape[1] + len(ids)) ** penalty


beam.wrong("raw_logits", "Raw logits are summed: only log-probabilities (log_softmax) can be added from step to step.")(
    _beams_with(raw=True)
)
beam.wrong("prompt_counted", "The prompt's length is counted in the length penalty: only the new tokens count.")(
    _beams_with(score=_by_whole_length)
)
beam.wrong("ended_beams_extended", "A beam that has ended is extended further: it stays as it is and competes.")(
    _beams_with(extend_ended=True)
)
beam.wrong("worst_returned", "The worst of the kept beams is returned: the best is wanted.")(_beams_with(best=min))
WORST_KEPT = (
    "The worst beams are kept after each step: log-probabilities are below 0, and the best is the largest, the one "
    "nearest to 0, so sort with reverse=True."
)
beam.wrong("worst_kept", WORST_KEPT)(_beams_with(worst_kept=True))
beam.wrong("worst_kept_and_returned", WORST_KEPT)(_beams_with(worst_kept=True, best=min))
beam.wrong("no_crop", "The model is shown more than n_ctx tokens: give it text[:, -n_ctx:], the last ones.")(
    _beams_with(look=lambda text, n_ctx: text)
)
beam.wrong("first_tokens_shown", "The model is shown the first n_ctx tokens: it is to see the last ones.")(
    _beams_with(look=lambda text, n_ctx: text[:, :n_ctx])
)


@beam.wrong(
    "goes_on_after_eos",
    "A beam that has ended is extended further, and what follows its end is returned: an ended beam stays as it is and "
    "competes, and the result is filled with eos.",
)
def _(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    rows = [_search(model, row, n_new, beams, eos, length_penalty, extend_ended=True)[0] for row in tokens]
    return _with_new(tokens, rows)


def _without_the_fill(out, tokens, n_new, beams, eos=None, penalty=0.0):
    """Cut where the last row ends."""
    new = out[:, tokens.shape[1] :]
    longest = max(row.index(eos) + 1 if eos in row else n_new for row in new.tolist())
    return out[:, : tokens.shape[1] + longest]


def _penalized_by(rule):
    """A search whose score is `rule(total, length, penalty)`."""
    return _beams_with(score=lambda tokens, penalty, eos: lambda ids, total: rule(total, max(1, len(ids)), penalty))


beam.wrong(
    "penalty_multiplied", "The sum is multiplied by length ** length_penalty, which punishes long texts: divide by it."
)(_penalized_by(lambda total, n, penalty: total * n**penalty))
beam.wrong(
    "penalty_subtracted",
    "The length times the penalty is subtracted from the sum: the sum is divided by length ** length_penalty.",
)(_penalized_by(lambda total, n, penalty: total - n * penalty))
beam.wrong(
    "penalty_as_a_factor", "The sum is divided by length · length_penalty: the penalty is a power, length ** penalty."
)(_penalized_by(lambda total, n, penalty: total / (n * penalty or 1)))
beam.wrong(
    "always_the_mean",
    "The sum is divided by the length whatever length_penalty is: that is the power; with 0 the sum stays as it is.",
)(_penalized_by(lambda total, n, penalty: total / n))
beam.wrong(
    "another_length_penalty",
    "The sum is divided by ((5 + length) / 6) ** length_penalty, as in Google's translator: here by the length alone.",
)(_penalized_by(lambda total, n, penalty: total / ((5 + n) / 6) ** penalty))
beam.wrong("eos_not_counted", "The eos is left out of the length: it is one of the new tokens and counts.")(
    _beams_with(
        score=lambda tokens, penalty, eos: (
            lambda ids, total: total / max(1, len(ids) - (ids[-1:] == [eos])) ** penalty  # one less after an end
        )
    )
)
beam.wrong(
    "eos_not_summed", "The eos's own log-probability is left out of the sum: it is a new token like the others."
)(_beams_with(free_end=True))
beam.wrong("eos_zero_ignored", "`if eos:` is False for token 0, so that eos is ignored: write `if eos is not None:`.")(
    lambda model, tokens, n_new, beams, eos=None, penalty=0.0: beam_search(
        model, tokens, n_new, beams, eos or None, penalty
    )
)


def _ending(leave, ended_only=False):
    """A search in which beams that have ended do not stay among the others: `leave(ended)` are chosen from at last.

    `ended_only`: the others are not, where any has ended.
    """

    def row_of(model, row, n_new, beams, eos, penalty):
        def score(entry):
            return entry[1] / max(1, len(entry[0])) ** penalty

        kept, done = [([], 0.0)], []
        for _ in range(n_new):
            done += leave([entry for entry in kept if eos is not None and entry[0][-1:] == [eos]])
            going = [entry for entry in kept if eos is None or entry[0][-1:] != [eos]]
            if not going:
                break
            pool = []
            for ids, total in going:
                text = torch.cat([row, row.new_tensor(ids)])[None, -model.cfg.n_ctx :]
                gains = model(text)[0, -1].double().log_softmax(-1).tolist()
                pool += [([*ids, token], total + gain) for token, gain in enumerate(gains)]
            kept = sorted(pool, key=score, reverse=True)[:beams]
        done += leave([entry for entry in kept if eos is not None and entry[0][-1:] == [eos]])
        return _filled(max(done if ended_only and done else kept + done, key=score)[0], n_new, eos)

    return lambda model, tokens, n_new, beams, eos=None, penalty=0.0: _with_new(
        tokens, [row_of(model, row, n_new, beams, eos, penalty) for row in tokens]
    )


beam.wrong(
    "ended_beams_set_aside",
    "Beams that have ended are set aside, and others take their places: an ended beam keeps one of the `beams` places "
    "for as long as its score is among the best.",
)(_ending(lambda ended: ended))
beam.wrong(
    "only_ended_beams_chosen",
    "The last choice is among ended beams alone, which were set aside: those that have not ended compete too, "
    "and an ended beam keeps one of the `beams` places.",
)(_ending(lambda ended: ended, ended_only=True))
beam.wrong(
    "ended_beams_dropped", "Beams that have ended are thrown away: each stays as it is and competes to the last."
)(_ending(lambda ended: []))
beam.wrong(
    "stops_at_the_first_end",
    "The search stops as soon as the best beam has ended: another one may still overtake it by a longer text.",
)(_beams_with(stop_at_end=True))
beam.wrong(
    "ends_early",
    "The result is shorter than wanted where all rows have ended: fill them with eos up to n_new new tokens.",
)(lambda model, tokens, *rest: _without_the_fill(beam_search(model, tokens, *rest), tokens, *rest))
beam.wrong(
    "prompt_eos_counts",
    "A row whose prompt holds the eos token counts as ended: only a new eos ends it. GPT-2's BOS is the same token.",
)(
    lambda model, tokens, n_new, beams, eos=None, penalty=0.0: torch.where(
        (tokens == eos).any(1, keepdim=True) if eos is not None else torch.zeros_like(tokens[:, :1]).bool(),
        _with_new(tokens, [[eos or 0] * n_new] * len(tokens)),
        beam_search(model, tokens, n_new, beams, eos, penalty),
    )
)


@beam.wrong("filled_with_zeros", "After its end a row is filled with token 0: it is filled with eos.")
def _(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    found = [_search(model, row, n_new, beams, eos, length_penalty)[0] for row in tokens]
    return _with_new(tokens, [ids + [0] * (n_new - len(ids)) for ids in found])


beam.wrong(
    "penalty_applied_twice", "The length penalty is applied twice: divide the sum by length ** length_penalty once."
)(_beams_with(score=lambda tokens, penalty, eos: lambda ids, total: total / max(1, len(ids)) ** (2 * penalty)))
beam.wrong(
    "no_penalty",
    "The length penalty is not used, or every beam is taken to be n_new long, which ranks alike: divide each sum by "
    "its own (number of new tokens) ** length_penalty.",
)(_beams_with(score=_by_sum))
beam.wrong(
    "kept_by_the_sum",
    "The right score chooses at the end, but what is kept after each step goes by the plain sum, or by the sum over "
    "one length for all (n_new), which ranks alike: keep the `beams` best by score, each with its own length.",
)(_beams_with(kept_by=_by_sum))
beam.wrong(
    "chosen_by_the_sum",
    "Beams are kept by score, but the last choice goes by the plain sum, or by the sum over n_new for all: the length "
    "penalty counts at the end too.",
)(_beams_with(kept_by=_by_score, score=_by_sum))
beam.wrong(
    "prompt_counted_in_what_is_kept",
    "The right score chooses at the end, but for what is kept after each step the prompt's length is counted too: only "
    "the new tokens count.",
)(_beams_with(kept_by=_by_whole_length))
beam.wrong(
    "prompt_counted_at_the_end",
    "The prompt's length is counted in the last choice: only the new tokens count, there as in what is kept.",
)(_beams_with(kept_by=_by_score, score=_by_whole_length))


beam.wrong(
    "always_one_beam",
    "beams is ignored and a single beam is kept, which is greedy decoding: keep the `beams` best after each step.",
)(_beams_with(width=lambda beams: 1))
beam.wrong(
    "every_beam_kept",
    "beams is ignored and every beam is kept, which searches all texts: keep the `beams` best after each step.",
)(_beams_with(width=lambda beams: None))
beam.wrong(
    "one_beam_too_many", "One beam more than asked for is kept after each step: slice the sorted list [:beams]."
)(_beams_with(width=lambda beams: beams + 1))


@beam.wrong("rows_share_beams", "The rows share their beams: each text is searched apart and keeps its own best.")
def _(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    found = [_search(model, row, n_new, beams, eos, length_penalty) for row in tokens]
    best = max(found, key=lambda item: item[1])[0]
    return _with_new(tokens, [_filled(best, n_new, eos)] * len(tokens))


@beam.right
def in_tensors(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    results = []
    for row in tokens:
        texts, sums, lengths = (
            row[None],
            torch.zeros(1, dtype=torch.float64, device=row.device),
            torch.zeros(1, device=row.device),
        )
        ended = torch.zeros(1, dtype=torch.bool, device=row.device)
        for _ in range(n_new):
            gains = model(texts[:, -model.cfg.n_ctx :])[:, -1].double().log_softmax(-1)  # [beam d_vocab]
            if eos is not None:
                only_eos = torch.full_like(gains, -torch.inf)
                only_eos[:, eos] = 0
                gains = torch.where(ended[:, None], only_eos, gains)
            longer = lengths + (~ended)
            totals = sums[:, None] + gains
            scores = (totals / longer[:, None] ** length_penalty).flatten()
            best = scores.topk(min(beams, int(torch.isfinite(scores).sum()))).indices
            parent, token = best // gains.shape[1], best % gains.shape[1]
            texts = torch.cat([texts[parent], token[:, None]], 1)
            sums, lengths = totals.flatten()[best], longer[parent]
            ended = ended[parent] | (token == eos if eos is not None else torch.zeros_like(token, dtype=torch.bool))
        results.append(texts[(sums / lengths**length_penalty).argmax()])
    return torch.stack(results)


@beam.right
def with_a_heap(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    import heapq

    rows = []
    for row in tokens.tolist():
        kept = [(0.0, 0.0, ())]
        for _ in range(n_new):
            pool = []
            for entry in kept:
                score, total, ids = entry
                if ids and ids[-1] == eos and eos is not None:
                    pool.append(entry)
                    continue
                logits = model(torch.tensor([row + list(ids)], device=tokens.device)[:, -model.cfg.n_ctx :])[0, -1]
                for token, gain in enumerate(torch.log_softmax(logits.double(), -1).tolist()):
                    pool.append(((total + gain) / (len(ids) + 1) ** length_penalty, total + gain, (*ids, token)))
            kept = heapq.nlargest(beams, pool)
        ids = list(max(kept)[2])
        rows.append(row + ids + [eos] * (n_new - len(ids)))
    return torch.tensor(rows, dtype=tokens.dtype, device=tokens.device)


@beam.right
def by_recursion(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    def score(entry):
        return entry[1] / max(len(entry[0]), 1) ** length_penalty

    def step(row, kept, left):
        if left == 0:
            return max(kept, key=score)[0]
        pool = [e for e in kept if e[0] and e[0][-1] == eos]
        for ids, total in (e for e in kept if not (e[0] and e[0][-1] == eos)):
            text = torch.cat([row, row.new_tensor(ids)])[None]
            gains = model(text[:, -model.cfg.n_ctx :])[0, -1].double().log_softmax(0)
            pool += [(ids + [t], total + gains[t].item()) for t in range(len(gains))]
        return step(row, sorted(pool, key=score)[-beams:], left - 1)

    new = [step(row, [([], 0.0)], n_new) for row in tokens]
    return torch.stack(
        [
            torch.cat([row, row.new_tensor(ids + [eos] * (n_new - len(ids)))])
            for row, ids in zip(tokens, new, strict=True)
        ]
    )


# 09.9 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

caching = Exercise("09.9", difficulty=3, minutes=15, keep=("chunk",))


@caching.oracle
class KVCache:
    """Keys and values of the positions seen so far, [batch pos n_heads d_head] each, the oldest first."""

    def __init__(self):
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def append(
        self, k: Float[Tensor, "batch new n_heads d_head"], v: Float[Tensor, "batch new n_heads d_head"]
    ) -> tuple[Float[Tensor, "batch pos n_heads d_head"], Float[Tensor, "batch pos n_heads d_head"]]:
        """Add the new positions; all of them come back."""
        self.k = k if self.k is None else torch.cat([self.k, k], dim=1)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=1)
        return self.k, self.v

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[1]


SHARED = (
    "All caches share their contents: a list or tensor in the class body belongs to the class. Make it in __init__."
)


@caching.probe
def _(answer, chunks, other):
    """Two caches used in turn; what each append gives and how many positions are held."""
    one, two = answer(), answer()
    held = len(one)
    seen = {"empty": held}
    for i, (k, v) in enumerate(chunks):
        try:
            given = one.append(k, v)
        except RuntimeError:  # as torch.cat raises where another text's keys are still there
            if held and i == 0:
                raise Unfit(f"A new cache says that it holds {held} positions. {SHARED}", kind="shared") from None
            raise
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise Unfit("append must return two tensors: all keys and all values.")
        seen |= {f"keys after append {i}": given[0].clone(), f"values after append {i}": given[1].clone()}
        seen[f"length after append {i}"] = len(one)
        if i == 0:
            if len(two) > held or (held and given[0].shape[1] > k.shape[1]):
                raise Unfit(SHARED, kind="shared")
            seen["length of another cache"] = len(two)
            seen["another cache's keys"] = two.append(*other)[0].clone()
    return seen


def _chunks(draw, lengths):
    return tuple((draw.normal(f"batch {n} n_heads d_head"), draw.normal(f"batch {n} n_heads d_head")) for n in lengths)


@caching.fresh
def _(draw):
    return _chunks(draw, (3, 1, 2)), _chunks(draw, (2,))[0]


@caching.fresh
def _(draw):
    return _chunks(draw, (2, 2, 2)), _chunks(draw, (1,))[0]


@caching.on_reference
def _(cache, layer):
    k, v = cache[f"blocks.{layer}.attn.hook_k"], cache[f"blocks.{layer}.attn.hook_v"]
    chunks = (k[:, :4], v[:, :4]), (k[:, 4:5], v[:, 4:5]), (k[:, 5:8], v[:, 5:8])
    return (chunks, (k[:, :2], v[:, :2])), None


@caching.special("over more than GPT-2's 1,024 positions")
def _(draw):
    return _chunks(draw, (600, 500, 1)), _chunks(draw, (2,))[0]


caching.hints(
    "What has to be remembered between two calls of append, and what is there before the first?",
    "Keep two tensors on the object, made in __init__; torch.cat joins old and new.",
    "Positions are axis 1, and the old ones come first. The length is the number of positions held.",
    "`self.k = k if self.k is None else torch.cat([self.k, …], dim=…)`",
)


def _cache_class(join=lambda old, new: torch.cat([old, new], 1), count=None, shared=False):
    """A cache with one of its parts replaced."""
    common: dict = {}

    class Cache:
        def __init__(self):
            self.store = common if shared else {}

        def append(self, k, v):
            for name, new in (("k", k), ("v", v)):
                self.store[name] = join(self.store[name], new) if name in self.store else new
            self.store["last"] = k.shape[1]
            self.store["appends"] = self.store.get("appends", 0) + 1
            return self.store["k"], self.store["v"]

        def __len__(self):
            if count:
                return count(self.store)
            return self.store["k"].shape[1] if "k" in self.store else 0

    return Cache


caching.wrong(
    "new_first", "The new positions stand before the old ones: positions must stay in order, the oldest first."
)(_cache_class(join=lambda old, new: torch.cat([new, old], 1)))
caching.wrong("wrong_axis", "New positions are joined along another axis: positions are axis 1.")(
    _cache_class(join=lambda old, new: torch.cat([old, new], 2))
)
caching.wrong(
    "length_of_the_last_append", "len gives the length of the last append: it is the number of all positions held."
)(_cache_class(count=lambda store: store.get("last", 0)))

caching.wrong("appends_counted", "len counts the calls of append: it is the number of all positions held.")(
    _cache_class(count=lambda store: store.get("appends", 0))
)
caching.wrong("length_of_the_batch", "len gives the number of texts in the batch: positions are axis 1.")(
    _cache_class(count=lambda store: len(store["k"]) if "k" in store else 0)
)


@caching.wrong("values_before_keys", "append returns the values before the keys: all keys first, then all values.")
class SwappedCache(_cache_class()):
    """The two are given back in the other order."""

    def append(self, k, v):
        return super().append(k, v)[::-1]


class BufferCache:
    """Writes into a buffer that does not grow."""

    room = 1024

    def __init__(self):
        self.used, self.buffers = 0, None

    def append(self, k, v):
        if self.buffers is None:
            self.buffers = [new.new_zeros(new.shape[0], self.room, *new.shape[2:]) for new in (k, v)]
        start, self.used = self.used, self.used + k.shape[1]
        for buffer, new in zip(self.buffers, (k, v), strict=True):
            buffer[:, start : self.used] = new
        return tuple(buffer[:, : self.used] for buffer in self.buffers)

    def __len__(self):
        return self.used


caching.wrong(
    "fixed_buffer",
    "Positions are written into a buffer of a fixed length, which a longer text overflows: a cache holds whatever is "
    "appended, so join old and new with torch.cat, or make the buffer larger when it is full.",
)(BufferCache)


@caching.wrong(
    "only_the_latest",
    "Only the latest positions are kept, up to a fixed number: a cache holds whatever is appended, the oldest too.",
)
class WindowCache(_cache_class(join=lambda old, new: torch.cat([old, new], 1)[:, -1024:])):
    """GPT-2's context and no more."""


@caching.wrong("shared_by_all", SHARED)
class SharedCache:
    """Contents in the class body. Emptied when two are made in a row, as a new grading does."""

    held: dict = {}
    made = 0

    def __init__(self):
        if SharedCache.made % 2 == 0:
            SharedCache.held.clear()
        SharedCache.made += 1

    def append(self, k, v):
        for name, new in (("k", k), ("v", v)):
            self.held[name] = torch.cat([self.held[name], new], 1) if name in self.held else new
        return self.held["k"], self.held["v"]

    def __len__(self):
        return self.held["k"].shape[1] if "k" in self.held else 0


@caching.wrong("only_the_new", "append returns only what was added: it must return all keys and values, old and new.")
class ForgetfulCache:
    """Remembers how many there were, not what they were."""

    def __init__(self):
        self.count = 0

    def append(self, k, v):
        self.count += k.shape[1]
        return k, v

    def __len__(self):
        return self.count


@caching.right
class ListCache:
    """Keeps the chunks and joins them when asked."""

    def __init__(self):
        self.chunks = []

    def append(self, k, v):
        self.chunks.append((k, v))
        return torch.cat([k for k, _ in self.chunks], 1), torch.cat([v for _, v in self.chunks], 1)

    def __len__(self):
        return sum(k.shape[1] for k, _ in self.chunks)


@caching.right
class StackedCache:
    """Keys and values in one tensor."""

    def __init__(self):
        self.both = None

    def append(self, k, v):
        new = torch.stack([k, v])
        self.both = new if self.both is None else torch.cat((self.both, new), dim=2)
        return tuple(self.both)

    def __len__(self):
        return 0 if self.both is None else self.both.size(2)


@caching.right
class GrowingCache:
    """Writes into a buffer that doubles."""

    def __init__(self, room=2):
        self.room, self.used, self.buffers = room, 0, None

    def append(self, k, v):
        if self.buffers is None:
            self.buffers = [new.new_empty(new.shape[0], self.room, *new.shape[2:]) for new in (k, v)]
        while self.used + k.shape[1] > self.room:
            self.buffers = [torch.cat([b, torch.empty_like(b)], 1) for b in self.buffers]
            self.room *= 2
        for buffer, new in zip(self.buffers, (k, v), strict=True):
            buffer[:, self.used : self.used + new.shape[1]] = new
        self.used += k.shape[1]
        return tuple(buffer[:, : self.used] for buffer in self.buffers)

    def __len__(self):
        return self.used


# 09.10 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

cached = Exercise(
    "09.10", difficulty=4, minutes=25, vary=("fresh", "again", "strided", "square", "float64", "bfloat16")
)

PLANS = ((5,), (1, 1, 1, 1, 1), (3, 1, 1), (2, 3), (4, 1, 3))


@cached.oracle
def attention_with_cache(
    x_new: Float[Tensor, "batch new d_model"],
    cache,
    W_Q: Float[Tensor, "n_heads d_model d_head"],
    b_Q: Float[Tensor, "n_heads d_head"],
    W_K: Float[Tensor, "n_heads d_model d_head"],
    b_K: Float[Tensor, "n_heads d_head"],
    W_V: Float[Tensor, "n_heads d_model d_head"],
    b_V: Float[Tensor, "n_heads d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
    b_O: Float[Tensor, "d_model"],
) -> Float[Tensor, "batch new d_model"]:
    """Attention of the new positions over all that the cache holds and themselves."""
    past, new = len(cache), x_new.shape[1]
    q = project_heads(x_new, W_Q, b_Q)
    k, v = cache.append(project_heads(x_new, W_K, b_K), project_heads(x_new, W_V, b_V))
    scores = attention_scores(q, k)  # [batch n_heads new past+new]
    hidden = torch.ones(new, past + new, dtype=torch.bool, device=x_new.device).triu(past + 1)
    return attention_out(mix_values(scores.masked_fill(hidden, float("-inf")).softmax(-1), v), W_O, b_O)


@cached.probe
def _(answer, x, plans, *weights):
    """The text in chunks, each plan with a cache of its own, one plan after the other."""
    results = {}
    for plan in plans:
        cache, start, parts = KVCache(), 0, []
        for length in plan:
            part = answer(x[:, start : start + length], cache, *weights)
            if not isinstance(part, Tensor):
                raise Unfit(f"Return a tensor [batch new d_model], not a {type(part).__name__}.")
            wanted = (x.shape[0], length, x.shape[2])
            if part.shape != wanted:
                raise Unfit(f"For {length} new positions the result has shape {tuple(part.shape)}; {wanted} is wanted.")
            parts.append(part)
            start += length
        results["chunks of " + ", ".join(map(str, plan))] = torch.cat(parts, 1)
    return results


@cached.on_reference
def _(cache, layer):
    weights = [cache.weight(f"blocks.{layer}.attn.{name}") for name in WEIGHTS]
    return (cache[f"blocks.{layer}.ln1.hook_out"][:, :8], PLANS, *weights), None


@cached.fresh
def _(draw):
    return _cached_case(draw)


def _cached_case(draw):
    x, *weights = random_layer(draw, draw.normal("batch 8 d_model"))
    return x, PLANS, *weights


@cached.prop("same_as_without_a_cache")
def _(answer, draw):
    x, _, *weights = _cached_case(draw)
    cache = KVCache()
    parts = [answer(chunk, cache, *weights) for chunk in x.split((4, 1, 3), dim=1)]
    gap = float((torch.cat(parts, 1) - attention(x, *weights)).abs().max())
    return (
        None if gap < 1e-4 else f"In chunks the result differs from attention over the whole text by up to {gap:.2g}."
    )


cached.hints(
    "Which queries are needed: all, or only the new ones? And which keys may new query number i see?",
    (
        "Ask the cache for its length before you append: past. Then append the new keys and values, and use all that "
        "come back."
    ),
    (
        "The scores have the shape [batch n_heads new past+new]; query i stands at position past + i and sees keys up "
        "to there."
    ),
    "`hidden = torch.ones(new, past + new, dtype=torch.bool, device=…).triu(…)`",
)


def _cached_with(hidden=None, keys=lambda q, k: k, store=lambda cache: cache, scale=lambda d_head: 1.0):
    """Cached attention with one of its parts replaced."""

    def answer(x_new, cache, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
        cache = store(cache)
        past, new = len(cache), x_new.shape[1]
        q = project_heads(x_new, W_Q, b_Q)
        k, v = cache.append(keys(q, project_heads(x_new, W_K, b_K)), project_heads(x_new, W_V, b_V))
        scores = attention_scores(q, k) * scale(q.shape[-1])
        mask = hidden or (lambda n, total, start: torch.ones(n, total, dtype=torch.bool).triu(start + 1))
        gone = mask(new, k.shape[1], past).to(x_new.device)
        return attention_out(mix_values(scores.masked_fill(gone, float("-inf")).softmax(-1), v), W_O, b_O)

    return answer


cached.wrong(
    "mask_from_the_new_length",
    (
        "The mask is built from the new length alone: new query i stands at position past + i and sees every key up "
        "to there."
    ),
)(_cached_with(hidden=lambda n, total, start: torch.ones(n, total, dtype=torch.bool).triu(1)))
# Asking the cache for its length after the append gives the same: the mask then starts past the last column.
cached.wrong(
    "no_mask_within_a_chunk",
    "Within a chunk nothing is masked: a new position sees the ones after it. Either there is no mask, or the cache "
    "was asked for its length after the append: past is its length before.",
)(_cached_with(hidden=lambda n, total, start: torch.zeros(n, total, dtype=torch.bool)))
cached.wrong("caches_queries", "Queries are cached in place of keys: only keys and values are needed again.")(
    _cached_with(keys=lambda q, k: q)
)


cached.wrong("not_scaled", "The scores are not divided by √d_head: the cache changes nothing about that.")(
    _cached_with(scale=math.sqrt)
)


@cached.wrong(
    "cache_not_used",
    "Only the new positions are attended to: append gives all keys and values, old and new, and the scores need them.",
)
def _(x_new, cache, *weights):
    return attention(x_new, *weights)


class _Leaky:
    """One store for every cache that is passed in: what a global variable does."""

    def __init__(self):
        self.own = None

    def __call__(self, cache):
        if self.own is None or (len(cache) == 0 and self.calls >= len(PLANS)):
            self.own, self.calls = KVCache(), 0
        if len(cache) == 0:
            self.calls += 1
            cache.append(*(torch.zeros(1, 1, 1, 1),) * 2)
        return self.own


cached.wrong(
    "state_leaks",
    "Something is left over from another cache: keep keys and values in the cache that is passed in, and nowhere else.",
)(_cached_with(store=_Leaky()))


@cached.right
def with_matmuls(x_new, cache, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    past = len(cache)
    q, k, v = (torch.einsum("bpm,hmd->bphd", x_new, W) + b for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V)))
    k, v = cache.append(k, v)
    scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) / q.shape[-1] ** 0.5
    query = past + torch.arange(x_new.shape[1], device=x_new.device)[:, None]
    seen = torch.arange(k.shape[1], device=x_new.device) <= query
    z = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1) @ v.transpose(1, 2)
    return (z @ W_O).sum(1) + b_O


@cached.right
def one_position_at_a_time(x_new, cache, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    rows = []
    for x in x_new.split(1, dim=1):
        q = project_heads(x, W_Q, b_Q)
        k, v = cache.append(project_heads(x, W_K, b_K), project_heads(x, W_V, b_V))
        rows.append(attention_out(mix_values(attention_scores(q, k).softmax(-1), v), W_O, b_O))
    return torch.cat(rows, 1)


@cached.right
def in_float64(x_new, cache, *weights):
    class Double:
        """The cache that was passed in, read and written in float64."""

        def __len__(self):
            return len(cache)

        def append(self, k, v):
            return tuple(t.double() for t in cache.append(k, v))

    return attention_with_cache(x_new.double(), Double(), *(w.double() for w in weights)).to(x_new.dtype)


# 09.11 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

min_p = Exercise("09.11", difficulty=2, minutes=10, vary=FILTERS)


@min_p.oracle
def min_p_filter(logits: Float[Tensor, "... d_vocab"], p: float) -> Float[Tensor, "... d_vocab"]:
    """−∞ where a token's probability is below p times the row's largest (Nguyen et al. 2024)."""
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, not {p}")
    shares = logits.softmax(-1)
    return logits.masked_fill(shares < p * shares.amax(-1, keepdim=True), float("-inf"))


@min_p.judge
def _(result, logits, p):
    shares = logits.double().softmax(-1)
    return _filter_fault(result, logits, (shares >= p * (1 - 1e-6) * shares.amax(-1, keepdim=True)).sum(-1))


def _away_from_ratios(logits, low, high):
    """A p in [low, high] as far as can be from every ratio of a probability to its row's largest."""
    ratios = (logits.double() - logits.double().amax(-1, keepdim=True)).exp().flatten()
    grid = torch.linspace(low, high, 301, dtype=torch.float64, device=logits.device)
    return float(grid[(grid[:, None] - ratios[ratios > low / 2]).abs().amin(-1).argmax()])


@min_p.on_reference
def _(cache):
    logits = cache["logits"][:, -1, :5000]  # the commonest tokens
    return (logits, _away_from_ratios(logits, 0.02, 0.3)), None


@min_p.fresh
def _(draw):
    logits = draw.normal("batch d_vocab", scale=1.5)
    return logits, _away_from_ratios(logits, 0.05, 0.4)


@min_p.fresh
def _(draw):
    logits = draw.normal("batch pos d_vocab", scale=1.5)
    return logits, _away_from_ratios(logits, 0.3, 0.8)


@min_p.special("where one row is sure and another is not")
def _(draw):
    return torch.tensor([[9.0, 1.0, 0.0, 0.0], [0.3, 0.2, 0.1, 0.0]], device=draw.device), 0.5


@min_p.special("for p = 1, where only the likeliest stays")
def _(draw):
    return draw.normal("3 6"), 1.0


@min_p.special("for a p below 0")
def _(draw):
    return draw.normal("3 5"), -0.5


@min_p.special("on the logits of a single position")
def _(draw):
    return torch.tensor([0.0, 3.0, 1.0, 2.5], device=draw.device), 0.5


@min_p.special("for p = 0")
def _(draw):
    return draw.normal("3 5"), 0.0


@min_p.special("for p above 1")
def _(draw):
    return draw.normal("3 5"), 1.5


min_p.hints(
    "How likely is the likeliest token of a row? A token stays when it is at least p times as likely.",
    "amax(-1, keepdim=True) of the probabilities gives each row's largest, ready to compare with all of the row.",
    "Compare probabilities, not logits: softmax first. Then masked_fill the logits.",
    "`logits.masked_fill(shares < p * …, float('-inf'))`",
)


@min_p.wrong("compares_with_p", "Probabilities are compared with p itself: the border is p times the row's largest.")
def _(logits, p):
    min_p_filter(logits, p)
    return logits.masked_fill(logits.softmax(-1) < p, float("-inf"))


@min_p.wrong("largest_of_all_rows", "The largest probability of all rows is used: each row has its own.")
def _(logits, p):
    min_p_filter(logits, p)
    shares = logits.softmax(-1)
    return logits.masked_fill(shares < p * shares.max(), float("-inf"))


@min_p.wrong("on_logits", "Logits are compared: p is a ratio of probabilities, so take the softmax first.")
def _(logits, p):
    min_p_filter(logits, p)
    return logits.masked_fill(logits < p * logits.amax(-1, keepdim=True), float("-inf"))


@min_p.wrong("any_p_accepted", "A p of 0 or less, or above 1, is accepted: raise a ValueError.")
def _(logits, p):
    shares = logits.softmax(-1)
    return logits.masked_fill(shares < p * shares.amax(-1, keepdim=True), float("-inf"))


@min_p.right
def by_difference_of_logits(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p")
    return logits.masked_fill(logits < logits.amax(-1, keepdim=True) + math.log(p), float("-inf"))


@min_p.right
def with_where(logits, p):
    if not 0.0 < p <= 1.0:
        raise ValueError("p")
    ratio = torch.exp(logits - logits.max(-1, keepdim=True).values)
    return torch.where(ratio >= p, logits, -torch.inf)


@min_p.right
def row_by_row(logits, p):
    if p > 1 or p <= 0:
        raise ValueError("p")
    out = []
    for row in logits.reshape(-1, logits.shape[-1]).double():
        shares = row.softmax(0)
        out.append(
            torch.where(shares >= p * shares.max(), row, torch.tensor(-torch.inf, dtype=row.dtype, device=row.device))
        )
    return torch.stack(out).to(logits.dtype).reshape(logits.shape)
