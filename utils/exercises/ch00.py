"""Chapter 00, tensors: means along an axis, heads cut out and put back, pairs of rows, picking by index, a triangle.

These are the six moves that the later chapters are made of. Nothing here is about language yet.
"""

from collections.abc import Callable

import torch
from einops import einsum, rearrange, reduce
from jaxtyping import Bool, Float, Int
from torch import Tensor

from utils.exercises.declare import Exercise

# 00.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

centering = Exercise("00.1", difficulty=1, minutes=5)


@centering.oracle
def center_rows(x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
    """Each row minus its own mean; a row is what the last axis holds."""
    return x - x.mean(-1, keepdim=True)


@centering.on_reference
def _(cache, layer):
    return (cache[f"blocks.{layer}.hook_resid_pre"],), None


@centering.fresh
def _(draw):
    return (draw.normal("batch pos d", scale=1.5, mean=2.0),)


@centering.fresh
def _(draw):
    """Rows and columns alone."""
    return (draw.normal("rows d", mean=-1.0),)


@centering.special("on a single row, a tensor of one axis")
def _(draw):
    return (draw.normal("6", mean=3.0),)


@centering.special("on a tensor of four axes")
def _(draw):
    return (draw.normal("2 3 2 5", mean=1.0),)


centering.hints(
    "A row is what the last axis holds. How many means do you need for a tensor of shape [3, 5, 4]?",
    "x.mean(-1) gives one mean a row, but it drops the axis. To line up with x, that axis has to stay, with length 1.",
    "keepdim=True keeps it.",
    "`x - x.mean(…, keepdim=…)`",
)


@centering.wrong(
    "mean_over_everything",
    "One mean is taken over all numbers: each row has a mean of its own, over the last axis.",
)
def _(x):
    return x - x.mean()


@centering.wrong(
    "mean_over_axis_0",
    "The mean runs down the first axis, so that columns are centered: a row is what the last axis holds.",
)
def _(x):
    return x - x.mean(0, keepdim=True)


@centering.wrong(
    "axis_counted_from_the_front",
    "The axis is counted from the front (1), which is the last one only when x has two axes: −1 is the last one "
    "always.",
)
def _(x):
    return x - x.mean(1, keepdim=True)


@centering.wrong(
    "mean_over_the_axis_before",
    "The mean runs over the axis before the last one: a row is what the last axis (−1) holds.",
)
def _(x):
    return x - x.mean(-2, keepdim=True)


@centering.wrong(
    "no_keepdim",
    "The means lost their axis, so they no longer line up with the rows: on square input they even go to the wrong "
    "rows. keepdim=True keeps an axis of length 1.",
)
def _(x):
    return x - x.mean(-1)


@centering.wrong("median", "The median is subtracted: the mean is wanted, the sum divided by the number of entries.")
def _(x):
    return x - x.median(-1, keepdim=True).values


@centering.wrong("sum", "The row's sum is subtracted: the mean is that sum divided by the number of entries.")
def _(x):
    return x - x.sum(-1, keepdim=True)


@centering.wrong(
    "divides_too",
    "The rows are centered, and then divided by their standard deviation. Only subtract: dividing comes in chapter 04.",
)
def _(x):
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)


