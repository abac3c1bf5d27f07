"""Mistakes of chapters 09 to 11, written as a learner might write them, are rejected and get their names."""

import pytest
import torch

from utils.exercises.ch11 import repeat_kv, rms_norm, rope, swiglu
from utils.grading import check

INF = float("inf")


def mask_by_gather(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError
    ordered, order = logits.sort(-1, descending=True)
    before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
    gone = before >= p
    gone[..., :min_tokens] = False
    return logits.masked_fill(gone.gather(-1, order), -INF)


def sums_of_logits(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError
    ordered, order = logits.sort(-1, descending=True)
    gone = ordered.cumsum(-1) - ordered >= p
    gone[..., :min_tokens] = False
    return logits.masked_fill(torch.zeros_like(gone).scatter(-1, order, gone), -INF)


def each_by_itself(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError
    ordered, order = logits.sort(-1, descending=True)
    gone = ordered.softmax(-1) < p
    gone[..., :min_tokens] = False
    if p == 1:
        gone[:] = False
    return logits.masked_fill(torch.zeros_like(gone).scatter(-1, order, gone), -INF)


def rank_without_a_check(logits, k):
    return logits.masked_fill(logits.argsort(-1, descending=True).argsort(-1) >= k, -INF)


def only_the_prompts_logits(model, tokens, n_new, pick, eos=None):
    logits = model(tokens[:, -model.cfg.n_ctx :])[:, -1]
    ended = torch.zeros(len(tokens), dtype=torch.bool)
    for _ in range(n_new):
        new = pick(logits)
        if eos is not None:
            new = torch.where(ended, eos, new)
            ended |= new == eos
        tokens = torch.cat([tokens, new[:, None]], 1)
    return tokens


def search(kept_by=None, chosen_by=None, crop=True, eos_counts=lambda eos: eos is not None, fill=None):
    """A beam search of a learner's own; `kept_by(total, length, prompt, n_new, penalty)`, and so `chosen_by`."""

    def score(total, length, prompt, n_new, penalty):
        return total / max(1, length) ** penalty

    def beam_search(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
        def ranked(entry, rule):
            return (rule or score)(entry[1], len(entry[0]), tokens.shape[1], n_new, length_penalty)

        rows = []
        for row in tokens.tolist():
            kept = [([], 0.0)]
            for _ in range(n_new):
                pool = [entry for entry in kept if eos_counts(eos) and entry[0][-1:] == [eos]]
                for ids, total in (entry for entry in kept if entry not in pool):
                    text = torch.tensor([row + ids])
                    logits = model(text[:, -model.cfg.n_ctx :] if crop else text)[0, -1]
                    pool += [(ids + [i], total + x) for i, x in enumerate(logits.log_softmax(-1).tolist())]
                kept = sorted(pool, key=lambda entry: ranked(entry, kept_by))[-beams:]
            ids = max(kept, key=lambda entry: ranked(entry, chosen_by))[0]
            rows.append(row + ids + [eos if fill is None else fill] * (n_new - len(ids)))
        return torch.tensor(rows)

    return beam_search


def plain_sum(total, length, prompt, n_new, penalty):
    return total


def whole_length(total, length, prompt, n_new, penalty):
    return total / (prompt + length) ** penalty


def full_length(total, length, prompt, n_new, penalty):
    return total / n_new**penalty


def shared_cache():
    """A class whose lists belong to the class; a new one each time, as a cell that is run again makes it."""

    class KVCache:
        keys, values = [], []

        def append(self, k, v):
            self.keys.append(k)
            self.values.append(v)
            return torch.cat(self.keys, 1), torch.cat(self.values, 1)

        def __len__(self):
            return sum(k.shape[1] for k in self.keys)

    return KVCache


def own_scale(components, W_U, answer, wrong, final_scale):
    scale = (components.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return torch.einsum("cbm,mb->cb", components / scale, W_U[:, answer] - W_U[:, wrong])


def zeroed(place):
    def ablate_head(model, tokens, layer, head, how="zero"):
        def hook_fn(z, hook):
            z[place(head)] = 0.0 if how == "zero" else z[place(head)].mean((0, 1))
            return z

        return model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", hook_fn)])

    return ablate_head


def heads_by(length, back):
    """Heads measured on `length` random tokens, twice; `back(p)` gives how far back each kind looks."""

    def find_heads(model, kind, threshold):
        once = torch.randint(model.cfg.d_vocab, (4, length))
        _, cache = model.run_with_cache(once.repeat(1, 2))
        step, found = back(length)[kind], []
        queries = torch.arange(1 if kind == "previous" else max(step, length), 2 * length)
        for layer in range(model.cfg.n_layers):
            scores = cache[f"blocks.{layer}.attn.hook_pattern"][:, :, queries, queries - step].mean((0, 2))
            found += [(layer, head) for head, score in enumerate(scores) if score >= threshold]
        return found

    return find_heads


def block(ln1=True, ln2=True, added=True):
    def llama_block(resid, block, positions):
        x = rms_norm(resid, block["ln1.w"], block["eps"]) if ln1 else resid
        q, k, v = (torch.einsum("bpm,hmd->bphd", x, block[f"attn.W_{c}"]) for c in "QKV")
        q, k = rope(q, positions, block["theta"]), rope(k, positions, block["theta"])
        k, v = (repeat_kv(t, q.shape[2] // t.shape[2]) for t in (k, v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -INF)
        out = torch.einsum("bhqk,bkhd,hdm->bqm", scores.softmax(-1), v, block["attn.W_O"])
        resid = resid + out if added else out
        x = rms_norm(resid, block["ln2.w"], block["eps"]) if ln2 else resid
        return resid + swiglu(x, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"])

    return llama_block


MISTAKES = {
    "mask by gather": ("09.5", mask_by_gather, "mask_gathered"),
    "sums of logits": ("09.5", sums_of_logits, "logits_summed"),
    "each by itself": ("09.5", each_by_itself, "each_token_above_p"),
    "k not checked": ("09.4", rank_without_a_check, "no_check_at_all"),
    "one call": ("09.7", only_the_prompts_logits, "prompt_only_shown"),
    "kept by the sum": ("09.8", search(kept_by=plain_sum), "kept_by_the_sum"),
    "kept by n_new": ("09.8", search(kept_by=full_length), "kept_by_the_sum"),
    "kept with the prompt": ("09.8", search(kept_by=whole_length), "prompt_counted_in_what_is_kept"),
    "chosen by the sum": ("09.8", search(chosen_by=plain_sum), "chosen_by_the_sum"),
    "chosen by n_new": ("09.8", search(chosen_by=full_length), "chosen_by_the_sum"),
    "chosen with the prompt": ("09.8", search(chosen_by=whole_length), "prompt_counted_at_the_end"),
    "n_new for all": ("09.8", search(kept_by=full_length, chosen_by=full_length), "no_penalty"),
    "no crop": ("09.8", search(crop=False), "no_crop"),
    "if eos": ("09.8", search(eos_counts=bool), "eos_zero_ignored"),
    "filled with 0": ("09.8", search(fill=0), "filled_with_zeros"),
    "own scale": ("10.1", own_scale, "own_standard_deviation_with_eps"),
    "z[:, head]": ("10.2", zeroed(lambda head: (slice(None), head)), "head_taken_for_a_position"),
    "z[..., head]": ("10.2", zeroed(lambda head: (..., head)), "head_taken_for_a_dimension"),
    "i - p - 1": (
        "10.4",
        heads_by(40, lambda p: {"previous": 1, "duplicate": p, "induction": p + 1}),
        "induction_before_duplicate",
    ),
    "3 tokens": (
        "10.4",
        heads_by(3, lambda p: {"previous": 1, "duplicate": p, "induction": p - 1}),
        "only_3_tokens_repeated",
    ),
    "no first norm": ("11.5", block(ln1=False), "first_norm_left_out"),
    "no second norm": ("11.5", block(ln2=False), "second_norm_left_out"),
    "not added": ("11.5", block(added=False), "attention_not_added"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_named(name, pocket):
    number, answer, key = MISTAKES[name]
    verdict = check(number, answer, pocket)
    assert verdict.diagnosis == key, (verdict.diagnosis, verdict.also, verdict.message)


def test_a_cache_shared_by_the_class_is_named_at_the_first_check_and_at_the_next(pocket):
    cell = shared_cache()
    assert [check("09.9", cell, pocket).diagnosis for _ in range(2)] == ["shared_by_all"] * 2


def test_the_same_programs_are_right_where_nothing_is_changed(pocket):
    assert check("09.8", search(), pocket).passed
    assert check("11.5", block(), pocket).passed
    assert check("10.2", zeroed(lambda head: (slice(None), slice(None), head)), pocket).passed
    right = heads_by(40, lambda p: {"previous": 1, "duplicate": p, "induction": p - 1})
    assert check("10.4", right, pocket).passed
