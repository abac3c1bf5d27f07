"""The one place where a Hugging Face model becomes a `TransformerBridge`.

Every kind of reference ends here, so they all have the same hooks, the same tokenizer treatment and the plain numbers
of the architecture: no compatibility mode, which would fold LayerNorm and center weights.
"""

from pathlib import Path

import torch

from utils.reference.quiet import quiet_and_offline


def bridge_of(hf_model, tokenizer_folder: Path, device: torch.device):
    """Wrap `hf_model`, moved to `device` and frozen, with the tokenizer in `tokenizer_folder`."""
    with quiet_and_offline():
        from transformer_lens.model_bridge import TransformerBridge

        hf_model.to(device)
        bridge = TransformerBridge.boot_transformers(str(tokenizer_folder), hf_model=hf_model, device=device)
        return bridge.eval().requires_grad_(False)


def gpt2_from(config, state: dict[str, torch.Tensor]):
    """GPT-2 of `config` (a `GPT2Config`) holding the tensors in `state`.

    Raises:
        ValueError: a tensor is missing or has another shape than `config` asks for.
    """
    from transformers import GPT2LMHeadModel

    with quiet_and_offline():
        model, report = GPT2LMHeadModel.from_pretrained(
            None,
            config=config,
            state_dict=state,
            dtype=torch.float32,
            attn_implementation="eager",
            ignore_mismatched_sizes=True,  # reported below, in one line
            output_loading_info=True,
        )
    if wrong := sorted(report["missing_keys"]) + sorted(name for name, *_ in report["mismatched_keys"]):
        raise ValueError(f"{wrong[0]} is missing or has another shape than {config.model_type}'s configuration says")
    return model