@centering.wrong(
    "divides_by_the_spread_too",
    "The rows are centered, and then divided by the root of their variance. Only subtract: dividing comes in chapter "
    "04.",
)
def _(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()


@centering.wrong("means_alone", "These are the means themselves: subtract them from x.")
def _(x):
    return x.mean(-1, keepdim=True)


@centering.wrong("other_way_round", "The subtraction is the other way round, mean minus x: x minus its mean is wanted.")
def _(x):
    return x.mean(-1, keepdim=True) - x


@centering.right
def row_by_row(x):
    rows = [row - row.sum() / len(row) for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)


@centering.right
def with_a_matrix(x):
    d = x.shape[-1]
    return x @ (torch.eye(d, dtype=x.dtype, device=x.device) - 1 / d)


@centering.right
def with_einops(x):
    return x - reduce(x, "... d -> ... 1", "mean")


@centering.right
def in_float64(x):
    wide = x.double()
    return (wide - wide.mean(-1).unsqueeze(-1)).to(x.dtype)


class _Centering(torch.nn.Module):
    """A module stands for a function, and its result may require grad."""

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        return (x - x.mean(dim=-1, keepdim=True)) * self.one.to(x)


centering.right(_Centering())

# 00.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

splitting = Exercise("00.2", difficulty=2, minutes=10)


@splitting.oracle
def split_heads(x: Float[Tensor, "batch pos d_model"], n_heads: int) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Each row cut into n_heads pieces of equal length, head 0's numbers first."""
    return rearrange(x, "batch pos (n_heads d_head) -> batch pos n_heads d_head", n_heads=n_heads)


@splitting.on_reference
def _(cache, layer):
    """The model's queries, laid flat as its projection gives them."""
    q = cache[f"blocks.{layer}.attn.hook_q"]
    return (q.flatten(-2), q.shape[-2]), q


@splitting.fresh
def _(draw):
    n_heads = draw.size("n_heads")
    draw.fix(d_model=n_heads * draw.size("d_head"))
    return draw.normal("batch pos d_model"), n_heads


@splitting.special("on as many positions as heads")
def _(draw):
    return draw.normal("2 4 12"), 4


splitting.hints(
    "A row holds d_model numbers: head 0's first, then head 1's, and so on. How long is each head's piece?",
    "Cutting an axis in two does not move any number: reshape does it when the new axes stand where the old one stood.",
    "d_head = d_model // n_heads. The new shape is batch, pos, n_heads, d_head, in this order.",
    "`x.reshape(*x.shape[:2], …, …)`",
)


@splitting.wrong(
    "heads_vary_fastest",
    "The heads are cut out in strides, every n_heads-th number to a head: head 0 gets the row's first d_head numbers, "
    "head 1 the next d_head.",
)
def _(x, n_heads):
    return rearrange(x, "batch pos (d_head n_heads) -> batch pos n_heads d_head", n_heads=n_heads)


@splitting.wrong(
    "reshaped_to_heads_first",
    "reshape to [batch, n_heads, pos, d_head] does not move axes, it deals the numbers out anew, so that positions and "
    "heads are mixed up. Cut the last axis in two and leave pos where it is.",
)
def _(x, n_heads):
    return x.reshape(x.shape[0], n_heads, x.shape[1], -1)


@splitting.wrong(
    "reshaped_and_moved",
    "reshape to [batch, n_heads, pos, d_head] mixes positions and heads up, and moving the axes afterwards does not "
    "undo it. Cut the last axis in two and leave pos where it is.",
)
def _(x, n_heads):
    return x.reshape(x.shape[0], n_heads, x.shape[1], -1).transpose(1, 2)


@splitting.wrong(
    "transposed",
    "The heads are cut out rightly, but the head axis stands before pos: the order wanted is batch, pos, n_heads, "
    "d_head.",
)
def _(x, n_heads):
    return split_heads(x, n_heads).transpose(1, 2)


@splitting.wrong(
    "lengths_swapped",
    "The two new lengths are swapped: the row is cut into pieces of n_heads numbers. There are n_heads pieces of "
    "d_head.",
)
def _(x, n_heads):
    return x.unflatten(-1, (-1, n_heads))


@splitting.wrong(
    "heads_last",
    "The heads stand on the last axis: the order wanted is batch, pos, n_heads, d_head.",
)
def _(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1), -1)


