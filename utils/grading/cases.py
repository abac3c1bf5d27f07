"""The situations in which an answer is tried: the reference model's activations first, then fresh random inputs."""

import inspect
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Exercise, Known
from utils.exercises.draw import VARIATIONS, Draw, variation
from utils.grading.trees import leaves

BY_ORACLE = object()
# What the first two variations are called where there is no tensor, and so no shape to speak of.
PLAIN = {"fresh": "on fresh random inputs", "again": "on other random inputs"}


@dataclass(frozen=True)
class Case:
    """One call of the answer. `expected` is a hook's value or BY_ORACLE; `visible` says which cells count.

    `key` tells it from every other case of a kernel; cases with the same one are alike.
    """

    stage: str
    where: str
    args: tuple
    expected: Any = BY_ORACLE
    visible: Tensor | None = None
    key: tuple = ()


def reference_cases(exercise: Exercise, cache: Any) -> Iterator[Case]:
    """On the model's own activations, at its first and its last layer where the exercise has a layer."""
    for maker in exercise.reference_cases:
        by_layer = "layer" in inspect.signature(maker).parameters
        for layer in dict.fromkeys((0, cache.n_layers - 1)) if by_layer else (None,):
            made = maker(cache, layer) if by_layer else maker(cache)
            for one in made if inspect.isgenerator(made) else (made,):
                args, expected, visible = (*one, None)[:3] if isinstance(one, tuple) else (one, None, None)
                name = cache.name_of(expected)
                where = (
                    "on the reference model's own "
                    f"values{f' ({name})' if name else f' in layer {layer}' if by_layer else ''}"
                )
                yield Case("reference", where, args, BY_ORACLE if expected is None else expected, visible)


def fresh_cases(exercise: Exercise, seed: int, device: torch.device) -> Iterator[Case]:
    """On random inputs: each variation that applies to this exercise, then its own special cases."""
    for maker in exercise.fresh_cases:
        first = Draw(seed, VARIATIONS["fresh"], device)
        args = maker(first)
        names = {} if _has_tensors(args) else PLAIN
        if "fresh" in exercise.vary:
            yield Case("fresh", names.get("fresh", first.how.where), args)
        for how in _variations(exercise, first, args):
            draw = Draw(seed, how, device)
            yield Case("fresh", names.get(how.key, how.where), maker(draw))
    for special in _in_an_order(exercise, seed):
        how = replace(VARIATIONS["fresh"], where=special.where, dtype=getattr(torch, special.dtype))
        made = special.inputs(Draw(seed, how, device))
        if isinstance(made, Known):
            yield Case("reference", special.where, made.args, made.expected)
        else:
            yield Case("fresh", special.where, made)


def _in_an_order(exercise: Exercise, seed: int) -> list:
    """The special cases; where yes or no is asked, in another order for each class: counting calls is no answer.

    In a notebook, whose seed is 0, the order is the declared one.
    """
    specials = list(exercise.special_cases)
    if seed and inspect.signature(exercise.solution).return_annotation is bool:
        random.Random(seed).shuffle(specials)
    return specials


def _has_tensors(args: tuple) -> bool:
    return any(isinstance(leaf, Tensor) and leaf.ndim for _, leaf in leaves(args))


def _variations(exercise: Exercise, first: Draw, args: tuple) -> Iterator:
    """Which variations say something new, judged by what the first draw made."""
    has_tensors = _has_tensors(args)
    for key in exercise.vary:
        if key == "fresh" or (key in ("float64", "bfloat16") and not first.made_floats):
            continue
        if key in ("strided", "square", "ones") and not has_tensors:
            continue
        if key == "ones":
            for axis in first.sizes:
                if axis not in exercise.keep and axis not in first.derived:
                    yield variation("ones", axis)
        else:
            yield VARIATIONS[key]
