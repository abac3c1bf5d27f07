"""One training step: gradients of many small pieces at once, then Muon and AdamW.

A batch is cut into pieces of about a thousand tokens. Each worker thread takes the next piece and computes with a
single core, which keeps a piece's activations in that core's cache and never makes one core wait for another inside
an operation. Gradients are added in the pieces' order, so the result does not depend on the number of workers.

Muon (K. Jordan 2024) moves the matrices that carry what is said, AdamW all else. W_Q and W_K are AdamW's: a head
that finds the previous token needs a few strong directions, and Muon, which moves all directions alike, grows them
slowly. Left out: mixed precision beyond bfloat16 products, and anything over several machines.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from utils.pocket.model import Pocket

MUON = ("W_V", "W_O", "W_in", "W_out")


@dataclass(frozen=True)
class Piece:
    """A few rows of a batch: `weight` is 0 where a prediction is not trained; `kind` counts losses apart."""

    tokens: Int[Tensor, "batch pos_and_one"]
    weight: Float[Tensor, "batch pos"]
    kind: str


class Stepper:
    """Holds the optimizers of a model and the workers that compute its gradients."""

    def __init__(self, model: Pocket, matrix_lr: float, query_key_lr: float, other_lr: float, workers: int):
        self.model = model
        self.parameters = list(model.parameters())
        self.device = self.parameters[0].device
        self.pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        named = list(model.named_parameters())
        groups = [{"params": [p for name, p in named if name.endswith(("W_Q", "W_K"))], "lr": query_key_lr}]
        groups += [{"params": [p for name, p in named if not name.endswith((*MUON, "W_Q", "W_K"))], "lr": other_lr}]
        self.optimizers = [torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0)]
        for block in model.blocks:  # one Muon a layer, so that workers can share them
            part = [p for name, p in block.named_parameters() if name.endswith(MUON)]
            muon = torch.optim.Muon(part, lr=matrix_lr, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
            self.optimizers.append(muon)
        self.peaks = [[group["lr"] for group in optimizer.param_groups] for optimizer in self.optimizers]

    def step(self, pieces: Iterable[Piece], factor: float, max_norm: float = 1.0) -> dict[str, tuple[float, float]]:
        """Update the model once, with every learning rate times `factor`; sums of losses and weights by kind."""
        pieces = list(pieces)
        total = sum(float(piece.weight.sum()) for piece in pieces)
        gradients, sums = None, {}
        results = self.pool.map(self._gradients, pieces, [total] * len(pieces))
        for piece, (part, loss) in zip(pieces, results, strict=True):
            if gradients is None:
                gradients = list(part)
            else:
                torch._foreach_add_(gradients, part)
            before = sums.get(piece.kind, (0.0, 0.0))
            sums[piece.kind] = (before[0] + loss, before[1] + float(piece.weight.sum()))
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        torch._foreach_mul_(gradients, float(max_norm / max(float(norm), max_norm)))
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        list(self.pool.map(self._update, self.optimizers, self.peaks, [factor] * len(self.peaks)))
        return sums

    def state_dict(self) -> dict:
        return {"optimizers": [optimizer.state_dict() for optimizer in self.optimizers]}

    def load_state_dict(self, state: dict) -> None:
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)

    def _gradients(self, piece: Piece, total: float):
        tokens, weight = piece.tokens.to(self.device), piece.weight.to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16):
            logits = self.model(tokens[:, :-1])
        losses = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        loss = (losses * weight.flatten()).sum()
        return torch.autograd.grad(loss / total, self.parameters), float(loss.detach())

    def _update(self, optimizer: torch.optim.Optimizer, peaks: list[float], factor: float) -> None:
        for group, peak in zip(optimizer.param_groups, peaks, strict=True):
            group["lr"] = peak * factor
        optimizer.step()
