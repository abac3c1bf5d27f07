"""Odd in what they do to their inputs."""

import ctypes
import math

import torch
from odd_table import AlwaysEqual, add, after, emptied, refuse, right
from torch import nn


def with_ctypes(q, k):
    ctypes.memset(q.data_ptr(), 0, 8)


def one_step_in_place(q, k):
    with torch.no_grad():
        q += 1e-3


CHANGES = {
    "mul_": lambda q, k: q.mul_(2),
    "zero_": lambda q, k: q.zero_(),
    "one cell": lambda q, k: q[0, 0, 0].fill_(9),
    "plus": one_step_in_place,
    "the second": lambda q, k: k.neg_(),
    "resize_": lambda q, k: q.resize_(0),
    "larger": lambda q, k: q.resize_(q.numel() * 4),
    "set_": lambda q, k: q.set_(torch.zeros(3)),
    "set_ to nothing": lambda q, k: q.set_(),
    "data": lambda q, k: setattr(q, "data", torch.zeros(2)),
    "data in place": lambda q, k: q.data.add_(1),
    "data of another dtype": lambda q, k: setattr(q, "data", q.data.long()),
    "transpose_": lambda q, k: q.transpose_(0, 1),
    "squeeze_": lambda q, k: q.unsqueeze_(0),
    "as_strided_": lambda q, k: q.as_strided_((1,), (1,)),
    "storage away": lambda q, k: emptied(q),
    "storage cut": lambda q, k: emptied(q, 4),
    "storage filled": lambda q, k: q.untyped_storage().fill_(7),
    "numpy": lambda q, k: q.view(torch.uint8).numpy().fill(3),
    "swap": lambda q, k: torch.utils.swap_tensors(q, torch.zeros(2)),
    "class": lambda q, k: setattr(q, "__class__", AlwaysEqual),
    "class and values": lambda q, k: (q.zero_(), setattr(q, "__class__", AlwaysEqual)),
    "copy_": lambda q, k: q.copy_(q.flip(-1)),
    "out": lambda q, k: torch.add(q, 1, out=q),
    "index_put_": lambda q, k: q.index_put_((torch.tensor(0),), q[0] + 1),
    "foreach": lambda q, k: torch._foreach_mul_([q], 3.0),
    "init": lambda q, k: nn.init.normal_(q.detach()),
    "ctypes": with_ctypes,
    "to nan": lambda q, k: q.fill_(math.nan),
    "clamp_": lambda q, k: q.clamp_(0, 0.1),
}
for _name, _change in CHANGES.items():
    add(f"changes by {_name}", after(_change), says="input")
for _name, _change in {
    "requires_grad_": lambda q, k: q.requires_grad_(),
    "an attribute": lambda q, k: setattr(q, "seen", True),
    "share_memory_": lambda q, k: q.share_memory_(),
    "backward": lambda q, k: right(q.requires_grad_(), k).sum().backward(),
    "a hook": lambda q, k: q.requires_grad_().register_hook(refuse),
    "a change undone": lambda q, k: (q.mul_(2), q.div_(2)),
    "deleting names": lambda q, k: locals().clear(),
}.items():
    add(f"leaves alone by {_name}", after(_change), passes=True)
