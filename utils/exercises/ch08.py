"""Chapter 08, training: batches, baselines, initialization, the schedule, AdamW, clipping and the loop.

What depends on chance or on the learner's own choices (which windows, which optimizer) is compared as a table of facts
that hold for every right answer. AdamW is Loshchilov & Hutter 2019; the scaled initialization is Radford et al. 2019.
"""

import copy
import itertools
import math
from collections.abc import Iterable

import torch
from jaxtyping import Int
from torch import Tensor, nn

from utils.exercises.declare import Build, Exercise, Unfit

# 08.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

batching = Exercise("08.1", difficulty=3, minutes=15, vary=(), exact=False)


@batching.oracle
def make_batches(ids: Int[Tensor, "n"], n_ctx: int, batch: int, generator: torch.Generator):
    """Endless batches [batch n_ctx+1] of contiguous windows at random starts."""
    while True:
        starts = torch.randint(len(ids) - n_ctx, (batch,), generator=generator)  # the last is n − n_ctx − 1
        yield torch.stack([ids[start : start + n_ctx + 1] for start in starts.tolist()])


def _take(answer, ids, n_ctx, batch, generator, rows):
    """The first batches that hold at least `rows` rows, or all there are; each is looked at closely."""
    made = answer(ids, n_ctx, batch, generator)
    if not isinstance(made, Iterable):
        raise Unfit(f"Give something that batches can be taken from in turn, not a {type(made).__name__}.")
    taken = list(itertools.islice(iter(made), -(-rows // batch)))
    if not taken:
        raise Unfit(f"There is no batch at all, from {len(ids)} ids with n_ctx = {n_ctx} and batch = {batch}.")
    for one in taken:
        if not isinstance(one, Tensor):
            raise Unfit(f"A batch must be a tensor, not a {type(one).__name__}.")
        if one.shape != (batch, n_ctx + 1):
            raise Unfit(
                f"A batch has the shape {tuple(one.shape)}; ({batch}, {n_ctx + 1}) is wanted: n_ctx inputs and one "
                "more id, "
                "the target of the last."
            )
        if one.dtype != ids.dtype:
            raise Unfit(f"A batch has dtype {one.dtype}; the ids have {ids.dtype}.")
    return torch.cat(taken)


RUNS, STARTS = 100, 1600  # at least so many seeds, and so many starts in all
MOST = 0.75  # of the steps from one row to another that may be the same by chance
UNEVEN, UNEVEN_OF_FOUR = 0.3, 0.17  # the shares of two halves of the starts may differ by so much by chance


@batching.probe
def _(answer, ids, n_ctx, batch, generator):
    """Facts about many windows. All ids are different, so that each row tells where it starts."""
    start_state, last = generator.get_state(), len(ids) - n_ctx - 1
    rows = _take(answer, ids, n_ctx, batch, generator, 400)
    moved = not torch.equal(generator.get_state(), start_state)
    starts = (rows[:, 0] - ids[0]).tolist()
    whole = all(torch.equal(row, ids[s : s + n_ctx + 1]) for s, row in zip(starts, rows, strict=True) if 0 <= s <= last)
    inside = all(0 <= s <= last for s in starts)
    generator.set_state(start_state)
    torch.manual_seed(12345)
    again = _take(answer, ids, n_ctx, batch, generator, 400)
    facts = {
        "inside": inside,
        "contiguous": whole,
        "generator_moves_on": moved or len(set(starts)) == 1,
        "generator_decides": torch.equal(rows, again),
        "varied": last <= n_ctx or len(set(starts)) > 1,
    }
    short = inside and 0 < last < 60
    return facts | (_over_many_runs(answer, ids, n_ctx, batch, generator) if short else _not_asked())


def _not_asked():
    return {
        "starts": "",
        "no window twice in a round": True,
        "rows are drawn apart": True,
        "two rows of a batch": "drawn apart",
        "batches are drawn apart": True,
    }


def _over_many_runs(answer, ids, n_ctx, batch, generator):
    """What many short runs, each from a seed of its own, say about the starts; the same for every right answer.

    The data is so short that a start which is possible is missing with a probability below 1e-9. Each kind of step
    between starts is the same in 3 of 4 cases with a probability below 1e-15, unless by design. Even draws look uneven
    with a probability below 1e-9 (Hoeffding's inequality, three halves of four starts).
    """
    runs, seed = [], generator.initial_seed()
    while len(runs) < RUNS or sum(run.numel() for run in runs) < STARTS:
        rows = _take(answer, ids, n_ctx, batch, generator.manual_seed(seed + len(runs)), 16)
        runs.append((rows[:, 0] - ids[0]).view(-1, batch))  # [batches batch]
    starts = torch.cat([run.flatten() for run in runs])
    firsts = torch.stack([run[0, 0] for run in runs])
    batches_apart = torch.cat([run[:, 0].diff() for run in runs])
    if int(starts.min()) < 0 or int(starts.max()) > len(ids) - n_ctx - 1:
        return _not_asked() | {"inside": False}
    found = _not_asked() | {"starts": _reach(starts, len(ids), n_ctx)}
    if found["starts"] == "side by side":
        a_round = len(starts.unique()) // batch  # so many batches hold no window twice, where windows are shuffled
        found["no window twice in a round"] = all(len(run[:a_round].unique()) == run[:a_round].numel() for run in runs)
    if len(starts.unique()) < 4 or found["starts"].startswith("more"):  # the same steps come often by themselves
        return found
    rows = torch.cat(runs)  # [batches batch]
    pairs = itertools.combinations(range(batch), 2)
    return found | {
        "rows are drawn apart": not _mostly_one(rows.diff(dim=1).flatten()),
        "two rows of a batch": _how_far_apart([rows[:, j] - rows[:, i] for i, j in pairs]),
        "batches are drawn apart": not _mostly_one(batches_apart) and not _mostly_one(firsts),
    }


def _mostly_one(steps):
    return len(steps) > 0 and int(steps.unique(return_counts=True)[1].max()) > MOST * len(steps)


def _how_far_apart(steps):
    """Rows are drawn apart, or some pair of them is always "the same" window, or stands "in step"."""
    fixed = {int(one.mode().values) for one in steps if _mostly_one(one)}
    return "in step" if fixed - {0} else "the same" if fixed else "drawn apart"


def _reach(starts, n, n_ctx):
    """Which windows are ever taken: "every start", windows "side by side" that cover the data, or what is missing."""
    last, seen = n - n_ctx - 1, starts.unique().tolist()
    allowed = UNEVEN_OF_FOUR if last == 3 else UNEVEN
    steps = {after - before for before, after in itertools.pairwise(seen)} or {n_ctx + 1}
    at_the_start = torch.arange(last + 1) < (last + 1) / 2
    outside = (torch.arange(last + 1) * 2 - last).abs() > (last + 1) / 2  # the first and the last quarter
    left_out = seen[0] + last - seen[-1]
    if len(steps) == 1 and 1 < max(steps) <= n_ctx + 1 and left_out <= n_ctx:
        return "side by side"  # whole windows only: fewer than a window's ids stay over
    if last >= 8 and _lean(starts, outside) < -UNEVEN:  # first, as an end may then be missing by chance
        return "more in the middle"
    if seen[0] == 0 and seen[-1] < last:
        return "not the last" if last - seen[-1] == 1 and steps == {1} else "not those at the end"
    if seen[0] > 0:
        return "not the first" if seen[0] == 1 and seen[-1] == last else "not those at the start"
    if steps != {1}:
        return "not some in between"
    if abs(lean := _lean(starts, at_the_start)) > allowed:
        end, words = (0, "more at the start") if lean > 0 else (last, "more at the end")
        return words + (", mostly one" if last == 3 and float((starts == end).double().mean()) > 0.575 else "")
    if abs(lean := _lean(starts, outside)) > allowed:
        return "more at the ends" if lean > 0 else "more in the middle"
    return "more at some" if abs(_lean(starts, at_the_start == outside)) > allowed else "every start"


def _lean(starts, half):
    """By how much the share of this half of the starts is larger than the other's, and than it is for even draws."""
    return 2 * float(half[starts.cpu()].double().mean() - half.double().mean())


@batching.judge
def _(facts, ids, n_ctx, batch, generator):
    last = len(ids) - n_ctx - 1
    if not facts["inside"] or not facts["contiguous"]:
        return "Some rows are not n_ctx + 1 neighboring ids of the data: does a window run over the end?"
    if not facts["varied"]:
        return "Every row is the same window: draw a new start for each."
    if not facts["generator_decides"]:
        return "The same state of the generator gives other batches: all randomness must come from the generator given."
    if not facts["generator_moves_on"]:
        return "The generator is where it was before: draw from it."
    if not facts["batches are drawn apart"]:
        return "Every seed gives the windows in the same order: draw the starts, or shuffle the windows."
    if not facts["rows are drawn apart"]:
        return "The rows of a batch always stand equally far apart in the data: draw a start for each row."
    if facts["two rows of a batch"] != "drawn apart":
        return "Two rows of a batch always stand equally far apart in the data: draw a start for each row."
    if not facts["no window twice in a round"]:
        return (
            f"Only windows side by side are ever drawn, and some twice: every start from 0 to {last} must be possible."
        )
    missing = {
        "not the last": f"The last window of the data is never taken: the last start is n − n_ctx − 1, here {last}.",
        "not the first": "The first window of the data, which starts at 0, is never taken.",
        "not those at the end": f"No window near the end is ever taken: starts go up to n − n_ctx − 1, here {last}.",
        "not those at the start": "No window near the start is ever taken: starts begin at 0.",
        "not some in between": f"Some windows are never taken: every start from 0 to {last} must be possible.",
        "more at the start": "Windows at the start of the data are taken much more often than others: every start "
        "must be equally likely.",
        "more at the end": "Windows at the end of the data are taken much more often than others: every start must be "
        "equally likely.",
        "more at the ends": "Windows at both ends of the data are taken much more often than those between: every "
        "start must be equally likely.",
        "more in the middle": "Windows at the ends of the data are taken much less often than those between: every "
        "start must be equally likely.",
        "more at some": "Some windows are taken much more often than others: every start must be equally likely.",
    }
    return missing.get(facts["starts"].removesuffix(", mostly one"))


def _ids_case(draw, n, n_ctx, batch, dtype=torch.int64):
    ids = torch.arange(1000, 1000 + n, device=draw.device, dtype=dtype)
    return ids, n_ctx, batch, torch.Generator().manual_seed(draw.integer(0, 2**31))


@batching.special("on 200 ids")
def _(draw):
    return _ids_case(draw, 200, 7, 8)


@batching.special("on 30 ids, from many seeds")
def _(draw):
    return _ids_case(draw, 30, 4, 4)


@batching.special("where only four windows exist")
def _(draw):
    return _ids_case(draw, 12, 8, 1)


@batching.special("where the data is one window long")
def _(draw):
    return _ids_case(draw, 6, 5, 1)


@batching.special("on ids stored as int32")
def _(draw):
    return _ids_case(draw, 90, 4, 3, torch.int32)


batching.hints(
    "A row needs n_ctx inputs and a target for each. How many neighboring ids is that?",
    (
        "A window that starts at s ends before s + n_ctx + 1. Which is the largest s for which that is still inside "
        "the data?"
    ),
    "torch.randint(high, size, generator=…) draws whole numbers below high.",
    "`starts = torch.randint(len(ids) - n_ctx, (batch,), generator=generator)`, then stack `ids[s : s + …]`",
)


def _batches_with(start_below=lambda n, n_ctx: n - n_ctx, length=1, given=lambda generator: generator):
    def answer(ids, n_ctx, batch, generator):
        while True:
            starts = torch.randint(start_below(len(ids), n_ctx), (batch,), generator=given(generator))
            yield torch.stack([ids[start : start + n_ctx + length] for start in starts.tolist()])

    return answer


def _batches_at(draw_starts):
    """Windows whose starts are drawn in another way: `draw_starts(how many there are, generator, batch)`."""

    def answer(ids, n_ctx, batch, generator):
        while True:
            starts = draw_starts(len(ids) - n_ctx, generator, batch)
            yield torch.stack([ids[start : start + n_ctx + 1] for start in map(int, starts)])

    return answer


batching.wrong(
    "runs_over_the_end",
    "The last windows run over the end of the data: a window of n_ctx + 1 ids starts at n − n_ctx − 1 at the latest.",
)(_batches_with(start_below=lambda n, n_ctx: n))
batching.wrong(
    "no_room_for_the_target",
    "Rows are n_ctx long: the last input has no target. Take n_ctx + 1 neighboring ids.",
)(_batches_with(length=0))
batching.wrong(
    "last_window_never", "The last window is never drawn: starts go up to n − n_ctx − 1, that one included."
)(_batches_with(start_below=lambda n, n_ctx: max(1, n - n_ctx - 1)))
batching.wrong(
    "generator_not_used",
    "The generator is not used at all: the randomness comes from elsewhere, as torch's global state. Draw the starts "
    "with generator=generator, so that a run can be repeated.",
)(_batches_with(given=lambda generator: None))
batching.wrong(
    "global_random_state",
    "Some is drawn from the generator and some from elsewhere, as torch's global state: pass the generator to every "
    "draw, so that a run can be repeated.",
)(_batches_with(given=lambda generator: torch.rand(1, generator=generator) and None))


@batching.wrong(
    "starts_clamped_to_the_last",
    "Starts beyond the last window are pulled back to it (clamp, min), so that it comes n_ctx + 1 times as often as "
    "any other: draw starts below n − n_ctx.",
)
def _(ids, n_ctx, batch, generator):
    while True:
        starts = torch.randint(len(ids), (batch,), generator=generator).clamp(max=len(ids) - n_ctx - 1)
        yield torch.stack([ids[start : start + n_ctx + 1] for start in starts.tolist()])


@batching.wrong(
    "starts_clamped_to_the_first",
    "Ends are drawn, and windows that would begin before the data are pulled to its start (clamp, max), so that the "
    "first one comes n_ctx + 1 times as often as any other: draw starts below n − n_ctx.",
)
def _(ids, n_ctx, batch, generator):
    while True:
        starts = (torch.randint(len(ids), (batch,), generator=generator) - n_ctx).clamp(min=0)
        yield torch.stack([ids[start : start + n_ctx + 1] for start in starts.tolist()])


batching.wrong("first_window_never", "The window at the very start of the data is never drawn: starts begin at 0.")(
    _batches_at(
        lambda n, generator, batch: torch.randint(1, n, (batch,), generator=generator) if n > 1 else [0] * batch
    )
)
batching.wrong(
    "only_half_of_the_data",
    "Only a part of the data is ever used: every start from 0 to n − n_ctx − 1 must be possible.",
)(_batches_at(lambda n, generator, batch: torch.randint(n // 2 + 1, (batch,), generator=generator)))
batching.wrong(
    "only_the_second_half",
    "Only the end of the data is ever used: every start from 0 to n − n_ctx − 1 must be possible.",
)(_batches_at(lambda n, generator, batch: torch.randint(n // 2, n, (batch,), generator=generator)))
batching.wrong(
    "one_start_for_the_batch",
    "All rows of a batch are the same window: a start is drawn for each batch, but each row needs its own.",
)(_batches_at(lambda n, generator, batch: torch.randint(n, (1,), generator=generator).expand(batch)))
batching.wrong(
    "rows_follow_each_other",
    "One start is drawn for each batch, and its rows follow at fixed steps: each row needs a random start of its own.",
)(
    _batches_at(
        lambda n, generator, batch: (torch.randint(n, (1,), generator=generator) + torch.arange(batch)).clamp(max=n - 1)
    )
)


batching.wrong(
    "starts_rounded",
    "The first and the last window come half as often as any other: rounding leaves each end only half a share. Draw "
    "whole numbers below n − n_ctx, all with the same chance, as randint does.",
)(_batches_at(lambda n, generator, batch: (torch.rand(batch, generator=generator) * (n - 1)).round()))
batching.wrong(
    "starts_averaged",
    "Windows in the middle come far more often than those at the ends, as where two random numbers are added: draw one "
    "start for each row, all with the same chance, as randint does.",
)(_batches_at(lambda n, generator, batch: torch.rand(2, batch, generator=generator).mean(0) * n))


@batching.wrong(
    "only_multiples",
    "Only starts a whole window apart are ever drawn: every start from 0 to n − n_ctx − 1 must be possible.",
)
def _(ids, n_ctx, batch, generator):
    while True:
        starts = torch.randint((len(ids) - 1) // n_ctx, (batch,), generator=generator) * n_ctx
        yield torch.stack([ids[start : start + n_ctx + 1] for start in starts.tolist()])


def _one_row_again(n, generator, batch):
    starts = torch.randint(n, (batch,), generator=generator)
    starts[1:2] = starts[0]
    return starts


batching.wrong(
    "one_row_again", "A batch holds the same window twice each time: every row needs a random start of its own."
)(_batches_at(_one_row_again))


@batching.wrong(
    "in_the_order_of_the_data",
    "The windows come one after another, in the order of the data: draw their starts, or shuffle them, with the "
    "generator.",
)
def _(ids, n_ctx, batch, generator):
    start, n = 0, len(ids) - n_ctx
    while True:
        torch.rand(1, generator=generator)
        starts = [(start + i * n_ctx) % n for i in range(batch)]
        start = (starts[-1] + n_ctx) % n
        yield torch.stack([ids[s : s + n_ctx + 1] for s in starts])


@batching.wrong(
    "the_seed_does_not_count",
    "The generator is set to a seed of its own, so that every run gives the same batches: use it as it was given.",
)
def _(ids, n_ctx, batch, generator):
    return make_batches(ids, n_ctx, batch, generator.manual_seed(0))


@batching.wrong("always_the_same_window", "Every row is the same window: each row needs a start of its own.")
def _(ids, n_ctx, batch, generator):
    start = int(torch.randint(len(ids) - n_ctx, (1,), generator=generator))
    while True:
        yield ids[start : start + n_ctx + 1].expand(batch, -1)


@batching.right
def by_index_arithmetic(ids, n_ctx, batch, generator):
    while True:
        starts = torch.randint(0, len(ids) - n_ctx, (batch, 1), generator=generator).to(ids.device)
        yield ids[starts + torch.arange(n_ctx + 1, device=ids.device)]


@batching.right
def one_tensor(ids, n_ctx, batch, generator):
    windows = ids.unfold(0, n_ctx + 1, 1)
    chosen = torch.randint(len(windows), (450, batch), generator=generator)
    return windows[chosen]


@batching.right
def shuffled_windows(ids, n_ctx, batch, generator):
    windows = ids[: len(ids) // (n_ctx + 1) * (n_ctx + 1)].view(-1, n_ctx + 1)
    while True:
        order = torch.randperm(len(windows), generator=generator)
        for i in range(0, len(windows) - batch + 1, batch):
            yield windows[order[i : i + batch]]


@batching.right
def one_epoch_of_overlapping_windows(ids, n_ctx, batch, generator):
    """Every start once, in random order; what is left over at the end is dropped."""
    order = torch.randperm(len(ids) - n_ctx, generator=generator)
    return [torch.stack([ids[s : s + n_ctx + 1] for s in few]) for few in order.split(batch) if len(few) == batch]


@batching.right
def cut_anew_each_time(ids, n_ctx, batch, generator):
    """The first cut is at a random place, so that over many rounds every start comes."""
    while True:
        room = max(1, min(n_ctx + 1, len(ids) - batch * (n_ctx + 1) + 1))
        first = int(torch.randint(room, (1,), generator=generator))
        windows = ids[first:].unfold(0, n_ctx + 1, n_ctx + 1)
        yield from windows[torch.randperm(len(windows), generator=generator)].split(batch)[: len(windows) // batch]


@batching.right
def a_list_of_two_batches(ids, n_ctx, batch, generator):
    starts = torch.randint(len(ids) - n_ctx, (2, batch), generator=generator)
    return tuple(torch.stack([ids[s : s + n_ctx + 1] for s in few]) for few in starts)


# 08.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

unigram = Exercise("08.2", difficulty=2, minutes=10)


@unigram.oracle
def unigram_loss(train: Int[Tensor, "doc pos"], test: Int[Tensor, "doc pos"], d_vocab: int) -> float:
    """Mean −log p in nats over test's positions 1…, with p from train's counts, one added to each."""
    counts = torch.bincount(train[:, 1:].flatten(), minlength=d_vocab).double() + 1
    return float(-(counts / counts.sum()).log()[test[:, 1:]].mean())


def _documents(draw, d_vocab=11):
    """Uneven text in which some ids of the test never occur in training; position 0 holds a BOS."""
    train = (draw.ids("doc pos", d_vocab) * draw.ids("doc pos", 2)).clamp(max=d_vocab - 3)
    test = draw.ids("5 8", d_vocab)
    train[:, 0] = test[:, 0] = d_vocab - 1
    test[0, 1] = d_vocab - 2
    return train, test, d_vocab


@unigram.fresh
def _(draw):
    return _documents(draw)


@unigram.special("where the vocabulary is larger than all that was seen")
def _(draw):
    return *_documents(draw)[:2], 40


unigram.hints(
    "If you knew only how often each token occurs, what probability would you give it? And one that never occurred?",
    "bincount with minlength counts; add one to each count, so that nothing has probability 0; then divide by the sum.",
    "Position 0 is BOS: nobody predicts it, so it counts neither in training nor in the test.",
    (
        "`counts = torch.bincount(train[:, 1:].flatten(), minlength=d_vocab) + 1`, then the mean of −log p at "
        "`test[:, 1:]`"
    ),
)


def _unigram(counted, tested, d_vocab, add=1.0):
    counts = torch.bincount(counted.flatten(), minlength=d_vocab).double() + add
    return float(-(counts / counts.sum()).log()[tested].mean())


@unigram.wrong("bits", "The loss is in bits (log2): nats, the natural logarithm, are wanted.")
def _(train, test, d_vocab):
    return unigram_loss(train, test, d_vocab) / math.log(2)


@unigram.wrong("counts_from_test", "The counts come from the test text: a model may learn only from train.")
def _(train, test, d_vocab):
    return _unigram(test[:, 1:], test[:, 1:], d_vocab)


@unigram.wrong(
    "no_smoothing", "A token that train never shows gets probability 0 and the loss is infinite: add one to each count."
)
def _(train, test, d_vocab):
    return _unigram(train[:, 1:], test[:, 1:], d_vocab, add=0.0)


@unigram.wrong(
    "divided_by_the_old_sum",
    "The probabilities sum to more than 1: one was added to each count, so the sum has grown by d_vocab.",
)
def _(train, test, d_vocab):
    counts = torch.bincount(train[:, 1:].flatten(), minlength=d_vocab).double()
    return float(-((counts + 1) / counts.sum()).log()[test[:, 1:]].mean())


@unigram.wrong("position_0_counted", "Position 0 is counted: it holds BOS, which nobody predicts.")
def _(train, test, d_vocab):
    return _unigram(train, test, d_vocab)


@unigram.wrong(
    "position_0_of_the_test_counted",
    "Position 0 of the test counts: it holds BOS, which nobody predicts. Leave it out.",
)
def _(train, test, d_vocab):
    return _unigram(train[:, 1:], test, d_vocab)


@unigram.wrong(
    "position_0_of_the_training_counted",
    "BOS is counted in the training text: position 0 is never predicted, so it leaves the others too little.",
)
def _(train, test, d_vocab):
    return _unigram(train, test[:, 1:], d_vocab)


@unigram.wrong(
    "last_position_left_out",
    "The last position is left out, not the first: [:, :-1] keeps BOS, which nobody predicts. Take [:, 1:].",
)
def _(train, test, d_vocab):
    return _unigram(train[:, :-1], test[:, :-1], d_vocab)


@unigram.wrong("summed", "The losses are summed: their mean is wanted, so that a longer test costs no more.")
def _(train, test, d_vocab):
    return unigram_loss(train, test, d_vocab) * test[:, 1:].numel()


@unigram.wrong("opposite_sign", "The sign is turned round: a loss is −log p, and above 0.")
def _(train, test, d_vocab):
    return -unigram_loss(train, test, d_vocab)


@unigram.wrong("perplexity", "That is the perplexity, exp of the loss: the loss itself is wanted, in nats.")
def _(train, test, d_vocab):
    return math.exp(unigram_loss(train, test, d_vocab))


@unigram.right
def with_loops(train, test, d_vocab):
    counts, total = [1] * d_vocab, d_vocab
    for row in train[:, 1:].tolist():
        for token in row:
            counts[token] += 1
            total += 1
    losses = [-math.log(counts[token] / total) for row in test[:, 1:].tolist() for token in row]
    return sum(losses) / len(losses)


@unigram.right
def as_cross_entropy(train, test, d_vocab):
    logits = (torch.nn.functional.one_hot(train[:, 1:], d_vocab).sum((0, 1)) + 1).log()
    targets = test[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(logits.expand(len(targets), -1), targets)


@unigram.right
def one_number_in_a_tensor(train, test, d_vocab):
    return torch.tensor([unigram_loss(train, test, d_vocab)])


@unigram.right
def one_number_in_an_array(train, test, d_vocab):
    import numpy

    return numpy.array([[unigram_loss(train, test, d_vocab)]])


@unigram.right
def in_float32(train, test, d_vocab):
    ones = torch.ones_like(train[:, 1:], dtype=torch.float32).flatten()
    counts = torch.ones(d_vocab, device=train.device).index_add(0, train[:, 1:].flatten(), ones)
    return -torch.log(counts / counts.sum()).gather(0, test[:, 1:].flatten()).mean().item()


# 08.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

bigram = Exercise("08.3", difficulty=3, minutes=15)


def _bigram(pairs, tested, d_vocab, add=1.0, firsts=None):
    """Loss of a table of pairs; `firsts` replaces the counts that each row is divided by."""
    table = torch.zeros(d_vocab, d_vocab, dtype=torch.float64, device=tested[0].device)
    ones = torch.ones_like(pairs[0], dtype=torch.float64)
    table.index_put_((pairs[0], pairs[1]), ones, accumulate=True)
    below = table.sum(1) if firsts is None else firsts.double()
    return float(-((table + add) / (below + add * d_vocab)[:, None]).log()[tested].mean())


def _pairs(tokens):
    return tokens[:, :-1].flatten(), tokens[:, 1:].flatten()


@bigram.oracle
def bigram_loss(train: Int[Tensor, "doc pos"], test: Int[Tensor, "doc pos"], d_vocab: int) -> float:
    """Mean −log p(next | this) in nats, with p from train's pairs within documents, one added to each count."""
    return _bigram(_pairs(train), _pairs(test), d_vocab)


@bigram.fresh
def _(draw):
    return _documents(draw)


@bigram.special("where documents end in a token that follows itself")
def _(draw):
    train, test, d_vocab = _documents(draw)
    train[:, -1] = train[:, -2] = 3
    test[:, 2] = test[:, 3] = 3
    return train, test, d_vocab


bigram.hints(
    "Now you know the token before. What table do you need, and how large is it?",
    "table[a, b] counts how often b follows a within a document: pairs are (tokens[:, :-1], tokens[:, 1:]).",
    (
        "p(b | a) = (count of the pair + 1) / (count of pairs that start with a + d_vocab): the row's sum, not the "
        "token's count."
    ),
    "`table.index_put_((a, b), ones, accumulate=True)`, then `(table + 1) / (table.sum(1, keepdim=True) + …)`",
)


@bigram.wrong(
    "across_documents", "A pair is counted across the end of a document: the next one's BOS does not follow it."
)
def _(train, test, d_vocab):
    flat = train.flatten()
    return _bigram((flat[:-1], flat[1:]), _pairs(test), d_vocab)


@bigram.wrong(
    "last_tokens_counted",
    "The last token of each document is counted as if something followed it: divide by the pairs that start with a.",
)
def _(train, test, d_vocab):
    return _bigram(_pairs(train), _pairs(test), d_vocab, firsts=torch.bincount(train.flatten(), minlength=d_vocab))


@bigram.wrong("pair_reversed", "The pair is the wrong way round: p(next | this) is looked up in the row of this token.")
def _(train, test, d_vocab):
    return _bigram(_pairs(train)[::-1], _pairs(test), d_vocab)


@bigram.wrong(
    "columns_sum_to_1",
    "The table is divided by the sums of its columns: p(b | a) sums to 1 over b, so divide each row by its own sum.",
)
def _(train, test, d_vocab):
    places, ones = _pairs(train), torch.ones(train[:, 1:].numel(), dtype=torch.float64, device=train.device)
    table = torch.ones(d_vocab, d_vocab, dtype=torch.float64, device=train.device)
    table.index_put_(places, ones, accumulate=True)
    return float(-(table / table.sum(0, keepdim=True)).log()[_pairs(test)].mean())


@bigram.wrong("bits", "The loss is in bits (log2): nats, the natural logarithm, are wanted.")
def _(train, test, d_vocab):
    return bigram_loss(train, test, d_vocab) / math.log(2)


@bigram.wrong(
    "no_smoothing", "A pair that train never shows gets probability 0: add one to each count, d_vocab to each row."
)
def _(train, test, d_vocab):
    return _bigram(_pairs(train), _pairs(test), d_vocab, add=0.0)


def _from_table(table, test):
    """The loss of a table of probabilities [this next]."""
    return float(-table[_pairs(test)].log().mean())


def _counted(train, d_vocab):
    """How often each pair occurs, and one more."""
    return torch.bincount(_pairs(train)[0] * d_vocab + _pairs(train)[1], minlength=d_vocab**2).view(d_vocab, -1) + 1.0


@bigram.wrong(
    "divided_by_the_whole_table",
    "The counts are divided by their sum over the whole table: p(next | this) divides each row by its own sum.",
)
def _(train, test, d_vocab):
    return _from_table(_counted(train, d_vocab) / _counted(train, d_vocab).sum(), test)


@bigram.wrong(
    "no_keepdim",
    "table / table.sum(1) divides column j by the sum of row j: keepdim=True leaves an axis of 1, so that each row "
    "meets its own sum.",
)
def _(train, test, d_vocab):
    return _from_table(_counted(train, d_vocab) / _counted(train, d_vocab).sum(1), test)


@bigram.wrong(
    "pairs_counted_once",
    "A pair that comes several times is counted once: table[a, b] += 1 writes each cell only once. Use index_put_ with "
    "accumulate=True, bincount, or a loop.",
)
def _(train, test, d_vocab):
    table = _counted(train, d_vocab).clamp(max=2)
    return _from_table(table / table.sum(1, keepdim=True), test)


@bigram.wrong(
    "nothing_added_below",
    "One is added to each pair but nothing to what they are divided by: add d_vocab to each row's count.",
)
def _(train, test, d_vocab):
    table = _counted(train, d_vocab)
    return _from_table(table / (table.sum(1, keepdim=True) - d_vocab).clamp(min=1), test)


@bigram.wrong(
    "one_added_below",
    "One is added to each row's count: d_vocab is, one for each pair that the row has room for.",
)
def _(train, test, d_vocab):
    table = _counted(train, d_vocab)
    return _from_table(table / (table.sum(1, keepdim=True) - d_vocab + 1), test)


@bigram.wrong("counts_from_test", "The counts come from the test text: a model may learn only from train.")
def _(train, test, d_vocab):
    return bigram_loss(test, test, d_vocab)


@bigram.wrong(
    "across_documents_in_the_test",
    "The test's pairs run across the ends of documents: the next one's BOS is not to be predicted.",
)
def _(train, test, d_vocab):
    flat = test.flatten()
    return _bigram(_pairs(train), (flat[:-1], flat[1:]), d_vocab)


@bigram.wrong(
    "first_pair_left_out",
    "The pair of BOS and the first token is left out: BOS is not predicted, but the token after it is.",
)
def _(train, test, d_vocab):
    return bigram_loss(train[:, 1:], test[:, 1:], d_vocab)


@bigram.wrong("opposite_sign", "The sign is turned round: a loss is −log p, and above 0.")
def _(train, test, d_vocab):
    return -bigram_loss(train, test, d_vocab)


@bigram.wrong("perplexity", "That is the perplexity, exp of the loss: the loss itself is wanted, in nats.")
def _(train, test, d_vocab):
    return math.exp(bigram_loss(train, test, d_vocab))


@bigram.right
def with_dicts(train, test, d_vocab):
    from collections import Counter

    pairs, firsts = Counter(), Counter()
    for row in train.tolist():
        pairs.update(zip(row, row[1:], strict=False))
        firsts.update(row[:-1])
    losses = []
    for row in test.tolist():
        for a, b in zip(row, row[1:], strict=False):
            losses.append(-math.log((pairs[a, b] + 1) / (firsts[a] + d_vocab)))
    return sum(losses) / len(losses)


@bigram.right
def by_flat_bincount(train, test, d_vocab):
    table = torch.bincount((train[:, :-1] * d_vocab + train[:, 1:]).flatten(), minlength=d_vocab**2) + 1.0
    table = table.view(d_vocab, d_vocab)
    return -(table / table.sum(1, keepdim=True)).log()[test[:, :-1], test[:, 1:]].mean()


@bigram.right
def by_one_hot(train, test, d_vocab):
    a, b = (torch.nn.functional.one_hot(t, d_vocab).double() for t in _pairs(train))
    table = a.T @ b + 1
    logp = table.log() - table.sum(1, keepdim=True).log()
    return float(-logp[_pairs(test)].mean())


# 08.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

initial = Exercise("08.4", difficulty=3, minutes=15, vary=(), exact=False, in_place=("model",))


class Named(nn.Module):
    """A module whose parameters have given names and shapes, as {"blocks.0.attn.W_Q": (2, 8, 4)}."""

    def __init__(self, shapes, n_layers):
        super().__init__()
        for name, shape in shapes.items():
            *path, last = name.split(".")
            place = self
            for part in path:
                if part not in place._modules:
                    place.add_module(part, nn.Module())
                place = place._modules[part]
            place.register_parameter(last, nn.Parameter(torch.full(shape, 0.5)))
        self.cfg = type("Config", (), {"n_layers": n_layers})()


def _named_model(n_layers, device):
    d, h, n = 48, 4, 12
    shapes = {"embed.W_E": (300, d), "pos_embed.W_pos": (60, d), "ln_final.w": (d,), "ln_final.b": (d,)}
    for i in range(n_layers):
        at = f"blocks.{i}."
        shapes |= {f"{at}{ln}.{x}": (d,) for ln in ("ln1", "ln2") for x in "wb"}
        shapes |= {f"{at}attn.W_{x}": (h, d, n) for x in "QKV"} | {f"{at}attn.b_{x}": (h, n) for x in "QKV"}
        shapes |= {f"{at}attn.W_O": (h, n, d), f"{at}attn.b_O": (d,)}
        shapes |= {
            f"{at}mlp.W_in": (d, 4 * d),
            f"{at}mlp.b_in": (4 * d,),
            f"{at}mlp.W_out": (4 * d, d),
            f"{at}mlp.b_out": (d,),
        }
    return Named(shapes, n_layers).to(device)


@initial.oracle
def init_weights(model, generator: torch.Generator) -> None:
    """GPT-2's initialization: N(0, 0.02), what writes into the stream smaller by √(2·n_layers), biases 0, gains 1."""
    scaled = 0.02 / math.sqrt(2 * model.cfg.n_layers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            last = name.rpartition(".")[2]
            if last == "w":
                parameter.fill_(1.0)
            elif last.startswith("b"):
                parameter.zero_()
            else:
                parameter.normal_(0.0, scaled if last in ("W_O", "W_out") else 0.02, generator=generator)


@initial.probe
def _(answer, model, generator):
    """What each parameter looks like afterwards, and whether it is still the same object."""
    before = dict(model.named_parameters())
    start = generator.get_state()
    answer(model, generator)
    after = dict(model.named_parameters())
    same = list(before) == list(after) and all(before[n] is after[n] for n in before)
    facts = {"parameters are the same objects": same}
    facts["parameters can be trained"] = all(p.requires_grad and p.is_leaf for p in after.values())
    values = {name: p.detach().clone() for name, p in after.items()}
    facts["the generator moves on"] = not torch.equal(generator.get_state(), start)
    generator.set_state(start)
    answer(model, generator)
    facts["the generator decides"] = all(torch.equal(p, values[n]) for n, p in model.named_parameters())
    answer(model, generator.manual_seed(generator.initial_seed() + 1))
    other = {n: p for n, p in model.named_parameters() if n.rpartition(".")[2].startswith("W")}
    facts["another seed gives other weights"] = not any(torch.equal(p, values[n]) for n, p in other.items())
    facts |= {name: _looks_like(value, model.cfg.n_layers) for name, value in values.items()}
    weights = [values[n].flatten() for n in other]
    facts["every weight is drawn for itself"] = all(map(_all_different, [*weights, torch.cat(weights)]))
    drawn = [v.flatten()[:500] for v in values.values() if v.numel() >= 500]
    facts["parameters are drawn apart"] = not any(torch.equal(a, b) for a, b in itertools.combinations(drawn, 2))
    return facts


def _looks_like(value, n_layers):
    """ "N(0, 0.02)" and the like; the bounds hold for a right answer except with a probability below 1e-9."""
    if bool((value == 1).all()):
        return "ones"
    if bool((value == 0).all()):
        return "zeros"
    n, std, mean = value.numel(), float(value.double().square().mean().sqrt()), float(value.double().mean())
    spreads = {
        "0.02": 0.02,
        "0.02/√(2·n_layers)": 0.02 / math.sqrt(2 * n_layers),
        "0.02/√n_layers": 0.02 / math.sqrt(n_layers),
        "0.02/(2·n_layers)": 0.02 / (2 * n_layers),
        "√0.02": math.sqrt(0.02),
        "0.02²": 0.02**2,
    }
    for name, spread in spreads.items():
        if abs(std - spread) < 6.5 * spread / math.sqrt(2 * n) and abs(mean) < 6.5 * spread / math.sqrt(n):
            # A normal distribution's fourth moment is 3 std⁴; that of even numbers is 1.8, of heads or tails 1.
            tails = float((value.double() / std).pow(4).mean())
            return f"N(0, {name})" if 2.2 < tails < 4.5 else f"of spread {name}, but not normal"
    return "something else"


def _all_different(weights):
    """Whether next to no two are alike: of so many normal float32 numbers hardly one in a thousand is."""
    return len(weights.unique()) > 0.95 * len(weights)


@initial.judge
def _(facts, model, generator):
    wanted = {name: _wanted(name) for name, _ in model.named_parameters()}
    for name, kind in wanted.items():
        if facts[name] != kind:
            return f"{name} should be {kind}; it is {facts[name]}."
    return next((f"Not so: {fact}." for fact, holds in facts.items() if holds is False), None)


def _wanted(name):
    last = name.rpartition(".")[2]
    if last == "w" or last.startswith("b"):
        return "ones" if last == "w" else "zeros"
    return "N(0, 0.02/√(2·n_layers))" if last in ("W_O", "W_out") else "N(0, 0.02)"


@initial.special("on a model of 4 layers")
def _(draw):
    device = draw.device
    return Build(lambda: _named_model(4, device)), torch.Generator(device=device).manual_seed(draw.integer(0, 2**31))


@initial.special("on a model of 2 layers")
def _(draw):
    device = draw.device
    return Build(lambda: _named_model(2, device)), torch.Generator(device=device).manual_seed(draw.integer(0, 2**31))


initial.hints(
    "Go through model.named_parameters() and look at the last part of each name. Which three groups are there?",
    "Change parameters in place under torch.no_grad(): fill_, zero_ and normal_(mean, std, generator=…).",
    (
        "W_O and W_out write into the stream, 2·n_layers of them: dividing their spread by √(2·n_layers) keeps the "
        "sum's size."
    ),
    '`std = 0.02 / math.sqrt(…) if last in ("W_O", "W_out") else 0.02`',
)


def _normal(parameter, std, generator):
    parameter.normal_(0.0, std, generator=generator)


def _init_with(
    scale=lambda n: 1 / math.sqrt(2 * n),
    spread=0.02,
    gains=False,
    biases=False,
    new=False,
    given=lambda generator: generator,
    fill=_normal,
):
    def answer(model, generator):
        generator = given(generator)
        with torch.no_grad():
            for name, parameter in list(model.named_parameters()):
                last = name.rpartition(".")[2]
                if last == "w" and not gains:
                    parameter.fill_(1.0)
                elif last.startswith("b") and not biases:
                    parameter.zero_()
                else:
                    std = spread * (scale(model.cfg.n_layers) if last in ("W_O", "W_out") else 1)
                    fill(parameter, std, generator)
                    if new:
                        path, _, last = name.rpartition(".")
                        setattr(model.get_submodule(path), last, nn.Parameter(parameter.clone()))

    return answer


initial.wrong(
    "no_residual_scaling", "W_O and W_out have the spread of all the others: divide theirs by √(2·n_layers)."
)(_init_with(scale=lambda n: 1.0))
initial.wrong(
    "scaled_by_root_n_layers",
    "W_O and W_out are scaled by √n_layers: each layer writes twice, by attention and by MLP, so it is √(2·n_layers).",
)(_init_with(scale=lambda n: 1 / math.sqrt(n)))
initial.wrong(
    "scaled_without_the_root", "W_O and W_out are divided by 2·n_layers: it is the root, √(2·n_layers), of that."
)(_init_with(scale=lambda n: 1 / (2 * n)))
initial.wrong("biases_random", "Biases are drawn at random: they start at 0.")(_init_with(biases=True))
initial.wrong("gains_random", "The gains w of the norms are drawn at random: they start at 1.")(_init_with(gains=True))
initial.wrong("variance_for_std", "0.02 is taken for the variance: it is the standard deviation.")(
    _init_with(spread=math.sqrt(0.02))
)
initial.wrong(
    "variance_given_as_the_spread",
    "The variance, 0.02² = 0.0004, is given where the spread is asked for: normal_ wants the standard deviation, 0.02.",
)(_init_with(fill=lambda parameter, std, generator: _normal(parameter, std**2, generator)))
initial.wrong(
    "new_objects",
    "Parameters are replaced by new ones: an optimizer that was made before still holds the old. Change them in place.",
)(_init_with(new=True))


def _even(parameter, std, generator):
    parameter.uniform_(-std * math.sqrt(3), std * math.sqrt(3), generator=generator)


def _heads_or_tails(parameter, std, generator):
    parameter.copy_(torch.randint(2, parameter.shape, generator=generator, device=parameter.device) * 2 * std - std)


def _first_slice_for_all(parameter, std, generator):
    parameter.copy_(torch.empty_like(parameter[0]).normal_(0.0, std, generator=generator).expand_as(parameter))


initial.wrong(
    "uniform", "The weights are drawn evenly from an interval (uniform_ or rand): a normal distribution is wanted."
)(_init_with(fill=_even))
initial.wrong(
    "two_values", "The weights take two values only: they are drawn from a normal distribution, each another number."
)(_init_with(fill=_heads_or_tails))
initial.wrong(
    "heads_alike",
    "Many weights are the same number, as when one head's weights are drawn and copied to the others: heads that start "
    "alike learn alike. Draw the whole tensor.",
)(_init_with(fill=_first_slice_for_all))
initial.wrong(
    "generator_seeded_anew",
    "The generator is set to a seed of the answer's own, so that every model starts alike: use it as it was given.",
)(_init_with(given=lambda generator: generator.manual_seed(0)))
initial.wrong(
    "seeded_for_each_parameter",
    "The generator is set back for each parameter, so that parameters begin with the same numbers: seed it nowhere.",
)(
    _init_with(
        fill=lambda parameter, std, generator: _normal(parameter, std, generator.manual_seed(generator.initial_seed()))
    )
)
initial.wrong("generator_ignored", "The weights come from torch's global random state: pass generator=generator on.")(
    _init_with(given=lambda generator: None)
)


@initial.right
def by_copy(model, generator):
    for name, p in model.named_parameters():
        last = name.split(".")[-1]
        if last == "w":
            p.data.copy_(torch.ones_like(p))
        elif last[0] == "b":
            p.data.copy_(torch.zeros_like(p))
        else:
            std = 0.02 * (2 * model.cfg.n_layers) ** -0.5 if last in {"W_O", "W_out"} else 0.02
            p.data.copy_(torch.randn(p.shape, generator=generator, device=p.device) * std)


@initial.right
def with_nn_init(model, generator):
    for name, p in model.named_parameters():
        if name.endswith(".w"):
            nn.init.ones_(p)
        elif name.rsplit(".", 1)[-1].startswith("b"):
            nn.init.zeros_(p)
        elif name.endswith(("W_O", "W_out")):
            nn.init.normal_(p, std=0.02 / math.sqrt(2 * model.cfg.n_layers), generator=generator)
        else:
            nn.init.normal_(p, std=0.02, generator=generator)


@initial.right
@torch.no_grad()
def module_by_module(model, generator):
    for module in model.modules():
        for last, p in module.named_parameters(recurse=False):
            if last == "w" or last.startswith("b"):
                p[...] = float(last == "w")
            else:
                p.normal_(generator=generator).mul_(0.02)
                if last in ("W_O", "W_out"):
                    p.div_((2 * model.cfg.n_layers) ** 0.5)


# 08.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

schedule = Exercise("08.5", difficulty=2, minutes=10, vary=())


@schedule.oracle
def learning_rate(step: int, warmup: int, total: int, peak: float, floor: float) -> float:
    """Linear warm-up to the peak, then half a cosine down to the floor, and the floor from `total` on."""
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    return floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


@schedule.probe
def _(answer, steps, warmup, total, peak, floor):
    return {f"step {step}": answer(step, warmup, total, peak, floor) for step in steps}


@schedule.special("with a warm-up of 5 of 20 steps")
def _(draw):
    return range(0, 26), 5, 20, draw.number(0.5, 2.0), draw.number(0.05, 0.2)


@schedule.special("without a warm-up")
def _(draw):
    return range(0, 14), 0, 12, draw.number(0.5, 2.0), draw.number(0.05, 0.2)


@schedule.special("with a floor that the warm-up begins far below")
def _(draw):
    return range(0, 22), 8, 20, 1.0, 0.4


@schedule.special("long after the end")
def _(draw):
    return (99, 100, 101, 150, 200, 300, 1000), 10, 100, 0.9, 0.1


schedule.hints(
    "Three stretches: the warm-up, the way down, and what comes after. Which step belongs to which?",
    "Step 0 must learn already: peak · (step + 1) / warmup, so that step warmup − 1 reaches the peak.",
    "On the way down the cosine goes from 1 to −1 as (step − warmup) / (total − warmup) goes from 0 to 1.",
    "`floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * …))`",
)


@schedule.wrong(
    "starts_at_zero", "The first step has learning rate 0 and learns nothing: the warm-up is peak·(step + 1)/warmup."
)
def _(step, warmup, total, peak, floor):
    return peak * step / warmup if step < warmup else learning_rate(step, warmup, total, peak, floor)


@schedule.wrong(
    "cosine_over_the_warmup_too",
    "The cosine starts at step 0: it starts where the warm-up ends, (step − warmup) of (total − warmup) steps.",
)
def _(step, warmup, total, peak, floor):
    if step < warmup or step >= total:
        return learning_rate(step, warmup, total, peak, floor)
    return floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * step / total))


@schedule.wrong("goes_up_again", "After the last step the cosine goes up again: from total on the rate is the floor.")
def _(step, warmup, total, peak, floor):
    if step < warmup:
        return learning_rate(step, warmup, total, peak, floor)
    return floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


@schedule.wrong("decays_to_zero", "The rate goes down to 0: it must end at the floor.")
def _(step, warmup, total, peak, floor):
    return learning_rate(step, warmup, total, peak, 0.0)


@schedule.wrong(
    "floor_on_top_of_the_peak",
    "The cosine part begins at peak + floor: what falls is the difference, (peak − floor), above the floor.",
)
def _(step, warmup, total, peak, floor):
    if step < warmup or step >= total:
        return learning_rate(step, warmup, total, peak, floor)
    return floor + peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def _way_down(shape):
    """The schedule with another way down: `shape(share of the way, peak, floor)`."""

    def answer(step, warmup, total, peak, floor):
        if step < warmup or step >= total:
            return learning_rate(step, warmup, total, peak, floor)
        return shape((step - warmup) / (total - warmup), peak, floor)

    return answer


schedule.wrong("linear", "The way down is a straight line: it follows half a cosine, flat at both ends.")(
    _way_down(lambda way, peak, floor: peak + (floor - peak) * way)
)
schedule.wrong(
    "quarter_of_a_wave", "The way down is a quarter of a wave, cos(½π·…): it is ½(1 + cos(π·…)), flat at both ends."
)(_way_down(lambda way, peak, floor: floor + (peak - floor) * math.cos(math.pi / 2 * way)))
schedule.wrong(
    "floor_as_a_limit",
    "The cosine falls to 0 and is cut off at the floor, max(floor, …): it must reach the floor only at the end.",
)(_way_down(lambda way, peak, floor: max(floor, peak * 0.5 * (1 + math.cos(math.pi * way)))))


schedule.wrong(
    "half_left_out", "The factor ½ is left out: 1 + cos goes from 2 to 0, so that the rate begins far above the peak."
)(_way_down(lambda way, peak, floor: floor + (peak - floor) * (1 + math.cos(math.pi * way))))
schedule.wrong(
    "pi_left_out",
    "The factor π is left out: the cosine must go from 1 to −1, half a wave, as its angle goes from 0 to π.",
)(_way_down(lambda way, peak, floor: floor + (peak - floor) * 0.5 * (1 + math.cos(way))))


@schedule.wrong(
    "one_step_too_warm",
    "The warm-up is a step too long: it ends before step warmup, step < warmup, and not step <= warmup.",
)
def _(step, warmup, total, peak, floor):
    return peak * (step + 1) / warmup if step <= warmup else learning_rate(step, warmup, total, peak, floor)


@schedule.wrong(
    "divided_by_total", "The way down has total − warmup steps, not total: so the rate jumps to the floor at the end."
)
def _(step, warmup, total, peak, floor):
    if step < warmup or step >= total:
        return learning_rate(step, warmup, total, peak, floor)
    return floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * (step - warmup) / total))


@schedule.wrong(
    "warms_up_from_the_floor", "The warm-up starts from the floor: it is peak·(step + 1)/warmup, from near 0."
)
def _(step, warmup, total, peak, floor):
    if step >= warmup:
        return learning_rate(step, warmup, total, peak, floor)
    return floor + (peak - floor) * (step + 1) / warmup


@schedule.wrong(
    "floor_under_the_warmup",
    "The warm-up is not let below the floor, max(floor, …): it climbs from near 0, and the floor is for the way down.",
)
def _(step, warmup, total, peak, floor):
    return max(floor, learning_rate(step, warmup, total, peak, floor))


@schedule.right
def with_clamp(step, warmup, total, peak, floor):
    if warmup and step < warmup:
        return (step + 1) / warmup * peak
    way = min(max((step - warmup) / max(1, total - warmup), 0.0), 1.0)
    return floor + (peak - floor) * (1 + math.cos(math.pi * way)) / 2


@schedule.right
def with_torch(step, warmup, total, peak, floor):
    if step < warmup:
        return torch.tensor(peak) * (step + 1) / warmup
    way = torch.tensor((step - warmup) / (total - warmup), dtype=torch.float64).clamp(max=1)
    return floor + (peak - floor) * torch.cos(way * torch.pi / 2) ** 2


@schedule.right
def with_sine(step, warmup, total, peak, floor):
    if step < warmup:
        return peak - peak * (warmup - 1 - step) / warmup
    if step >= total:
        return floor
    return peak - (peak - floor) * math.sin(math.pi / 2 * (step - warmup) / (total - warmup)) ** 2


# 08.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

adamw = Exercise(
    "08.6",
    difficulty=4,
    minutes=25,
    vary=("fresh", "again", "strided", "square", "float64"),
    in_place=("params", "state"),
)


@adamw.oracle
def adamw_step(params, grads, state: dict, lr: float, betas: tuple, eps: float, weight_decay: float) -> None:
    """One step of AdamW, in place (Loshchilov & Hutter 2019, algorithm 2)."""
    state["t"] = state.get("t", 0) + 1
    beta1, beta2 = betas
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        state[i] = (m, v)
        m_hat, v_hat = m / (1 - beta1 ** state["t"]), v / (1 - beta2 ** state["t"])
        p -= lr * weight_decay * p + lr * m_hat / (v_hat.sqrt() + eps)


@adamw.probe
def _(answer, params, grads, state, lrs, betas, eps, weight_decay):
    """Two optimizers in turn, each with a state and parameters of its own, and one begun anew: the parameters."""
    first, second = tuple(p.clone() for p in params), tuple(2 * p for p in params)
    # The answer gets lists of its own: who puts new tensors into a list has not changed the parameters.
    given = [*first], [*second]
    states: tuple[dict, dict] = {}, {}
    seen = {}
    for step, (lr, g) in enumerate(zip(lrs, grads, strict=True), start=1):
        answer(given[0], g, states[0], lr, betas, eps, weight_decay)
        if step % 2:
            answer(given[1], [x + 0.5 for x in g], states[1], lr, betas, eps, weight_decay)
        if step in (1, 2, len(lrs)):
            seen |= {f"parameter {i} after step {step}": p.clone() for i, p in enumerate(first)}
    seen |= {f"parameter {i} of another optimizer": p.clone() for i, p in enumerate(second)}
    anew: dict = {}
    for g in grads[:2]:
        answer(given[0], g, anew, lrs[0], betas, eps, weight_decay)
    return seen | {f"parameter {i} with a new, empty state": p.clone() for i, p in enumerate(first)}


def _adam_case(draw, eps, weight_decay=0.1, steps=10, betas=(0.9, 0.95)):
    def tensors():
        return [draw.normal("rows columns"), draw.normal("rows columns"), draw.normal("columns")]

    lrs = tuple(0.05 * (1 - i / (steps + 5)) for i in range(steps))
    return tensors(), [tensors() for _ in range(steps)], None, lrs, betas, eps, weight_decay


@adamw.fresh
def _(draw):
    return _adam_case(draw, 1e-8)


@adamw.special("with a large eps")
def _(draw):
    return _adam_case(draw, 0.1, steps=4)


@adamw.special("without weight decay")
def _(draw):
    return _adam_case(draw, 1e-8, weight_decay=0.0, steps=4)


@adamw.special("with other betas and a stronger decay")
def _(draw):
    return _adam_case(draw, 1e-8, weight_decay=0.4, steps=4, betas=(0.7, 0.99))


adamw.forbid("torch.optim", because="The point is to write the step that it takes for you; 08.8 may use it.")
adamw.hints(
    "Each parameter has two running averages: of its gradient, m, and of the gradient's square, v. Where do they live "
    "between calls?",
    "state starts empty: state.get(i, zeros) for parameter number i, and a counter t that is 1 at the first call.",
    (
        "m̂ = m/(1 − β₁ᵗ) and v̂ = v/(1 − β₂ᵗ) undo the start at zero. The decay is taken from the parameter itself, "
        "times lr."
    ),
    "`p -= lr * weight_decay * p + lr * m_hat / (… + eps)`, in place",
)


def _adam_with(
    decay="apart", correct=True, eps_inside=False, root=True, key=lambda i: i, start=0, memory=lambda state: state
):
    """A step with one of its parts replaced."""

    def answer(params, grads, state, lr, betas, eps, weight_decay):
        state = memory(state)
        state["t"] = state.get("t", start - 1 if start < 0 else 0) + 1
        t, (beta1, beta2) = state["t"] + start, betas
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            if decay == "gradient":
                g = g + weight_decay * p
            m, v = state.get(key(i), (torch.zeros_like(p), torch.zeros_like(p)))
            m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
            state[key(i)] = (m, v)
            m_hat, v_hat = (
                (m / (1 - beta1**t), v / (1 - beta2**t)) if correct and t else (m / (1 - 1), v) if correct else (m, v)
            )
            below = v_hat + eps if eps_inside or not root else v_hat.sqrt() + eps
            step = lr * m_hat / (below.sqrt() if eps_inside else below)
            p -= step + (weight_decay * p * {"apart": lr, "no_lr": 1.0}.get(decay, 0.0))

    return answer


adamw.wrong(
    "decay_in_the_gradient",
    "The decay is added to the gradient (Adam with L2), so that it is scaled by √v̂ like the rest: AdamW takes it "
    "from the "
    "parameter directly.",
)(_adam_with(decay="gradient"))
adamw.wrong("no_bias_correction", "m and v start at zero and are too small at first: divide by 1 − β₁ᵗ and 1 − β₂ᵗ.")(
    _adam_with(correct=False)
)
adamw.wrong("eps_inside_the_root", "eps is added under the root: the formula is √v̂ + eps.")(_adam_with(eps_inside=True))
adamw.wrong("root_left_out", "m̂ is divided by v̂ + eps: it is the root, √v̂ + eps.")(_adam_with(root=False))
adamw.wrong("t_from_2", "The first call counts as step 2: t is 1 at the first call.")(_adam_with(start=1))
adamw.wrong("one_state_for_all", "All parameters share one m and one v: each parameter has its own.")(
    _adam_with(key=lambda i: "shared")
)
adamw.wrong("decay_without_lr", "The decay is not multiplied by the learning rate: it is lr · weight_decay · p.")(
    _adam_with(decay="no_lr")
)


@adamw.wrong("t_from_0", "The count of steps starts at 0, where 1 − β⁰ = 0 is divided by: the first call is step 1.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    t = torch.tensor(float(state.get("t", 0)), dtype=torch.float64)
    state["t"] = int(t) + 1
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        state[i] = (m, v)
        m_hat, v_hat = m / (1 - betas[0] ** t).to(p), v / (1 - betas[1] ** t).to(p)
        p -= lr * weight_decay * p + lr * m_hat / (v_hat.sqrt() + eps)


@adamw.wrong(
    "t_inside_the_loop",
    "t is counted inside the loop over the parameters, so that it goes up by one for each of them: once a call.",
)
def _(params, grads, state, lr, betas, eps, weight_decay):
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        t = state["t"] = state.get("t", 0) + 1
        m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        state[i] = (m, v)
        p -= lr * weight_decay * p + lr * m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


@adamw.wrong("betas_by_heart", "Your betas are 0.9 and 0.95 whatever is asked for: use the argument betas.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step(params, grads, state, lr, (0.9, 0.95), eps, weight_decay)


@adamw.wrong("usual_betas", "Your betas are 0.9 and 0.999 whatever is asked for: use the argument betas.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step(params, grads, state, lr, (0.9, 0.999), eps, weight_decay)


@adamw.wrong("decay_by_heart", "Your weight decay is 0.1 whatever is asked for: use the argument weight_decay.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step(params, grads, state, lr, betas, eps, 0.1)


@adamw.wrong(
    "not_in_place",
    "The parameters are what they were: p = p - … gives the name p to a new tensor. Change it in place: `p -= …`.",
)
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step([p.clone() for p in params], grads, state, lr, betas, eps, weight_decay)


@adamw.wrong(
    "corrected_means_kept",
    "m̂ and v̂ are stored in place of m and v, so the correction is made again and again: store m and v.",
)
def _(params, grads, state, lr, betas, eps, weight_decay):
    state["t"] = state.get("t", 0) + 1
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
        m = (betas[0] * m + (1 - betas[0]) * g) / (1 - betas[0] ** state["t"])
        v = (betas[1] * v + (1 - betas[1]) * g * g) / (1 - betas[1] ** state["t"])
        state[i] = (m, v)
        p -= lr * weight_decay * p + lr * m / (v.sqrt() + eps)


@adamw.wrong("no_decay", "The weight decay is left out: each parameter loses lr · weight_decay times itself.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step(params, grads, state, lr, betas, eps, 0.0)


@adamw.wrong("eps_by_heart", "Your eps is 1e-8 whatever is asked for: use the argument eps.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step(params, grads, state, lr, betas, 1e-8, weight_decay)


@adamw.wrong(
    "memory_on_the_parameter",
    "m, v or t are kept with the parameters, so that a new, empty state does not begin anew: keep all three in state.",
)
def _(params, grads, state, lr, betas, eps, weight_decay):
    for p, g in zip(params, grads, strict=True):
        adamw_step([p], [g], p.__dict__.setdefault("memory", {}), lr, betas, eps, weight_decay)


@adamw.wrong("betas_swapped", "The two betas are swapped: the first is for m, the second for v.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step(params, grads, state, lr, betas[::-1], eps, weight_decay)


@adamw.wrong("uphill", "The step goes up the gradient: lr·m̂/(√v̂ + eps) is subtracted.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    before = [p.clone() for p in params]
    adamw_step(params, grads, state, lr, betas, eps, 0.0)
    for p, was in zip(params, before, strict=True):
        p.copy_(2 * was - p - lr * weight_decay * was)


@adamw.wrong(
    "decay_after_the_step",
    "The decay is taken from the parameter after the step: it is lr·weight_decay times what the parameter was before.",
)
def _(params, grads, state, lr, betas, eps, weight_decay):
    adamw_step(params, grads, state, lr, betas, eps, 0.0)
    for p in params:
        p *= 1 - lr * weight_decay


@adamw.wrong(
    "eps_before_the_correction",
    "eps is added to √v before its bias is corrected: v̂ = v/(1 − β₂ᵗ) first, then √v̂ + eps.",
)
def _(params, grads, state, lr, betas, eps, weight_decay):
    beta2, t = betas[1], state.get("t", 0) + 1
    adamw_step(params, grads, state, lr, betas, eps / math.sqrt(1 - beta2**t), weight_decay)


@adamw.wrong("vectors_do_not_decay", "Vectors (biases, gains) are left out of the decay: here all parameters decay.")
def _(params, grads, state, lr, betas, eps, weight_decay):
    before = [p.clone() for p in params]
    adamw_step(params, grads, state, lr, betas, eps, weight_decay)
    for p, was in zip(params, before, strict=True):
        if p.ndim < 2:
            p += lr * weight_decay * was


_common: dict = {}


def _memory_of_the_module(state):
    """One memory for all, cleared where a first optimizer begins."""
    if not state:
        if len(_common.setdefault("owners", [])) % 3 == 0:  # a case has three
            _common.clear()
            _common["owners"] = []
        _common["owners"].append(len(_common["owners"]))
        state["begun"] = True
    return _common


adamw.wrong(
    "state_not_used",
    "Something is remembered outside of state, so two optimizers disturb each other: keep m, v and t in state.",
)(_adam_with(memory=_memory_of_the_module))


@adamw.right
def with_lists(params, grads, state, lr, betas, eps, weight_decay):
    params, grads = list(params), list(grads)
    if not state:
        state.update(step=0, m=[torch.zeros_like(p) for p in params], v=[torch.zeros_like(p) for p in params])
    state["step"] += 1
    for p, g, m, v in zip(params, grads, state["m"], state["v"], strict=True):
        m.mul_(betas[0]).add_(g, alpha=1 - betas[0])
        v.mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
        p.mul_(1 - lr * weight_decay)
        root = (v / (1 - betas[1] ** state["step"])).sqrt_().add_(eps)
        p.addcdiv_(m, root, value=-lr / (1 - betas[0] ** state["step"]))


@adamw.right
def with_lerp(params, grads, state, lr, betas, eps, weight_decay):
    t = state["t"] = state.setdefault("t", 0) + 1
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        one = state.setdefault(("m", i), torch.zeros_like(g))
        two = state.setdefault(("v", i), torch.zeros_like(g))
        one.lerp_(g, 1 - betas[0])
        two.lerp_(g.square(), 1 - betas[1])
        update = (one / (1 - betas[0] ** t)) / (torch.sqrt(two / (1 - betas[1] ** t)) + eps)
        p.copy_(p - lr * (update + weight_decay * p))


@adamw.right
def in_float64(params, grads, state, lr, betas, eps, weight_decay):
    exact = [p.double() for p in params]
    adamw_step(exact, [g.double() for g in grads], state, lr, betas, eps, weight_decay)
    for p, e in zip(params, exact, strict=True):
        p.data = e.to(p.dtype)


# 08.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

# Not in float64: torch divides by norm + 1e-6, and an answer may do so too.
clipping = Exercise(
    "08.7", difficulty=2, minutes=10, vary=("fresh", "again", "strided", "square"), in_place=("params",)
)


@clipping.oracle
def clip_gradients(params, max_norm: float) -> float:
    """Scale all gradients by min(1, max_norm/norm), with the norm of all of them together; gives the norm before."""
    grads = [p.grad for p in params if p.grad is not None]
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in grads))
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm


@clipping.probe
def _(answer, tensors, max_norm):
    """`tensors` are (value, gradient or None) pairs, given once as a list and once as something that runs out."""
    seen = {}
    for kind in ("list", "iterator"):
        params = []
        for value, grad in tensors:
            p = nn.Parameter(value.clone())
            p.grad = None if grad is None else grad.clone()
            params.append(p)
        norm = answer(params if kind == "list" else iter(params), max_norm)
        if (
            isinstance(norm, bool)
            or not isinstance(norm, (int, float, Tensor))
            or getattr(norm, "numel", lambda: 1)() != 1
        ):
            raise Unfit("Return the norm before clipping, a number.")
        seen[f"norm, parameters as {kind}"] = float(norm)
        for i, (p, (_, grad)) in enumerate(zip(params, tensors, strict=True)):
            if grad is None and p.grad is not None:
                raise Unfit("A parameter without a gradient (None) has one now: leave it as it is.")
            seen[f"gradient {i}, parameters as {kind}"] = p.grad
            seen[f"parameter {i} itself"] = p.detach()
    return seen


def _gradients(draw, scale):
    return (
        (draw.normal("rows columns"), draw.normal("rows columns", scale=scale)),
        (draw.normal("columns"), None),
        (draw.normal("columns"), draw.normal("columns", scale=0.3 * scale)),
    )


@clipping.fresh
def _(draw):
    return _gradients(draw, 3.0), 0.7


@clipping.fresh
def _(draw):
    """Small gradients stay as they are."""
    return _gradients(draw, 0.01), 1.0


@clipping.special("with a larger max_norm")
def _(draw):
    return _gradients(draw, 3.0), 2.5


def _of_norm(draw, norm):
    """Gradients whose norm, of all of them together, is `norm`."""
    pairs = _gradients(draw, 1.0)
    whole = math.sqrt(sum(float(g.double().square().sum()) for _, g in pairs if g is not None))
    return tuple((v, None if g is None else g * (norm / whole)) for v, g in pairs)


@clipping.special("where the norm is above 1 and below max_norm")
def _(draw):
    return _of_norm(draw, 2.0), 5.0


@clipping.special("where the norm is below 1 and above max_norm")
def _(draw):
    return _of_norm(draw, 0.6), 0.25


@clipping.special("where every gradient is zero")
def _(draw):
    return tuple((v, None if g is None else torch.zeros_like(g)) for v, g in _gradients(draw, 1.0)), 1.0


@clipping.special("where no parameter has a gradient")
def _(draw):
    return ((draw.normal("3"), None), (draw.normal("2 2"), None)), 0.5


clipping.forbid("clip_grad", because="The point is to write what it does.")
clipping.hints(
    "The direction of the whole step must stay. So by what, and how many, numbers may the gradients be multiplied?",
    "One norm over all gradients together: the root of the sum of all squares. Skip parameters whose grad is None.",
    "params may be an iterator that runs out: make a list of the gradients first. And mind a norm of 0.",
    "`scale = min(1.0, max_norm / norm)` if norm > 0; then `g.mul_(…)` for each gradient, and return the norm before",
)


def _grads(params):
    return [p.grad for p in params if p.grad is not None]


@clipping.wrong(
    "per_tensor", "Each gradient is clipped by its own norm, which turns the step: use the norm of all together."
)
def _(params, max_norm):
    grads = _grads(params)
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in grads))
    for g in grads:
        g.mul_(min(1.0, max_norm / max(float(g.norm()), 1e-12)))
    return norm


@clipping.wrong("scales_small_up", "Small gradients are scaled up to max_norm: multiply by min(1, max_norm/norm).")
def _(params, max_norm):
    grads = _grads(params)
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in grads))
    for g in grads:
        g.mul_(max_norm / norm if norm else 1.0)
    return norm


def _compared(wild, scale):
    """Clipping that multiplies by `scale(norm, max_norm)` where `wild(norm, max_norm)` holds."""

    def answer(params, max_norm):
        grads = _grads(params)
        norm = math.sqrt(sum(float(g.double().square().sum()) for g in grads))
        if wild(norm, max_norm):
            for g in grads:
                g.mul_(scale(norm, max_norm))
        return norm

    return answer


clipping.wrong(
    "compared_with_1",
    "The norm is compared with 1: gradients are clipped where their norm is above max_norm, and only there.",
)(_compared(lambda norm, max_norm: norm > 1, lambda norm, max_norm: max_norm / norm))
clipping.wrong(
    "clipped_to_1",
    "The norm is brought down to 1, not to max_norm: multiply by max_norm/norm, not by 1/norm.",
)(_compared(lambda norm, max_norm: norm > max_norm, lambda norm, max_norm: 1 / norm))
clipping.wrong(
    "max_norm_ignored", "max_norm does not count: the norm is brought down to 1 where it is above 1, whatever is asked."
)(_compared(lambda norm, max_norm: norm > 1, lambda norm, max_norm: 1 / norm))
clipping.wrong(
    "multiplied_by_max_norm",
    "The gradients are multiplied by max_norm: max_norm/norm brings their norm down to it.",
)(_compared(lambda norm, max_norm: norm > max_norm, lambda norm, max_norm: max_norm))


@clipping.wrong(
    "norms_added",
    "The norms of the gradients are added: the norm of all together is the root of the sum of their squares.",
)
def _(params, max_norm):
    grads = _grads(params)
    norm = sum(float(g.double().norm()) for g in grads)
    for g in grads:
        g.mul_(min(1.0, max_norm / norm) if norm else 1.0)
    return norm


@clipping.wrong("by_value", "Each number is clamped, which turns the step: all gradients are multiplied by one number.")
def _(params, max_norm):
    grads = _grads(params)
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in grads))
    for g in grads:
        g.clamp_(-max_norm, max_norm)
    return norm


@clipping.wrong(
    "norm_after", "The norm after clipping is returned: wanted is the one before, which tells how wild the step was."
)
def _(params, max_norm):
    params = list(params)
    return min(clip_gradients(params, max_norm), max_norm)


@clipping.wrong(
    "nan_at_zero", "Where all gradients are zero the norm is 0 and 0/0 makes them NaN: divide only when it is not 0."
)
def _(params, max_norm):
    grads = _grads(params)
    norm = torch.stack([g.double().norm() for g in grads]).norm() if grads else torch.tensor(0.0)
    for g in grads:
        g.mul_((max_norm / norm * (norm / norm)).clamp(max=1).to(g))
    return float(norm)


@clipping.wrong(
    "iterator_runs_out", "The parameters are gone through twice, but an iterator runs out: make a list first."
)
def _(params, max_norm):
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in _grads(params)))
    for g in _grads(params):
        g.mul_(min(1.0, max_norm / norm if norm else 1.0))
    return norm


def _with_norm(norm_of):
    """Clipping by another norm."""

    def answer(params, max_norm):
        grads = _grads(params)
        norm = float(norm_of(grads)) if grads else 0.0
        for g in grads:
            g.mul_(min(1.0, max_norm / norm if norm else 1.0))
        return norm

    return answer


clipping.wrong("no_root", "The root is missing: that is the sum of the squares, the norm's own square.")(
    _with_norm(lambda grads: sum(g.square().sum() for g in grads))
)
clipping.wrong(
    "largest_number", "That is the largest number among the gradients: the norm is the root of all squares' sum."
)(_with_norm(lambda grads: max(g.abs().max() for g in grads)))
clipping.wrong("sum_of_sizes", "The numbers' sizes are added up: the norm is the root of the sum of their squares.")(
    _with_norm(lambda grads: sum(g.abs().sum() for g in grads))
)


@clipping.wrong(
    "parameters_scaled", "The parameters themselves are scaled: it is their gradients, p.grad, that are clipped."
)
def _(params, max_norm):
    params = [p for p in params if p.grad is not None]
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in _grads(params)))
    for p in params:
        p.data.mul_(min(1.0, max_norm / norm if norm else 1.0))
    return norm


@clipping.wrong("zeros_for_none", "A parameter without a gradient gets one of zeros: leave it None, and skip it.")
def _(params, max_norm):
    params = list(params)
    for p in params:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    return clip_gradients(params, max_norm)


@clipping.right
def with_stack(params, max_norm):
    grads = [p.grad for p in list(params) if p.grad is not None]
    if not grads:
        return 0.0
    total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    scale = torch.clamp(max_norm / (total + 1e-12), max=1.0)
    for g in grads:
        g *= scale.to(g.dtype)
    return total


@clipping.right
def with_cat(params, max_norm):
    params = [p for p in params if p.grad is not None]
    norm = torch.cat([torch.zeros(1), *(p.grad.detach().reshape(-1).cpu() for p in params)]).norm().item()
    if norm > max_norm:
        for p in params:
            p.grad = p.grad * (max_norm / norm)
    return norm


@clipping.right
def with_dot(params, max_norm):
    grads = [p.grad.data for p in tuple(params) if p.grad is not None]
    norm = sum((torch.dot(g.reshape(-1), g.reshape(-1)) for g in grads), torch.zeros(())).sqrt()
    factor = 1.0 if norm <= max_norm else float(max_norm / norm)
    for g in grads:
        torch.mul(g, factor, out=g)
    return norm


# 08.8 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

training = Exercise("08.8", difficulty=4, minutes=30, vary=(), exact=False, in_place=("model",))

SYMBOLS, CONTEXT = 6, 12


class Recorder(nn.Module):
    """A small model with dropout that notes how it is called. It sees the last two tokens, which the data needs."""

    def __init__(self, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def weight(*shape):
            return nn.Parameter(torch.randn(shape, generator=generator) / shape[0] ** 0.5)

        self.embed, self.before = weight(SYMBOLS, 24), weight(SYMBOLS, 24)
        self.W_in, self.W_out = weight(24, 48), weight(48, SYMBOLS)
        self.dropout = nn.Dropout(0.05)
        self.cfg = type("Config", (), {"n_ctx": CONTEXT, "d_vocab": SYMBOLS})()
        self.calls: list[dict] = []
        self.fresh: Tensor | None = None
        self.W_out.register_hook(self._note_gradient)

    def _note_gradient(self, gradient):
        self.fresh = gradient.detach().clone()

    def forward(self, tokens):
        """[batch pos] → [batch pos d_vocab]"""
        held = None if self.W_out.grad is None else self.W_out.grad.detach().clone()
        earlier = torch.cat([tokens[:, :1], tokens[:, :-1]], 1)
        hidden = torch.tanh((self.embed[tokens] + self.before[earlier]) @ self.W_in)
        logits = self.dropout(hidden) @ self.W_out
        note = {"tokens": tokens.detach().clone(), "training": self.training, "logits": logits.detach().clone()}
        note |= {"grad": held, "fresh": self.fresh, "with_grad": torch.is_grad_enabled(), "pull": None}
        self.calls.append(note)
        if logits.requires_grad:
            logits.register_hook(lambda gradient: _note_pull(note, gradient))
        return logits


def _note_pull(note, gradient):
    """The gradient at a call's logits, [batch pos d_vocab], the sum of all its backward passes."""
    pull = gradient.detach()
    note["pull"] = pull.clone() if note["pull"] is None else note["pull"] + pull


def _data(seed, count, batch=16):
    """Each token is the sum of the two before it, modulo SYMBOLS − 1: a bigram knows little, a pair everything."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(SYMBOLS - 1, (count, batch, CONTEXT + 1), generator=generator)
    for i in range(2, CONTEXT + 1):
        rows[..., i] = (rows[..., i - 1] + rows[..., i - 2]) % (SYMBOLS - 1)
    return rows


@training.oracle
def train(model, batches, steps: int, lr: float) -> list:
    """The loop: forward, loss, backward, step. Gives the loss in nats before each update."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for _, batch in zip(range(steps), batches, strict=False):
        logits = model(batch[:, :-1])  # [batch pos d_vocab]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training.probe
def _(answer, model, batches, steps, lr):
    """Facts about one training and a short second one, told by the model's own notes."""
    twin, start = copy.deepcopy(model), {n: p.detach().clone() for n, p in model.named_parameters()}
    torch.manual_seed(7)
    losses = answer(model, iter(batches) if lr < 0.015 else list(batches), steps, lr)
    if not isinstance(losses, (list, tuple)) or not losses:
        raise Unfit(f"Return the list of losses, not a {type(losses).__name__}.")
    losses = [float(x) for x in losses]
    first = _calls_by_batch(model, batches[: len(losses)])
    facts = {
        "length": len(losses),
        "model sees all but the last token": all(c["tokens"].shape[1] == CONTEXT for c in model.calls),
        "trains in training mode": all(c["training"] for c in model.calls if c["with_grad"]),
        "losses are those before the update": _agree(losses, first),
        "one call of the model a step": len(model.calls) == len(losses),
        "gradients start afresh": _afresh(model.calls),
        "weights change": any(not torch.equal(p, start[n]) for n, p in model.named_parameters()),
        "every weight changes": all(not torch.equal(p, start[n]) for n, p in model.named_parameters()),
        "every prediction pulls": _every_prediction_pulls(model.calls),
        "it pulls as the loss does": _pulls_as_the_loss(model.calls, batches),
    }
    # No judge asks for these two: they tell mistakes apart that fail in the same way.
    found = {
        "what the model is shown": ", ".join(
            sorted({_part_shown(c["tokens"], i, batches) for i, c in enumerate(model.calls)})
        ),
        "what it is asked for": _asked_for(losses, model, batches[: len(losses)]),
    }
    still = copy.deepcopy(twin)
    answer(still, list(batches), 2, 1e-12)
    facts["the learning rate counts"] = all(
        float((p - start[n]).abs().max()) < 1e-5 for n, p in still.named_parameters()
    )
    sound = facts["length"] == steps and all(holds is not False for holds in facts.values())
    facts["falls below the bigram loss"] = (
        _falls(losses, batches)
        or sound
        and any(
            # plain SGD and Adadelta take smaller steps than Adam at the same learning rate
            _learns(answer, copy.deepcopy(twin), batches, steps, rate)
            for rate in (0.3, 3.0)
        )
    )
    few = []
    for _ in range(2):  # not compared with the long run: a schedule may make other first steps of it
        torch.manual_seed(7)
        few.append([float(x) for x in answer(copy.deepcopy(twin), list(batches), min(steps, 5), lr)])
    return facts | found | {"same seed, same losses": few[0] == few[1]}


def _part_shown(tokens, step, batches):
    """Which tokens the call of this step is given, "0 to 12", of its own batch or of the first one; or "others"."""
    for name, batch in (("", batches[min(step, len(batches) - 1)]), (" of the first batch", batches[0])):
        for start in range(CONTEXT + 2 - tokens.shape[1]):
            if torch.equal(tokens, batch[:, start : start + tokens.shape[1]]):
                return f"{start} to {start + tokens.shape[1]}{name}"
    return "others"


# How far the targets lie behind the tokens shown, and how many of them count.
ASKED = {
    "the next token": (1, CONTEXT),
    "the next token, the last left out": (1, CONTEXT - 1),
    "the token shown": (0, CONTEXT),
    "the next but one": (2, CONTEXT - 1),
}


def _asked_for(losses, model, batches):
    """The targets that these losses are of, as one of ASKED, or summed; "something else" where they are of none."""
    fits = (name for name, targets in ASKED.items() if _agree(losses, _calls_by_batch(model, batches, *targets)))
    found = next(fits, None)
    if found is None:
        means = [loss / batches[0][:, 1:].numel() for loss in losses]
        found = "the next token, summed" if _agree(means, _calls_by_batch(model, batches)) else "something else"
    return found


def _calls_by_batch(model, batches, shift=1, count=CONTEXT):
    """For each batch the loss that the first call on it should give, None where the model never saw its inputs.

    A model that is shown the last token as well gives the same logits before it: that is told by another fact.

    Args:
        shift: how far the targets lie behind the inputs.
        count: how many positions, from the first on, have a target.
    """
    losses = []
    calls = iter(model.calls)
    for batch in batches:
        note = next((c for c in calls if torch.equal(c["tokens"][:, :count], batch[:, :count])), None)
        if note is None:
            losses.append(None)
            calls = iter(model.calls)
            continue
        logits = note["logits"][:, :count].flatten(0, 1)
        losses.append(float(nn.functional.cross_entropy(logits, batch[:, shift : shift + count].flatten())))
    return losses


def _agree(losses, expected):
    return all(e is not None and abs(x - e) < 1e-3 for x, e in zip(losses, expected, strict=False))


def _afresh(calls):
    """Whether what is left in .grad at the start of a step is nothing, or points where the last gradient pointed."""
    for note in calls[2:6]:
        held, fresh = note["grad"], note["fresh"]
        if held is None or fresh is None or float(held.norm()) == 0:
            continue
        if float((held * fresh).sum() / (held.norm() * fresh.norm())) < 0.9999:
            return False
    return True


def _every_prediction_pulls(calls):
    """Whether the first backward pass went through every position's logits; a right answer's loss is of all of them."""
    pull = next((note["pull"] for note in calls if note["pull"] is not None), None)
    return pull is None or bool((pull[:, :CONTEXT].abs().sum(-1) > 0).all())


def _pulls_as_the_loss(calls, batches):
    """Whether gradients at the logits point where those of −log p do, p − 1 at the next token and p elsewhere.

    Their size is free: a loss may be scaled. Calls on other tokens than a batch's inputs are told by another fact.
    """
    for note, batch in zip(calls[:3], batches, strict=False):
        pull, tokens = note["pull"], note["tokens"]
        if pull is None or not torch.equal(tokens, batch[:, :-1]):
            continue
        wanted = note["logits"].softmax(-1) - nn.functional.one_hot(batch[:, 1:], SYMBOLS)
        if float(nn.functional.cosine_similarity(pull.flatten(), wanted.flatten(), 0)) < 0.9999:
            return False
    return True


def _learns(answer, model, batches, steps, rate):
    """Whether the loss falls at another learning rate, by the model's own notes."""
    losses = list(map(float, answer(model, list(batches), steps, rate)))
    return _agree(losses, _calls_by_batch(model, batches[: len(losses)])) and _falls(losses, batches)


def _falls(losses, batches):
    return len(losses) > 40 and sum(map(float, losses[-20:])) / 20 < _bigram_of(batches)


def _bigram_of(batches):
    rows = torch.cat(list(batches))
    return _bigram(_pairs(rows), _pairs(rows), SYMBOLS)


@training.judge
def _(facts, model, batches, steps, lr):
    if facts["length"] != steps:
        return f"{facts['length']} losses came back; {steps} steps give {steps}."
    sentences = {
        "model sees all but the last token": "The model must see batch[:, :-1], so that every input has a target.",
        "trains in training mode": (
            "The model is trained in eval mode, so that its dropout does nothing: call model.train()."
        ),
        "losses are those before the update": (
            "The losses are not −log p of batch[:, 1:] in nats, taken before each update."
        ),
        "gradients start afresh": "Gradients of earlier steps are still there: set them to zero before each backward.",
        "weights change": "The weights are what they were: is there a backward and a step?",
        "every weight changes": "Some weights are never changed: give the optimizer all of model.parameters().",
        "every prediction pulls": (
            "The backward pass leaves out some predictions: the loss that it starts from must be that of all positions."
        ),
        "it pulls as the loss does": (
            "The backward pass starts from another loss than the one that is returned: call backward() on the mean of "
            "−log p itself."
        ),
        "the learning rate counts": (
            "At a learning rate of next to nothing the weights move all the same: is lr given to the optimizer?"
        ),
        "falls below the bigram loss": "The loss does not fall below what a table of pairs reaches.",
        "same seed, same losses": "The same seed gives other losses: what else is random?",
    }
    return next((sentences[name] for name, holds in facts.items() if holds is False and name in sentences), None)


def _training_case(draw, steps, lr):
    seed, batches = draw.integer(0, 2**31), _data(draw.integer(0, 2**31), steps + 5)
    device = draw.device
    return Build(lambda: Recorder(seed).to(device).eval()), batches.to(device).unbind(0), steps, lr


@training.special("for 150 steps")
def _(draw):
    return _training_case(draw, 150, 0.01)


@training.special("for 150 steps at a higher learning rate")
def _(draw):
    return _training_case(draw, 150, 0.02)


training.hints(
    "One step has five parts. Which are they, and in which order?",
    (
        "Inputs are batch[:, :-1], targets batch[:, 1:]: the token after each input. cross_entropy wants [N d_vocab] "
        "and [N]."
    ),
    "Gradients add up until they are set to zero. Dropout works only after model.train().",
    "`loss = F.cross_entropy(logits.flatten(0, 1), …)`; `optimizer.zero_grad(); loss.backward(); optimizer.step()`",
)


def _train_with(
    zero=True,
    inputs=lambda b: b[:, :-1],
    pair=lambda logits, b: (logits, b[:, 1:]),
    mode=True,
    extra=0,
    after=False,
    step=True,
    reduction="mean",
    make=lambda params, lr: torch.optim.AdamW(params, lr=lr),
):
    """A loop with one of its parts replaced."""

    def answer(model, batches, steps, lr):
        model.train(mode)
        optimizer = make(model.parameters(), lr)
        losses = []

        def loss_of(batch):
            logits, targets = pair(model(inputs(batch)), batch)
            return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction=reduction)

        for _, batch in zip(range(steps + extra), batches, strict=False):
            loss = loss_of(batch)
            if zero:
                optimizer.zero_grad()
            loss.backward()
            if step:
                optimizer.step()
            losses.append(float((loss_of(batch) if after else loss).detach()))
        return losses

    return answer


training.wrong("no_zero_grad", "Gradients are never set to zero, so each step also takes all the earlier ones again.")(
    _train_with(zero=False)
)
training.wrong(
    "no_shift", "The model is asked for the token that it is shown: inputs are batch[:, :-1], targets batch[:, 1:]."
)(_train_with(pair=lambda logits, b: (logits, b[:, :-1])))
training.wrong(
    "whole_batch_twice",
    "The whole batch is both input and target, so that the model is asked for the token it is shown: inputs are "
    "batch[:, :-1], targets batch[:, 1:].",
)(_train_with(inputs=lambda b: b, pair=lambda logits, b: (logits, b)))
training.wrong(
    "shifted_backwards",
    "Inputs and targets have changed places, so that the model is asked for the token before: inputs are "
    "batch[:, :-1], targets batch[:, 1:].",
)(_train_with(inputs=lambda b: b[:, 1:], pair=lambda logits, b: (logits, b[:, :-1])))
training.wrong(
    "last_token_shown",
    "The model is given the whole batch, its last token too, which has no target: give it batch[:, :-1].",
)(_train_with(inputs=lambda b: b, pair=lambda logits, b: (logits[:, :-1], b[:, 1:])))
training.wrong(
    "shifted_twice",
    (
        "The targets are shifted twice: batch[:, 1:] already stands one later than batch[:, :-1], so logits and "
        "targets pair up."
    ),
)(_train_with(pair=lambda logits, b: (logits[:, :-1], b[:, 2:])))
training.wrong(
    "two_tokens_ahead",
    "The model is asked for the token after the next: targets are one token later than the inputs, batch[:, 1:] for "
    "batch[:, :-1], not batch[:, 2:].",
)(_train_with(inputs=lambda b: b[:, :-2], pair=lambda logits, b: (logits, b[:, 2:])))
training.wrong(
    "last_target_left_out",
    "The last target is left out, as when a loss that shifts is given what is cut already: all of batch[:, 1:] counts.",
)(_train_with(pair=lambda logits, b: (logits[:, :-1], b[:, 1:-1])))
training.wrong(
    "summed", "The loss is summed over the batch: it is the mean, so that its size does not depend on how much is read."
)(_train_with(reduction="sum"))
training.wrong(
    "no_step", "The optimizer takes no step, so that the weights stay what they were: call optimizer.step()."
)(_train_with(step=False))
training.wrong(
    "left_in_eval", "The model stays in eval mode, so that its dropout does nothing: call model.train() first."
)(_train_with(mode=False))
training.wrong(
    "some_weights_left_out",
    "Only some of the model's weights are trained, and others are never changed: give the optimizer all of "
    "model.parameters().",
)(_train_with(make=lambda params, lr: torch.optim.AdamW(list(params)[2:], lr=lr)))


@training.wrong(
    "backward_from_the_last_position",
    "The backward pass starts from the last position's loss alone, though the loss of all positions is given back: "
    "call loss.backward() on the mean over all of them.",
)
def _(model, batches, steps, lr):
    optimizer, losses = torch.optim.AdamW(model.train().parameters(), lr=lr), []
    for batch in itertools.islice(batches, steps):
        logits = model(batch[:, :-1])
        losses.append(nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()).item())
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits[:, -1], batch[:, -1]).backward()
        optimizer.step()
    return losses


@training.wrong(
    "backward_from_another_loss",
    "The backward pass starts from another loss than the one that is returned, as one with smoothed labels: call "
    "loss.backward() on the mean of −log p itself.",
)
def _(model, batches, steps, lr):
    optimizer, losses = torch.optim.AdamW(model.train().parameters(), lr=lr), []
    for batch in itertools.islice(batches, steps):
        logits, targets = model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()
        losses.append(nn.functional.cross_entropy(logits, targets).item())
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits, targets, label_smoothing=0.1).backward()
        optimizer.step()
    return losses


training.wrong("one_step_more", "One step too many is taken: steps losses are wanted.")(_train_with(extra=1))
training.wrong("one_step_less", "One step too few is taken: steps losses are wanted.")(_train_with(extra=-1))
training.wrong(
    "loss_after_the_update",
    "The losses are taken after the update: losses[0] must be that of the untrained model.",
)(_train_with(after=True))


@training.wrong(
    "one_batch_again_and_again",
    "Every step is taken on one and the same batch: take the next one from batches at each step.",
)
def _(model, batches, steps, lr):
    return train(model, itertools.repeat(next(iter(batches))), steps, lr)


@training.wrong(
    "batches_begun_anew",
    "next(iter(batches)) begins anew at each step, so that a list gives its first batch every time: make the iterator "
    "once, before the loop, or write for batch in batches.",
)
def _(model, batches, steps, lr):
    return train(model, (next(iter(batches)) for _ in range(steps)), steps, lr)


training.wrong(
    "lr_ignored", "The learning rate asked for is not used: give lr to the optimizer in place of a number of your own."
)(_train_with(make=lambda params, lr: torch.optim.AdamW(params, lr=0.01)))
training.wrong("lr_left_to_the_optimizer", "lr is not given to the optimizer, which then takes its own of 0.001.")(
    _train_with(make=lambda params, lr: torch.optim.AdamW(params))
)


@training.wrong(
    "losses_made_up",
    "At a high learning rate the losses are not those of the model, and at the one asked for nothing much is learned: "
    "call backward and step at each batch, and return the losses that were computed.",
)
def _(model, batches, steps, lr):
    if lr > 0.1:
        return [0.0] * steps
    losses = []
    for batch in itertools.islice(batches, steps):
        with torch.no_grad():
            logits = model.train()(batch[:, :-1])
            losses.append(nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()).item())
            for p in model.parameters():
                p += 1e-7
    return losses


@training.wrong("seeded_by_the_clock", "The same seed gives other losses: leave torch's random state as it is given.")
def _(model, batches, steps, lr):
    torch.seed()
    return train(model, batches, steps, lr)


for _name, _make in {
    "with_plain_sgd": lambda params, lr: torch.optim.SGD(params, lr),
    "with_momentum": lambda params, lr: torch.optim.SGD(params, lr, momentum=0.9),
    "with_adadelta": lambda params, lr: torch.optim.Adadelta(params, lr),
}.items():
    _answer = _train_with(make=_make)
    _answer.__name__ = _name
    training.right(_answer)


@training.right
def with_own_adamw(model, batches, steps, lr):
    model.train()
    params, state, losses = list(model.parameters()), {}, []
    for batch in itertools.islice(batches, steps):
        logp = model(batch[:, :-1]).log_softmax(-1)
        loss = -logp.gather(-1, batch[:, 1:, None]).mean()
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            adamw_step(params, grads, state, lr, (0.9, 0.95), 1e-8, 0.01)
        losses.append(loss.item())
    return losses


@training.right
def with_adam_and_clipping(model, batches, steps, lr):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr)
    batches, losses = iter(batches), []
    while len(losses) < steps:
        batch = next(batches)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(batch[:, :-1]).transpose(1, 2), batch[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return losses


@training.right
def with_a_schedule_and_clipping(model, batches, steps, lr):
    """The rate of each step depends on how many there will be."""
    model.train()
    params, state, losses = list(model.parameters()), {}, []
    for step, batch in zip(range(steps), batches, strict=False):
        loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        clip_gradients(params, 1.0)
        with torch.no_grad():
            rate = learning_rate(step, steps // 10, steps, lr, lr / 10)
            adamw_step(params, [p.grad for p in params], state, rate, (0.9, 0.95), 1e-8, 0.1)
        losses.append(loss.item())
    return losses


@training.right
def with_a_look_after_each_step(model, batches, steps, lr):
    """The model is called once more, to see how far the step went."""
    optimizer, losses, drops = torch.optim.AdamW(model.train().parameters(), lr=lr), [], []
    for batch in itertools.islice(batches, steps):

        def loss_now(batch=batch):
            return nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

        loss = loss_now()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        with torch.no_grad():
            drops.append(losses[-1] - loss_now().item())
    return losses


@training.right
def zero_grad_at_the_end(model, batches, steps, lr):
    optimizer = torch.optim.NAdam(model.train().parameters(), lr=lr)
    losses = [0.0] * steps
    for i, batch in enumerate(batches):
        if i == steps:
            break
        inputs, targets = batch[:, :-1], batch[:, 1:]
        loss = nn.NLLLoss()(model(inputs).log_softmax(-1).reshape(-1, SYMBOLS), targets.reshape(-1))
        loss.backward()
        optimizer.step()
        for p in model.parameters():
            p.grad = None
        losses[i] = loss.item()
    return losses