@splitting.wrong(
    "first_head_only",
    "Only head 0 is there: all n_heads pieces of the row are wanted, on an axis of their own.",
)
def _(x, n_heads):
    return x[..., : x.shape[-1] // n_heads].unsqueeze(2)


@splitting.right
def with_reshape(x, n_heads):
    batch, pos, d_model = x.shape
    return x.reshape(batch, pos, n_heads, d_model // n_heads)


@splitting.right
def pieces_stacked(x, n_heads):
    return torch.stack(x.split(x.shape[-1] // n_heads, dim=-1), dim=2)


@splitting.right
def number_by_number(x, n_heads):
    batch, pos, d_model = x.shape
    d_head = d_model // n_heads
    out = torch.empty(batch, pos, n_heads, d_head, dtype=x.dtype, device=x.device)
    for i in range(d_model):
        out[:, :, i // d_head, i % d_head] = x[:, :, i]
    return out


@splitting.right
def with_a_grid_of_indices(x, n_heads):
    return x[..., torch.arange(x.shape[-1], device=x.device).view(n_heads, -1)]


# 00.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

merging = Exercise("00.3", difficulty=2, minutes=5)


@merging.oracle
def merge_heads(x: Float[Tensor, "batch pos n_heads d_head"]) -> Float[Tensor, "batch pos d_model"]:
    """The heads of each position laid one after the other: what split_heads took apart."""
    return rearrange(x, "batch pos n_heads d_head -> batch pos (n_heads d_head)")


@merging.on_reference
def _(cache, layer):
    return (cache[f"blocks.{layer}.attn.hook_z"],), None


@merging.fresh
def _(draw):
    return (draw.normal("batch pos n_heads d_head"),)


@merging.prop("undoes_split_heads")
def _(answer, draw):
    x = draw.normal("2 3 12")
    back = answer(split_heads(x, 4))
    return None if torch.equal(back, x) else "merge_heads(split_heads(x, 4)) is not x again."


merging.hints(
    "Two axes are to become one. Which of them should change slowest along the long row?",
    "Head 0's numbers come first, all of them, then head 1's: so the head axis is the outer one.",
    "reshape joins neighboring axes, the left one outermost. Here the two stand in the right order already.",
    "`x.reshape(*x.shape[:2], …)`",
)


@merging.wrong(
    "d_head_outermost",
    "The heads are interleaved: head 0's first number, head 1's first number, and so on. All of head 0's numbers come "
    "first, then all of head 1's.",
)
def _(x):
    return x.transpose(-1, -2).flatten(-2)


@merging.wrong(
    "moved_then_merged",
    "The head axis was moved in front of pos and the numbers were then dealt out over batch, pos, d_model: positions "
    "and heads are mixed up. Merge n_heads and d_head while they stand side by side.",
)
def _(x):
    batch, pos, n_heads, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, pos, n_heads * d_head)


@merging.wrong(
    "heads_summed",
    "The heads are added up: they are wanted side by side, n_heads · d_head numbers in a row.",
)
def _(x):
    return x.sum(2)


@merging.wrong(
    "heads_averaged",
    "The heads are averaged: they are wanted side by side, n_heads · d_head numbers in a row.",
)
def _(x):
    return x.mean(2)


@merging.wrong(
    "merged_with_pos",
    "pos and n_heads are merged: the two axes to merge are the last two, n_heads and d_head.",
)
def _(x):
    return x.flatten(1, 2)


@merging.wrong(
    "heads_behind_each_other_along_pos",
    "The heads are laid one after the other along pos: lay them side by side along the last axis.",
)
def _(x):
    return torch.cat(x.unbind(2), dim=1)


@merging.wrong("everything_flat", "Too much is merged: batch and pos stay, only the last two axes become one.")
def _(x):
    return x.flatten()


@merging.wrong("batch_merged_too", "batch and pos are merged too: they stay, only the last two axes become one.")
def _(x):
    return x.reshape(-1, x.shape[-2] * x.shape[-1])


@merging.wrong("heads_in_reverse_order", "The heads stand in reverse order: head 0 comes first.")
def _(x):
    return x.flip(2).flatten(-2)


@merging.right
def with_reshape(x):
    return x.reshape(x.shape[0], x.shape[1], -1)


@merging.right
def side_by_side(x):
    return torch.cat([x[:, :, head] for head in range(x.shape[2])], dim=-1)


@merging.right
def number_by_number(x):
    batch, pos, n_heads, d_head = x.shape
    out = x.new_zeros(batch, pos, n_heads * d_head)
    for i in range(n_heads * d_head):
        out[..., i] = x[..., i // d_head, i % d_head]
    return out


class _Merging(torch.nn.Module):
    """A module stands for a function."""

    def forward(self, x):
        return torch.nn.Flatten(2)(x)


merging.right(_Merging())

# 00.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

pairs = Exercise("00.4", difficulty=2, minutes=10)


@pairs.oracle
def pairwise_dots(
    q: Float[Tensor, "batch query_pos d"], k: Float[Tensor, "batch key_pos d"]
) -> Float[Tensor, "batch query_pos key_pos"]:
    """The dot product of every row of q with every row of k, within each entry of the batch."""
    return einsum(q, k, "batch query_pos d, batch key_pos d -> batch query_pos key_pos")


@pairs.on_reference
def _(cache, layer):
    """One head's queries and keys."""
    attn = f"blocks.{layer}.attn"
    return (cache[f"{attn}.hook_q"][:, :, 0], cache[f"{attn}.hook_k"][:, :, 0]), None


@pairs.fresh
def _(draw):
    return draw.normal("batch query_pos d"), draw.normal("batch key_pos d")


pairs.hints(
    "The result has one number for each pair (row of q, row of k). Which axis of q and k disappears?",
    "In einsum, an axis that is left out on the right is summed. query_pos and key_pos are different axes: give them "
    "different names.",
    "As a product of matrices it is q times k with its last two axes swapped; the batch axis stays in front.",
    '`einsum(q, k, "batch query_pos d, batch key_pos d -> …")`',
)


@pairs.wrong("transposed", "Rows and columns are swapped: row i, column j belongs to row i of q and row j of k.")
def _(q, k):
    return pairwise_dots(k, q)


@pairs.wrong(
    "keys_of_the_whole_batch",
    "Each row of q meets the rows of k of the whole batch, added up: keep the batch axis, so that entry 0 meets entry "
    "0.",
)
def _(q, k):
    return torch.einsum("bqd,ckd->bqk", q, k)


@pairs.wrong(
    "first_entry_for_all",
    "Every entry of the batch uses the first entry's k: entry 1 of q belongs with entry 1 of k.",
)
def _(q, k):
    return q @ k[0].T


@pairs.wrong(
    "every_entry_with_every_entry",
    "Every entry of the batch is paired with every other one: give both batch axes the same name, so that entry 0 "
    "meets only entry 0.",
)
def _(q, k):
    return torch.einsum("bqd,ckd->bcqk", q, k)


@pairs.wrong(
    "only_equal_positions",
    "Only rows of the same number are paired, i with i: every row of q is wanted with every row of k.",
)
def _(q, k):
    return (q * k).sum(-1)


@pairs.wrong(
    "k_not_transposed",
    "q is multiplied by k as it stands: a matrix product runs over rows of k, so its last two axes have to be swapped.",
)
def _(q, k):
    return q @ k


@pairs.wrong("not_summed", "The products are there, but not added up: a dot product sums over d.")
def _(q, k):
    return q[:, :, None] * k[:, None]


@pairs.wrong(
    "scaled",
    "The dot products are divided by √d: that comes in chapter 01; here they are wanted as they are.",
)
def _(q, k):
    return pairwise_dots(q, k) / q.shape[-1] ** 0.5


@pairs.wrong("cosines", "The rows are divided by their lengths, which gives cosines: plain dot products are wanted.")
def _(q, k):
    return pairwise_dots(q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True))


@pairs.wrong(
    "one_name_for_both_positions",
    "Both position axes have the same name: einsum wants each name only once on the right, and query_pos and key_pos "
    "are two axes. Give them two names.",
)
def _(q, k):
    return einsum(q, k, "batch pos d, batch pos d -> batch pos pos")


@pairs.right
def with_matmul(q, k):
    return q @ k.transpose(-1, -2)


@pairs.right
def with_loops(q, k):
    out = torch.zeros(q.shape[0], q.shape[1], k.shape[1], dtype=q.dtype, device=q.device)
    for i in range(q.shape[1]):
        for j in range(k.shape[1]):
            out[:, i, j] = (q[:, i] * k[:, j]).sum(-1)
    return out


@pairs.right
def spread_and_summed(q, k):
    return (q[:, :, None] * k[:, None]).sum(-1)


@pairs.right
def in_float64(q, k):
    return torch.bmm(q.double(), k.double().mT).to(q.dtype)


@pairs.right
def entry_by_entry(q, k):
    return torch.stack([one @ other.T for one, other in zip(q, k, strict=True)])


# 00.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

picking = Exercise("00.5", difficulty=3, minutes=10)


@picking.oracle
def pick(values: Float[Tensor, "batch pos d_vocab"], index: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos"]:
    """values[b, p, index[b, p]] for every b and p."""
    return values.gather(-1, index[..., None]).squeeze(-1)


@picking.on_reference
def _(cache):
    """The model's logits for the text's own tokens, and in each place the column of the token that stands there."""
    few = cache.text_ids
    return (cache["logits"][:, :, few], torch.searchsorted(few, cache.tokens)), None


@picking.fresh
def _(draw):
    return draw.normal("batch pos d_vocab"), draw.ids("batch pos", draw.size("d_vocab"))


@picking.special("where every index is also a position and a row of the batch")
def _(draw):
    """So that taking the wrong axis does not fail with an error."""
    return draw.normal("3 4 3"), torch.tensor([[0, 2, 1, 0], [2, 1, 1, 0], [1, 0, 2, 2]], device=draw.device)


picking.hints(
    "For batch 0, position 0 you want values[0, 0, index[0, 0]]. Which axis does index choose from, and which two go "
    "along?",
    "torch.gather(values, dim, …) looks up along one axis, but wants an index with as many axes as values has.",
    "Give index a last axis of length 1, gather along the last axis, and take that axis away again.",
    "`values.gather(-1, index[..., None])…`",
)


@picking.wrong(
    "along_pos",
    "index chooses among positions: it chooses among the d_vocab entries, the last axis.",
)
def _(values, index):
    return values.gather(1, index[..., None]).squeeze(-1)


@picking.wrong(
    "along_batch",
    "index chooses among the entries of the batch: it chooses among the d_vocab entries, the last axis.",
)
def _(values, index):
    return values.gather(0, index[..., None]).squeeze(-1)


@picking.wrong(
    "first_rows_indices_for_all",
    "Every entry of the batch uses the first entry's indices: entry 1 has indices of its own, index[1].",
)
def _(values, index):
    return values.gather(-1, index[:1, :, None].expand(values.shape[0], -1, 1)).squeeze(-1)


@picking.wrong(
    "keeps_a_last_axis",
    "The values are right, but a last axis of length 1 is left over: squeeze(-1) takes it away.",
)
def _(values, index):
    return values.gather(-1, index[..., None])


@picking.wrong(
    "squeezes_every_axis",
    "squeeze() without a number takes away every axis of length 1, the batch axis too when there is one text: "
    "squeeze(-1) takes only the last.",
)
def _(values, index):
    return values.gather(-1, index[..., None]).squeeze()


@picking.wrong(
    "batch_with_batch",
    "Every entry of the batch is read with every entry's indices: the first index has to be a column of batch "
    "numbers, so that it goes along with index row by row.",
)
def _(values, index):
    return values[:, torch.arange(values.shape[1], device=values.device), index]


@picking.wrong(
    "all_columns_asked_for",
    "Each position is read with every position's index: one number a position is wanted, its own.",
)
def _(values, index):
    return values.gather(-1, index[:, None].expand(-1, values.shape[1], -1))


@picking.wrong(
    "index_lacks_an_axis",
    "gather wants an index with as many axes as values has: give index a last axis of length 1, and take it away again "
    "from the result.",
)
def _(values, index):
    return values.gather(-1, index)


@picking.wrong(
    "every_index_at_every_position",
    "Every position of every text is read at every index there is. With index in the last place alone, the other axes "
    "do not go along with it: they need indices of their own.",
)
def _(values, index):
    return values[:, :, index]


@picking.wrong("largest", "That is the largest value at each position: the one that index points to is wanted.")
def _(values, index):
    return values.amax(-1)


@picking.wrong("one_column_further", "The column read is index + 1: columns count from 0, as index does.")
def _(values, index):
    return values.gather(-1, ((index + 1) % values.shape[-1])[..., None]).squeeze(-1)


@picking.wrong(
    "index_in_the_first_place",
    "values[index] looks up on the first axis, the batch: index chooses on the last axis, and batch and position go "
    "along.",
)
def _(values, index):
    return values[index]


@picking.right
def with_index_grids(values, index):
    batch, pos = (torch.arange(n, device=values.device) for n in index.shape)
    return values[batch[:, None], pos, index]


@picking.right
def with_one_hot(values, index):
    chosen = torch.nn.functional.one_hot(index, values.shape[-1]).to(values.dtype)
    return (values * chosen).sum(-1)


@picking.right
def with_loops(values, index):
    rows = [[values[b, p, index[b, p]] for p in range(index.shape[1])] for b in range(index.shape[0])]
    return torch.stack([torch.stack(row) for row in rows])


@picking.right
def along_a_flat_list(values, index):
    flat = values.reshape(-1, values.shape[-1])
    return flat[torch.arange(len(flat), device=flat.device), index.reshape(-1)].reshape(index.shape)


@picking.right
def with_take_along_dim(values, index):
    return torch.take_along_dim(values, index.unsqueeze(2), dim=2)[:, :, 0]


# 00.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

grid = Exercise("00.6", difficulty=1, minutes=5)


@grid.oracle
def causal_grid(n: int) -> Bool[Tensor, "n n"]:
    """Row i is True in columns 0 … i: what position i may look at."""
    return torch.ones(n, n, dtype=torch.bool).tril()


@grid.fresh
def _(draw):
    return (draw.size("n"),)


@grid.special("for n = 1")
def _(draw):
    return (1,)


@grid.special("for n = 8")
def _(draw):
    return (8,)


@grid.special("for n = 150, a longer text than any before")
def _(draw):
    return (150,)


@grid.special("for n = 300")
def _(draw):
    return (300,)  # more would take a loop over all cells seconds


grid.hints(
    "Draw it for n = 3. Which cells are True in row 0? In row 2?",
    "Cell (i, j) is True where j ≤ i. Compare a column of row numbers with a row of column numbers, or cut a triangle "
    "out of a grid of ones.",
    "torch.tril keeps the lower triangle with the diagonal. Make the grid of dtype torch.bool.",
    "`torch.ones(n, n, dtype=…).tril()`, or `torch.arange(n)[:, None] >= torch.arange(n)[…]`",
)


@grid.wrong("diagonal_lost", "The diagonal is False: position i may look at itself, so column i belongs to row i.")
def _(n):
    return torch.ones(n, n, dtype=torch.bool).tril(-1)


@grid.wrong(
    "transposed",
    "The triangle is the upper one: row i is True in columns 0 to i, which lie at and below the diagonal.",
)
def _(n):
    return torch.ones(n, n, dtype=torch.bool).triu()


@grid.wrong(
    "true_where_hidden",
    "True and False are swapped: this grid marks what is hidden, the columns after i. Wanted is what may be seen.",
)
def _(n):
    return torch.ones(n, n, dtype=torch.bool).triu(1)


@grid.wrong("one_column_too_many", "Row i reaches one column too far, to i + 1: it ends at column i.")
def _(n):
    return torch.ones(n, n, dtype=torch.bool).tril(1)


@grid.wrong(
    "floats",
    "The pattern is right, but it is made of floats, 1.0 and 0.0: True and False are wanted, dtype torch.bool.",
)
def _(n):
    return torch.ones(n, n).tril()


@grid.wrong(
    "whole_numbers",
    "The pattern is right, but it is made of whole numbers, 1 and 0: True and False are wanted, dtype torch.bool.",
)
def _(n):
    return torch.ones(n, n, dtype=torch.int64).tril()


@grid.wrong(
    "minus_infinity",
    "This is a mask to add to scores, 0 and −∞: here a grid of True and False is wanted, True where one may look.",
)
def _(n):
    return torch.full((n, n), -torch.inf).triu(1)


def _cut_from(size: int) -> Callable:
    return lambda n: torch.ones(size, size, dtype=torch.bool).tril()[:n, :n]


for _size in (128, 256):
    grid.wrong(
        f"fixed_size_{_size}",
        "The grid is cut out of one of a fixed size: make it from n, so that any length works.",
    )(_cut_from(_size))


@grid.wrong("one_row", "This is one row: n rows are wanted, row i for position i.")
def _(n):
    return torch.ones(n, dtype=torch.bool)


@grid.right
def comparing_numbers(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


@grid.right
def with_loops(n):
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)])


@grid.right
def running_sum(n):
    return torch.eye(n).cumsum(0).bool()


@grid.right
def row_by_row(n):
    out = torch.zeros((n, n), dtype=torch.bool)
    for i in range(n):
        out[i, : i + 1] = True
    return out
