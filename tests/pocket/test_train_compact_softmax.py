"""The compact table is the full model: one shared row, counted with its multiplicity, is exact."""

import math

import torch
from torch.nn import functional as F

from utils.pocket.model import Pocket, Shape, init_weights

SHAPE = Shape(n_used=11, n_ctx=16, d_model=16, n_heads=2, n_layers=2, d_vocab=50)


def make(seed=0):
    model = Pocket(SHAPE).double()
    model.log_multiplicity[-1] = math.log(SHAPE.n_unused)  # in double precision too
    init_weights(model, torch.Generator().manual_seed(seed))
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)).double()
    return model


def test_loss_is_that_of_the_full_softmax():
    model = make()
    rows = torch.randint(0, SHAPE.n_used, (3, 9), generator=torch.Generator().manual_seed(2))
    compact = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
    table = torch.cat([model.W_E[:-1], model.W_E[-1:].expand(SHAPE.n_unused, -1)])  # [d_vocab d_model]
    final = model.ln_final(model.residuals(rows[:, :-1])[0][-1])
    full = F.cross_entropy((final @ table.T).flatten(0, 1), rows[:, 1:].flatten())
    assert torch.allclose(compact, full, rtol=1e-12, atol=0)


def test_gradients_are_those_of_the_full_softmax_with_tied_rows():
    model = make()
    rows = torch.randint(0, SHAPE.n_used, (2, 7), generator=torch.Generator().manual_seed(3))
    compact = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
    table = torch.cat([model.W_E[:-1], model.W_E[-1:].expand(SHAPE.n_unused, -1)])
    final = model.ln_final(model.residuals(rows[:, :-1])[0][-1])
    full = F.cross_entropy((final @ table.T).flatten(0, 1), rows[:, 1:].flatten())
    parameters = list(model.parameters())
    for ours, theirs in zip(
        torch.autograd.grad(compact, parameters), torch.autograd.grad(full, parameters), strict=True
    ):
        assert torch.allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_attention_looks_back_only():
    model = make()
    rows = torch.randint(0, SHAPE.n_used, (1, 8), generator=torch.Generator().manual_seed(4))
    changed = rows.clone()
    changed[0, 5] = (rows[0, 5] + 1) % SHAPE.n_used
    before, after = model(rows), model(changed)
    assert torch.equal(before[0, :5], after[0, :5]) and not torch.allclose(before[0, 5:], after[0, 5:])
