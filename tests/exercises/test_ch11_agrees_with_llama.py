"""Chapter 11's oracles are the arithmetic of the transformers library's Llama, and of SmolLM2 where it is prepared."""

import pytest
import torch

from utils.exercises import ch11
from utils.grading import check
from utils.reference.modern import converted_folder, is_converted


def close(a, b, tolerance=1e-4):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def llama():
    """Two layers of random weights: 6 query heads, 3 key heads, and gains that are not 1."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = dict(vocab_size=31, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3)
    rope = {"rope_type": "default", "rope_theta": 700.0}
    config = LlamaConfig(
        **sizes, intermediate_size=40, head_dim=4, rms_norm_eps=0.01, rope_parameters=rope, attn_implementation="eager"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = LlamaForCausalLM(config).eval().requires_grad_(False)
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name else 0.0, 0.3)
    return model


def our_block(layer, config):
    """A layer's weights by the names of chapter 11."""
    attn, mlp, found = layer.self_attn, layer.mlp, {}
    for letter, heads in (("q", config.num_attention_heads), ("k", config.num_key_value_heads)):
        weight = getattr(attn, f"{letter}_proj").weight  # [n_heads·d_head d_model]
        found[f"attn.W_{letter.upper()}"] = weight.unflatten(0, (heads, -1)).mT
    found["attn.W_V"] = attn.v_proj.weight.unflatten(0, (config.num_key_value_heads, -1)).mT
    found["attn.W_O"] = attn.o_proj.weight.T.unflatten(0, (config.num_attention_heads, -1))
    found |= {"ln1.w": layer.input_layernorm.weight, "ln2.w": layer.post_attention_layernorm.weight}
    found |= {
        "mlp.W_gate": mlp.gate_proj.weight.T,
        "mlp.W_in": mlp.up_proj.weight.T,
        "mlp.W_out": mlp.down_proj.weight.T,
    }
    return found | {"eps": config.rms_norm_eps, "theta": config.rope_parameters["rope_theta"]}


def test_the_norm(llama):
    module = llama.model.layers[0].input_layernorm
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(1)) + 0.5
    close(ch11.rms_norm(x, module.weight, 0.01), module(x))


def test_the_rotation(llama):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    generator = torch.Generator().manual_seed(2)
    q, k = torch.randn(2, 5, 6, 4, generator=generator), torch.randn(2, 5, 3, 4, generator=generator)
    positions = torch.tensor([0, 3, 4, 11, 90])
    cos, sin = llama.model.rotary_emb(q, positions[None])
    theirs = apply_rotary_pos_emb(q.transpose(1, 2), k.transpose(1, 2), cos, sin)
    for x, turned in zip((q, k), theirs, strict=True):
        close(ch11.rope(x, positions, 700.0), turned.transpose(1, 2))


def test_the_shared_key_heads():
    from transformers.models.llama.modeling_llama import repeat_kv

    k = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(3))
    assert torch.equal(ch11.repeat_kv(k, 4), repeat_kv(k.transpose(1, 2), 4).transpose(1, 2))


def test_the_mlp(llama):
    block, module = our_block(llama.model.layers[1], llama.config), llama.model.layers[1].mlp
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(4))
    close(ch11.swiglu(x, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"]), module(x))


def streams_of(model, tokens, positions):
    """What each layer is given, and what the last one gives, before the final norm."""
    streams, hooks = [], []
    for layer in model.model.layers:
        hooks.append(layer.register_forward_pre_hook(lambda module, args: streams.append(args[0])))
    hooks.append(model.model.norm.register_forward_pre_hook(lambda module, args: streams.append(args[0])))
    with torch.no_grad():
        model(tokens, position_ids=positions[None].expand(len(tokens), -1))
    for hook in hooks:
        hook.remove()
    return streams


def test_the_block(llama):
    tokens = torch.randint(31, (2, 7), generator=torch.Generator().manual_seed(6))
    positions = torch.arange(7) + 4
    streams = streams_of(llama, tokens, positions)
    for layer, before, after in zip(llama.model.layers, streams[:-1], streams[1:], strict=True):
        close(ch11.llama_block(before, our_block(layer, llama.config), positions), after)


@pytest.mark.slow
@pytest.mark.skipif(not is_converted(), reason="SmolLM2 is not prepared: run `book reference smollm2` once")
def test_the_block_is_smollm2s():
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        converted_folder(), dtype=torch.float32, attn_implementation="eager", local_files_only=True
    )
    model.eval().requires_grad_(False)
    tokens = torch.tensor([[504, 2644, 6397, 335, 260], [31, 2050, 314, 28, 284]])
    streams = streams_of(model, tokens, torch.arange(5))
    for i in (0, 14, model.config.num_hidden_layers - 1):
        block = our_block(model.model.layers[i], model.config)
        ours, size = ch11.llama_block(streams[i], block, torch.arange(5)), float(streams[i + 1].abs().max())
        assert float((ours - streams[i + 1]).abs().max()) < 1e-5 * size


@pytest.mark.parametrize("call", [torch.nn.functional.rms_norm, torch.rms_norm, "module"])
def test_a_norm_in_one_call_is_not_the_exercise(call):
    def answer(x, w, eps):
        if call == "module":
            norm = torch.nn.RMSNorm(x.shape[-1], eps, dtype=x.dtype)
            norm.weight.data.copy_(w)
            return norm(x)
        return call(x, x.shape[-1:], w, eps)

    assert check("11.1", answer).stage == "allowed"
