# Chapter 04, LayerNorm: the one source of its notebooks in chapters/ and solutions/ (`book build 04`).
# Whatever is said about the model's numbers is computed in the cell that shows it, so that the text stays true on
# another reference.

# %% [markdown] key="title"
# # LayerNorm: every layer reads numbers of the same size
#
# Between the stream and every part that reads it stands a small machine. It knows no words, no positions, and looks
# at one vector at a time. It takes away the vector's mean and divides by its spread. That is nearly all. It looks
# like housekeeping.
#
# In this chapter you take it away and see the model fall silent. Then you build it in four small steps, put it back,
# and find out what it costs: it is the one part of GPT-2 that makes "who said what" hard to answer.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Show** what happens to a deep network, and to this one, without normalization.
# - **Build** LayerNorm from a mean and a variance, and **say** where eps stands and when that matters.
# - **Name** what LayerNorm cannot see: the length of a vector and its mean.
# - **Fold** a gain and a bias into the next weights, and center what a layer writes, with the model unchanged.
# - **Measure** why the division hinders attribution, by freezing the scale.
#
# **Builds on** 00 (axes, `keepdim`) and 03 (the residual stream). **Time**: about an hour and a half.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 04.1 | `ln_scale`: what LayerNorm divides by | 2 | 10 |
# | 04.2 | `ln_normalize`: mean 0 and variance 1 | 2 | 10 |
# | 04.3 | `layer_norm`: with gain and bias | 2 | 10 |
# | 04.4 | `fold_layer_norm`: into the next weights | 4 | 20 |
# | 04.5 | `center_writing`: outputs with mean 0 | 3 | 15 |

# %% key="setup"
import torch
from jaxtyping import Float
from torch import Tensor, tensor

from utils import grade, hint, reference, show, use

model = reference(device="cpu")  # the pocket model; it needs no accelerator
rng = torch.Generator().manual_seed(4)  # every random number of this chapter comes from here

n_layers, d_model, eps = model.cfg.n_layers, model.cfg.d_model, model.cfg.eps
NORMS = [f"blocks.{i}.{name}" for i in range(n_layers) for name in ("ln1", "ln2")] + ["ln_final"]

# %% [markdown] key="which-model"
# The model is the book's **pocket model**: GPT-2's architecture and tokenizer, with 4 layers and a stream of 256
# numbers. GPT-2 small has 12 layers and 768. The LayerNorm is the same, with the same eps. How large the numbers are
# in each place is a fact about one trained model, and is computed here wherever it is said.
#
# To see GPT-2's own, run `book reference gpt2` once in a terminal, write `model = reference("gpt2", device="cpu")` in
# the cell above, and run the chapter again.

# %% [markdown] key="question"
# ## 1 · Take it away
#
# A LayerNorm stands before every attention and every MLP, and one more before the unembedding. The cell below lets
# you put something else in the place of all of them at once. You need not follow how; what counts is the last line:
# each norm gets the stream `x`, its gain `w` and its bias `b`, and gives what the next part will read.


# %% key="norms-replaced" tags=["demo"]
def weights_of(name):
    """The gain and the bias of the norm called `name`: [d_model] each."""
    module = model
    for part in name.split("."):
        module = module[int(part)] if part.isdigit() else getattr(module, part)
    return module.w, module.b


def with_norms(text, norm):
    """The model's logits [batch pos d_vocab] with `norm(x, w, b, name)` in the place of every LayerNorm."""
    read, hooks = {}, []

    def note(x, hook):
        read[hook.name] = x  # the stream, as the norm gets it

    for name in NORMS:

        def replace(out, hook, name=name):
            return norm(read[f"{name}.hook_in"], *weights_of(name), name)

        hooks += [(f"{name}.hook_in", note), (f"{name}.hook_out", replace)]
    return model.run_with_hooks(text, fwd_hooks=hooks)


# %% key="story" tags=["demo"]
story = (
    "Once there lived a brave girl named Anna. Anna had a white kitten. One morning it climbed a tall tree and was stuck. "
    '"Come down!" called Anna, but the'
)


def likeliest(logits):
    """The three likeliest next tokens, each with its probability."""
    best = logits[0, -1].softmax(-1).topk(3)  # [3]
    return [f"{model.to_string(i)!r} {p:.2f}" for i, p in zip(best.indices, best.values, strict=True)]


def about(number):
    """A number with one figure, written out: 1234567 → 1,000,000."""
    return f"{float(f'{number:.1g}'):,.0f}"


columns = ["the norms", "likeliest next token", "second", "third"]
show.table(
    [["as they are", *likeliest(model(story))]],
    columns,
    title="What comes next after '… but the'?",
    note="The number after each token is its probability.",
)

# %% [markdown] key="predict-without" tags=["predict"]
# **Predict.** Now every norm hands on the stream as it is, neither centered nor divided. Gain and bias stay. All
# attention layers and MLPs are the same as before. What will the model say?
#
# - **a**: the same tokens, only less sure;
# - **b**: other tokens that would fit the story too;
# - **c**: nonsense, and it will be sure of it.
#
# Write your guess down first.

# %% key="guess-without" tags=["predict"]
my_guess = "?"  # a, b or c


# %% key="without-norms" tags=["demo"]
def handed_on(x, w, b, name):
    """No normalizing: only gain and bias."""
    return x * w + b


without = with_norms(story, handed_on)
show.table(
    [["as they are", *likeliest(model(story))], ["nothing normalized", *likeliest(without)]],
    columns,
    title="What comes next, with and without the norms",
    note=f"The largest logit at the last position: {model(story)[0, -1].max():.0f} with the norms, "
    f"about {about(without[0, -1].max())} without.",
)

# %% [markdown] key="without-why"
# <details><summary>What you see, and why</summary>
#
# It is **c**. Every matrix in the model was trained on inputs of one size. Given others, it writes numbers of the
# wrong size; the next part reads those, and so on. At the end one logit lies so far above all others that its
# probability rounds to 1.
#
# </details>
#
# That is the question of this chapter: **how can subtracting a mean and dividing by a spread matter so much, and what
# does it cost us who want to understand the model?**

# %% [markdown] key="depth" covers="N18" terms="normalization"
# ## 2 · Why sizes run away
#
# It is not special to this model. Take a network as simple as possible: a stream $x$ of 64 numbers, and layers that
# read it and add to it, $x \leftarrow x + W_2\,\text{relu}(W_1 x)$, with random weights that write about as much as
# they read. Then a layer's output is as long as its input, and the stream grows by the same *factor* at each layer.
#
# With a normalized reading, $x \leftarrow x + W_2\,\text{relu}(W_1 \hat x)$ where $\hat x$ has spread 1, each layer
# writes about the same amount, whatever the stream's length.


# %% key="depth-measured" tags=["demo"]
def spreads(depth, normalized, d=64):
    """The spread of a random network's stream after each layer: depth + 1 numbers."""
    x = torch.randn(256, d, generator=rng)  # [row d]
    found = [x.std().item()]
    for _ in range(depth):
        W_1, W_2 = torch.randn(2, d, d, generator=rng) / d**0.5
        read = torch.nn.functional.layer_norm(x, (d,)) if normalized else x
        x = x + torch.relu(read @ W_1) @ (2**0.5 * W_2)  # √2, because relu loses half of the squares
        found.append(x.std().item())
    return found


depth = 48
plain, normed = spreads(depth, False), spreads(depth, True)
show.lines(
    list(range(depth + 1)),
    {"without normalization": plain, "each layer reads a normalized stream": normed},
    title="How a random stream grows with depth",
    note=f"After {depth} layers: about {about(plain[-1])} times its first size without, {normed[-1]:.0f} with.",
    x_name="layer",
    y_name="spread of the stream (logarithmic)",
    log_y=True,
)

# %% [markdown] key="depth-why"
# Variances of independent parts add. Without normalization each layer adds as much variance as there is, so that it
# doubles: after 48 layers the spread is about $\sqrt{2^{48}} = 2^{24}$, some 17 million; the weights drawn here come
# near to it. With normalization each layer adds 1, so the variance is about 49 and the spread 7. (With smaller weights
# the factor is nearer to 1, and training would have to keep it there, in every layer, at every step.)
#
# And in the trained model? This is the spread of each token's vector where each norm reads it.

# %% key="sizes" tags=["demo"]
tokens = model.to_str_tokens(story)
_, cache = model.run_with_cache(story)
spread = torch.stack([cache[f"{name}.hook_in"][0].std(-1) for name in NORMS])  # [norm pos]
short_names = [name.replace("blocks.", "").replace("ln_final", "final") for name in NORMS]

show.lines(
    short_names,
    {"first token (BOS)": spread[:, 0], "mean of the other tokens": spread[:, 1:].mean(1)},
    title="How large the stream is where each norm reads it",
    note=f"Of all tokens and places the smallest spread is {spread.min():.3g}, the largest {spread.max():.3g}.",
    x_name="norm (layer.norm)",
    y_name="spread of the vector (logarithmic)",
    log_y=True,
)

# %% [markdown] key="places" covers="N18"
# Parts that read such a stream would each have to cope with another size, and with the sizes of different tokens at
# once. So each part gets its own normalized copy. The stream itself is never normalized: norms stand on the way
# *out* of it.

# %% key="places-shown" tags=["demo"]
show.stream(
    [
        ("LayerNorm → attention", "reads a normalized copy, adds its output"),
        ("LayerNorm → MLP", "reads a normalized copy, adds its output"),
    ],
    start=("stream before a block", "d_model numbers for each token"),
    end=("stream after it", "at the very end: LayerNorm → unembedding"),
    title="Where the norms stand",
    note=f"Two in each block and a final one: this model has 2 · {n_layers} + 1 = {len(NORMS)}.",
)

# %% [markdown] key="places-history"
# The first transformer (2017) had its norms *in* the stream, after each addition. GPT-2 (2019) moved them to the
# input of each part, and added the final one. So a straight way leads from the embedding to the final norm, on which
# nothing is rescaled.

# %% [markdown] key="by-hand" covers="N18" terms="LayerNorm, scale, gain, bias"
# ## 3 · Four steps by hand
#
# **LayerNorm** (Ba, Kiros and Hinton 2016) treats each vector by itself. For a vector $x$ of $d$ numbers:
#
# $$
# \mu = \frac1d \sum_i x_i \qquad \sigma^2 = \frac1d \sum_i (x_i - \mu)^2 \qquad
# y_i = \frac{x_i - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot w_i + b_i
# $$
#
# | symbol | in words | name in the model |
# |---|---|---|
# | $\mu$, $\sigma^2$ | the mean of the $d$ numbers, and their variance | |
# | $\varepsilon$ | eps, a tiny number, so that nothing is divided by 0 | `model.cfg.eps` |
# | $\sqrt{\sigma^2 + \varepsilon}$ | the **scale** | `hook_scale` |
# | $\hat x = (x - \mu) / \sqrt{\sigma^2 + \varepsilon}$ | the normalized vector: mean 0, variance 1 | `hook_normalized` |
# | $w$, $b$ | **gain** and **bias**, learned, one of each for every place $i$ | `w`, `b` |
# | $y$ | what the next part reads | `hook_out` |
#
# Four steps: subtract the mean, divide by the scale, multiply by the gain, add the bias. Follow one vector through:

# %% key="by-hand-shown" tags=["demo"]
vector = tensor([1.0, 1.0, 5.0, 5.0])
centered = vector - 3  # its mean is 3
normalized = centered / 2  # its variance is (4 + 4 + 4 + 4) / 4 = 4, and the root is 2
gained = normalized * tensor([1.0, 2.0, 1.0, 0.5])
shifted = gained + tensor([0.0, 0.0, 1.0, 0.0])
steps = {
    "the vector": vector,
    "step 1: minus its mean": centered,
    "step 2: divided by its scale": normalized,
    "step 3: times the gain (1, 2, 1, ½)": gained,
    "step 4: plus the bias (0, 0, 1, 0)": shifted,
}
show.table(
    [[name, *row, row.mean(), row.var(correction=0)] for name, row in steps.items()],
    ["", "x₁", "x₂", "x₃", "x₄", "mean", "variance"],
    title="One vector through LayerNorm",
    note="After step 2 the mean is 0 and the variance 1. Gain and bias may give it any others.",
)

# %% [markdown] key="ln-scale"
# ### Exercise 04.1 · The scale
#
# *difficulty 2 · 10 minutes · stuck?* `hint("04.1")`
#
# $$s = \sqrt{\sigma^2 + \varepsilon} \qquad \sigma^2 = \frac1d \sum_{i=1}^{d} (x_i - \mu)^2$$
#
# $\mu$ is the mean of the vector's $d$ = d_model numbers, $\varepsilon$ is `eps`. Every vector (each position of each
# text) has a scale of its own. Keep the last axis with length 1, so that a vector can be divided by it.
#
# Note the $\frac1d$: statisticians divide by $d - 1$ when they estimate from a sample, and so does torch unless told
# otherwise. Here nothing is estimated.


# %% key="ln-scale-answer" exercise="04.1" covers="N18"
def ln_scale(x: Float[Tensor, "... d_model"], eps: float) -> Float[Tensor, "... 1"]:
    """The root of each vector's variance plus eps.

    >>> ln_scale(tensor([[1.0, 1.0, 5.0, 5.0], [7.0, 7.0, 7.0, 7.0]]), 0.0).tolist()
    [[2.0], [0.0]]
    """
    # SOLUTION
    variance = x.var(-1, unbiased=False, keepdim=True)  # [... 1]: divided by d_model, not by d_model − 1
    return (variance + eps).sqrt()  # eps under the root: what is divided by is never below √eps
    # END


# %% key="ln-scale-grade"
grade(ln_scale)

# %% [markdown] key="ln-scale-why" solution="04.1"
# #### Why it works
#
# `var` subtracts the mean itself, so nothing has to be centered before. `unbiased=False` (or `correction=0`) divides
# by the number of entries.
#
# **What the classic mistake looks like.** torch's own default divides by $d - 1$: with 256 numbers the scale is too
# large by a fifth of a percent. No figure would ever show it; the grader's small random shapes do:

# %% key="ln-scale-mistake" solution="04.1"
from utils.grading import check


def with_torchs_default(x, eps):
    return (x.var(-1, keepdim=True) + eps).sqrt()


check("04.1", with_torchs_default)


# %% key="ln-scale-second" solution="04.1"
def from_two_means(x, eps):
    """A second way: the mean of the squares minus the square of the mean."""
    return (x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True).square() + eps).sqrt()


check("04.1", from_two_means)

# %% [markdown] key="scales-text"
# **Use it** on the stream that the last norm reads. The scales of the story's tokens, in one line:

# %% key="scales" tags=["demo"]
last_stream = cache["ln_final.hook_in"]  # [batch pos d_model]
scale = use(ln_scale)(last_stream, eps)[0, :, 0]  # [pos]
show.tokens(
    tokens,
    scale.round(decimals=1),
    title="What the final LayerNorm divides each token's vector by",
    note=f"The largest scale is {scale.max() / scale.min():.1f} times the smallest.",
    value_name="scale",
)

# %% [markdown] key="normalize"
# ## 4 · Mean 0, variance 1
#
# Two of the four steps make the normalized vector. For vectors of three numbers one can see what they do: subtracting
# the mean flattens space onto the plane where the three numbers sum to 0; dividing by the scale then leaves of each
# point of that plane only its direction. What shape do all normalized vectors of three numbers lie on? Your function
# will draw it.

# %% [markdown] key="ln-normalize"
# ### Exercise 04.2 · Normalize
#
# *difficulty 2 · 10 minutes · stuck?* `hint("04.2")`
#
# $$\hat x_i = \frac{x_i - \mu}{s}$$
#
# $\mu$ is the vector's mean and $s$ its scale, as in 04.1. Statistics belong to one vector: never across positions,
# never across the texts of a batch. If you skipped 04.1, `use(ln_scale)` is the book's.


# %% key="ln-normalize-answer" exercise="04.2" covers="N18"
def ln_normalize(x: Float[Tensor, "... d_model"], eps: float) -> Float[Tensor, "... d_model"]:
    """Each vector minus its mean, divided by its scale.

    >>> ln_normalize(tensor([[1.0, 1.0, 5.0, 5.0]]), 0.0).tolist()
    [[-1.0, -1.0, 1.0, 1.0]]
    """
    # SOLUTION
    centered = x - x.mean(-1, keepdim=True)
    return centered / ln_scale(x, eps)  # [... d_model] / [... 1]
    # END


# %% key="ln-normalize-grade"
grade(ln_normalize)

# %% [markdown] key="ln-normalize-why" solution="04.2"
# #### Why it works
#
# Centering does not change the variance, so the scale of $x$ is the scale of the centered vector too.
#
# **What the classic mistake looks like.** Without the subtraction it is still a fine vector of the right size, and in
# a model whose streams have means near 0 almost the same one. (Models with RMSNorm, chapter 11, leave it out.) With
# statistics over the batch a text's result depends on its neighbors: run it alone and other numbers come.


# %% key="ln-normalize-second" solution="04.2"
def with_var_mean(x, eps):
    """A second way: both statistics in one call, and the reciprocal root."""
    variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps)


check("04.2", with_var_mean)

# %% [markdown] key="circle-text"
# **Use it** on random vectors of three numbers. The picture looks straight down on the plane.

# %% key="circle" tags=["demo"]
normalize = use(ln_normalize)
points = 1.2 * torch.randn(40, 3, generator=rng)  # [point 3]
flat = points - points.mean(-1, keepdim=True)
in_plane = tensor([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]])  # two directions of the plane
in_plane = (in_plane / in_plane.norm(dim=-1, keepdim=True)).T  # [3 2]

show.points(
    torch.cat([flat @ in_plane, normalize(points, 0.0) @ in_plane]),  # [point 2]
    groups=["minus the mean"] * len(points) + ["and divided by the scale"] * len(points),
    title="Vectors of three numbers, seen from above the plane",
    note="All normalized vectors lie on one circle, of radius √3: only a direction is left.",
    x_name="along (1, −1, 0)",
    y_name="along (1, 1, −2)",
    equal=True,
)

# %% [markdown] key="blind"
# **And now in the model.** What can a part that reads a normalized vector *not* know? Try three changes of the stream and see
# which of them survive. The first two are the same change for all 256 numbers.

# %% key="blind-shown" tags=["demo"]
seen = normalize(last_stream, eps)
one_more = torch.zeros(d_model)
one_more[7] = last_stream.std()
changes = {
    "7 is added to all numbers": last_stream + 7,
    "all numbers × 10": last_stream * 10,
    "one number of each vector is changed": last_stream + one_more,
}
show.table(
    [[what, f"{(normalize(x, eps) - seen).abs().max():.4f}"] for what, x in changes.items()],
    ["change of the stream", "largest change after normalizing"],
    title="What a normalized vector does not show",
    note="A common shift and a common factor vanish. What is left is a direction in d_model − 1 dimensions.",
)

# %% [markdown] key="eps" terms="eps"
# ## 5 · Where eps stands, and when that matters
#
# eps guards against one case: a vector whose numbers are all alike has variance 0, and 0/0 is not a number. GPT-2's
# eps is 0.00001, and beside a usual variance nobody notices it. Beside a tiny one it decides.

# %% [markdown] key="predict-eps" tags=["predict"]
# **Predict.** A vector has the spread 0.0032, so its variance is just about 0.00001, as large as eps. After
# $(x - \mu) / \sqrt{\sigma^2 + \varepsilon}$, what is its spread: 1, 0.7, 0.5 or 0.003?

# %% key="guess-eps" tags=["predict"]
my_guess = "?"  # 1, 0.7, 0.5 or 0.003

# %% key="eps-shown" tags=["demo"]
sizes = [10 ** (power / 4) for power in range(-24, 5)]  # from a millionth to ten
direction = torch.randn(d_model, generator=rng, dtype=torch.float64)
direction = (direction - direction.mean()) / direction.std(correction=0)  # spread 1
tiny = tensor(sizes, dtype=torch.float64)[:, None] * direction  # [size d_model]: one direction, many sizes
under = normalize(tiny, 1e-5).std(-1, correction=0)  # [size]
outside = (tiny / (tiny.std(-1, correction=0, keepdim=True) + 1e-5)).std(-1, correction=0)

show.lines(
    [size / 1e-5**0.5 for size in sizes],
    {"eps under the root (GPT-2)": under, "eps added after the root": outside},
    title="How large a vector is after normalizing, by its size before",
    note=f"At 1, a spread of √eps, {normalize(10**-2.5 * direction, 1e-5).std(correction=0):.2f} is left under the root. "
    f"The smallest vector in this story lies at {spread.min() / 1e-5**0.5:.0f}.",
    x_name="spread before, in units of √eps (logarithmic)",
    y_name="spread after",
    log_x=True,
    levels={"1/√2": 0.5**0.5},
)

# %% [markdown] key="eps-why"
# <details><summary>What you see, and why</summary>
#
# **0.7**: $\sigma / \sqrt{\sigma^2 + \varepsilon} = 1/\sqrt 2$ where $\sigma^2 = \varepsilon$.
#
# </details>
#
# Under the root eps is compared with the *variance*, so vectors shrink once their spread falls below $\sqrt\varepsilon
# \approx 0.003$. Added after the root it is compared with the *spread*, and vectors have to be 300 times smaller before
# they shrink. On streams of usual size the two agree to many digits, so a test on usual streams cannot tell them apart. The
# grader therefore also tries tiny vectors, and eps = 0.1. On a vector of equal numbers both give 0, since the top of
# the fraction is 0; without eps it is NaN.

# %% [markdown] key="gain-bias" covers="N18" terms="gain, bias"
# ## 6 · Gain and bias
#
# Normalizing fixes the size of the whole vector and treats all its places alike. Training may want otherwise: the gain
# $w_i$ makes place $i$ louder or quieter, the bias $b_i$ shifts it.

# %% [markdown] key="layer-norm"
# ### Exercise 04.3 · LayerNorm
#
# *difficulty 2 · 10 minutes · stuck?* `hint("04.3")`
#
# $$y_i = \hat x_i \, w_i + b_i$$
#
# $\hat x$ is the normalized vector; $w$ and $b$ have d_model numbers each. Make a new tensor: the stream is still
# needed. Gradients must flow through the result, mean and scale included, since chapter 08 trains through it. torch's
# own `layer_norm` would do it in one call and is not allowed here. If you skipped 04.2, `use(ln_normalize)` is the
# book's.


# %% key="layer-norm-answer" exercise="04.3" covers="N18"
def layer_norm(
    x: Float[Tensor, "... d_model"],
    w: Float[Tensor, "d_model"],
    b: Float[Tensor, "d_model"],
    eps: float,
) -> Float[Tensor, "... d_model"]:
    """The normalized vector, times the gain, plus the bias.

    >>> x, w = tensor([1.0, 1.0, 5.0, 5.0]), tensor([1.0, 2.0, 1.0, 0.5])
    >>> layer_norm(x, w, tensor([0.0, 0.0, 1.0, 0.0]), 0.0).tolist()
    [-1.0, -2.0, 2.0, 0.5]
    """
    # SOLUTION
    return ln_normalize(x, eps) * w + b  # [d_model] lines up with the last axis by itself
    # END


# %% key="layer-norm-grade"
grade(layer_norm)

# %% [markdown] key="layer-norm-why" solution="04.3"
# #### Why it works
#
# w and b have the shape [d_model]; lined up from the right they meet the last axis. Times first, then plus: with
# $(\hat x + b)\,w$ the bias would be multiplied as well.
#
# **What the classic mistake looks like.** `x -= x.mean(…)` changes the caller's tensor. In the model that is the
# residual stream, which every later layer reads: the norm's own output is right, and everything after it is wrong.
# And statistics computed under `no_grad` give the right values with the wrong gradient: the model trains, badly.


# %% key="layer-norm-second" solution="04.3"
def with_matrices(x, w, b, eps):
    """A second way: centering is a projection, the gain a diagonal matrix. Only the division is not linear."""
    d = x.shape[-1]
    centering = torch.eye(d, dtype=x.dtype, device=x.device) - 1 / d  # [d_model d_model]
    flat = x @ centering
    length = (flat.square().sum(-1, keepdim=True) / d + eps).sqrt()
    return flat / length @ torch.diag(w) + b


check("04.3", with_matrices)

# %% [markdown] key="module-text" terms="module"
# **Use it.** Four steps make a **module**, torch's name for a function that carries its learned numbers along. This
# is what stands in GPT-2's code, with your function inside. Then all of the model's norms are replaced by yours.

# %% key="module" tags=["demo"]
my_norm = use(layer_norm)


class LayerNorm(torch.nn.Module):
    """Gain and bias as parameters: a new norm starts with gain 1 and bias 0, and training moves them."""

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.w = torch.nn.Parameter(torch.ones(d_model))
        self.b = torch.nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return my_norm(x, self.w, self.b, self.eps)


modules = {name: LayerNorm(d_model, eps) for name in NORMS}
for name, module in modules.items():
    w, b = weights_of(name)
    module.load_state_dict({"w": w.detach(), "b": b.detach()})

mine = with_norms(story, lambda x, w, b, name: modules[name](x))
print(f"logits with your {len(NORMS)} norms equal the model's:", torch.allclose(mine, model(story), atol=1e-2))

# %% [markdown] key="learned-text"
# What has training made of the gains? They all started at 1.

# %% key="learned" tags=["demo"]
gains = {name: weights_of(name)[0].detach() for name in NORMS}
before_attention = torch.cat([w for name, w in gains.items() if "ln1" in name])
before_mlp = torch.cat([w for name, w in gains.items() if "ln2" in name])
show.histogram(
    {"before attention": before_attention, "before MLPs": before_mlp, "final": gains["ln_final"]},
    title="The gains that this model has learned",
    note=f"The final norm's gains have the mean {gains['ln_final'].mean():.2f}. Before training they were all alike.",
    x_name="gain",
    y_name="share of the gains",
)

# %% [markdown] key="folding" terms="folding"
# ## 7 · Folding gain and bias into the next weights
#
# Whatever reads a norm's output begins with a linear map, $yW + b_\text{lin}$. Gain and bias are linear too, and two
# linear steps in a row are one. So they can be **folded** into the next weights, once and for all, and the norm is
# left with nothing but centering and dividing.
#
# Why do that? To *read* weights. A row of $W$ says what a place of the stream does to the neurons only when one knows
# how loud that place comes in. After folding, the weights say it all.

# %% [markdown] key="fold-layer-norm"
# ### Exercise 04.4 · Fold the norm
#
# *difficulty 4 · 20 minutes · stuck?* `hint("04.4")`
#
# Find $W'$ and $b'$ such that, for every $x$,
#
# $$\text{layer\_norm}(x)\,W + b_\text{lin} = \hat x\,W' + b'$$
#
# On the left the norm has its gain $w$ and its bias $b$, d_model numbers each; $W$ is [d_model d_out] and
# $b_\text{lin}$ the linear map's own bias. On the right $\hat x$ is only normalized. Write out the left side with
# $\hat x$ and collect: what is multiplied by $\hat x$, and what is not?


# %% key="fold-layer-norm-answer" exercise="04.4"
def fold_layer_norm(
    w: Float[Tensor, "d_model"],
    b: Float[Tensor, "d_model"],
    W: Float[Tensor, "d_model d_out"],
    b_lin: Float[Tensor, "d_out"],
) -> tuple[Float[Tensor, "d_model d_out"], Float[Tensor, "d_out"]]:
    """(W', b') that do to the normalized vector what gain, bias, W and b_lin do together.

    >>> W_folded, b_folded = fold_layer_norm(tensor([2.0]), tensor([3.0]), tensor([[10.0]]), tensor([1.0]))
    >>> W_folded.tolist(), b_folded.tolist()
    ([[20.0]], [31.0])
    """
    # SOLUTION
    # (x̂ · w + b) W + b_lin = x̂ (w · W) + (b W + b_lin): gain i scales row i, which reads place i.
    return w[:, None] * W, b @ W + b_lin
    # END


# %% key="fold-layer-norm-grade"
grade(fold_layer_norm)

# %% [markdown] key="fold-layer-norm-why" solution="04.4"
# #### Why it works
#
# $\hat x_i w_i$ meets row $i$ of $W$, so the gain can as well stand in front of that row: `w[:, None]` is a column
# that meets the rows. The norm's bias is the same for every $x$; it goes through $W$ as it was, once, and becomes a
# constant.
#
# **What the classic mistake looks like.** `w * W` lines the gain up with the columns, the *outputs*. Where d_out is
# d_model nothing crashes: attention's matrices are square when all heads are taken together.
#
# These are not the only right $W'$: a normalized vector sums to 0, so the same number may be added to a whole column
# of $W'$. The grader looks at what they do.


# %% key="fold-layer-norm-second" solution="04.4"
def with_a_diagonal(w, b, W, b_lin):
    """A second way: the gain as a diagonal matrix, then the same product for everything."""
    return torch.diag(w) @ W, b_lin + torch.einsum("m,mo->o", b, W)


check("04.4", with_a_diagonal)

# %% [markdown] key="folded-text"
# **Use it** on an MLP: the one whose norm has the most unequal gains. How much does each of the stream's places drive
# the neurons? By the rows of $W$ alone, and by the rows of $W'$:

# %% key="folded" tags=["demo"]
layer = max(range(n_layers), key=lambda i: gains[f"blocks.{i}.ln2"].std().item())
mlp = model.blocks[layer].mlp
w, b = weights_of(f"blocks.{layer}.ln2")
W_folded, b_folded = use(fold_layer_norm)(w, b, mlp.W_in, mlp.b_in)  # [d_model d_mlp], [d_mlp]

x = cache[f"blocks.{layer}.ln2.hook_in"]  # [batch pos d_model]
pre = normalize(x, eps) @ W_folded + b_folded  # [batch pos d_mlp]
same = torch.allclose(pre, cache[f"blocks.{layer}.mlp.hook_pre"], atol=1e-3)

before, after = mlp.W_in.norm(dim=-1), W_folded.norm(dim=-1)  # [d_model]
top = set(before.topk(10).indices.tolist()) & set(after.topk(10).indices.tolist())
show.points(
    torch.stack([before, after], -1).detach(),  # [d_model 2]
    title=f"How much each place of the stream drives the neurons, layer {layer}",
    note=f"Of the ten strongest before and the ten strongest after folding, {len(top)} are the same. "
    f"What the neurons read is the same: {same}.",
    x_name="length of its row of W",
    y_name="length of its row of W'",
)

# %% [markdown] key="centering"
# ## 8 · Centering what is written
#
# The second thing that can be moved into weights is the subtraction. Norms remove the mean of the stream wherever it
# is read. So the mean of what a layer *writes* is never seen by anyone, and we may as well write vectors with mean 0.
# When all that is written has mean 0, the stream has mean 0, and the norms' subtraction does nothing.

# %% [markdown] key="center-writing"
# ### Exercise 04.5 · Center what a layer writes
#
# *difficulty 3 · 15 minutes · stuck?* `hint("04.5")`
#
# A layer writes $h W$, with $h$ its d_in hidden numbers and $W$ [d_in d_model], `W_out` for one. Find the matrix $W'$
# for which
#
# $$hW' = hW - \text{the mean of } hW \text{ over d\_model}$$
#
# for every $h$. Then all outputs have mean 0, and a norm that reads them sees just what it saw before.


# %% key="center-writing-answer" exercise="04.5"
def center_writing(W: Float[Tensor, "d_in d_model"]) -> Float[Tensor, "d_in d_model"]:
    """The matrix whose outputs have mean 0, and are otherwise those of W.

    >>> center_writing(tensor([[1.0, 3.0], [10.0, 10.0]])).tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    # SOLUTION
    return W - W.mean(-1, keepdim=True)  # [d_in d_model] - [d_in 1]: an output is a sum of rows
    # END


# %% key="center-writing-grade"
grade(center_writing)

# %% [markdown] key="center-writing-why" solution="04.5"
# #### Why it works
#
# The output is $\sum_k h_k W_k$, a sum of rows. The mean of a sum is the sum of the means, so if each row has mean 0
# every output has. And the mean removed from each row is exactly the share it would have had in the output's mean.
#
# **What the classic mistake looks like.** The other axis centers the columns: the outputs then have no mean *over
# hidden units*, which nobody asked for, and the next norm sees other vectors.


# %% key="center-writing-second" solution="04.5"
def by_projection(W):
    """A second way: the projection that removes the direction (1, 1, …, 1), applied from the right."""
    d = W.shape[-1]
    ones = torch.ones(d, 1, dtype=W.dtype, device=W.device) / d**0.5  # [d_model 1], of length 1
    return W - W @ ones @ ones.T


check("04.5", by_projection)

# %% key="examples-run" solution="04.5"
import doctest

doctest.testmod()  # the examples in the docstrings of all five exercises, run

# %% [markdown] key="centered-text"
# **Use it** on every MLP of the model: what they write is replaced by what the centered weights write (the bias is
# centered too). Do the logits notice?

# %% key="centered-writing" tags=["demo"]
center = use(center_writing)
hidden, means = {}, {"before": [], "after": []}


def note_hidden(post, hook):
    hidden[hook.name.split(".")[1]] = post  # [batch pos d_mlp]


def write_centered(mlp_out, hook):
    layer = hook.name.split(".")[1]
    mlp = model.blocks[int(layer)].mlp
    new = hidden[layer] @ center(mlp.W_out) + center(mlp.b_out[None])[0]  # [batch pos d_model]
    for when, written in (("before", mlp_out), ("after", new)):
        means[when].append(written.mean(-1).abs().max().item())
    return new


both = [("mlp.hook_post", note_hidden), ("hook_mlp_out", write_centered)]
hooks = [(f"blocks.{i}.{place}", fn) for i in range(n_layers) for place, fn in both]
moved = (model.run_with_hooks(story, fwd_hooks=hooks) - model(story)).abs().max()
print(f"largest mean of what an MLP writes: {max(means['before']):.2f} before, {max(means['after']):.4f} after")
print(f"the logits stay: {moved < 1e-2}")

# %% [markdown] key="tools-do-it"
# TransformerLens does both on request (`fold_ln`, `center_writing_weights`), so that a norm does nothing but divide.
# This book's reference is loaded *without* them, so that its numbers are those of GPT-2 as it was trained.
#
# Subtraction, gain and bias are linear, and have been moved into the weights. What is left of LayerNorm is one
# division. It cannot be moved anywhere.

# %% [markdown] key="attribution" covers="N18" terms="attribution, direct logit attribution"
# ## 9 · Why the division makes attribution hard
#
# The final stream is a sum: token embedding, position, and what each attention layer and each MLP has written. If the
# way from there to the logits were linear, every logit would be a sum of the same parts, and "which layer said
# *kitten*?" had an answer: its share. Asking for such shares is called **attribution**.
#
# The way is linear but for the division: $\hat x = (x - \mu)/s$, and $s$ is made of *all* parts together. There are
# two ways out, and they disagree.
#
# - **Freeze the scale.** Use the $s$ of the whole stream for each part. Then the shares add up exactly, and this is
#   what "direct logit attribution" does. But it is a fiction: without the part, $s$ would have been another.
# - **Take the part away** from the final stream and let $s$ be what it then is. This is what the unembedding would
#   really see, and it need not add up. (Later layers keep here what they have written. To take a part away from *them*
#   as well is a third question.)
#
# Measure both. What is attributed is the lead of the likeliest next token over the second, in logits:

# %% key="parts" tags=["demo"]
logits, cache = model.run_with_cache(story)
first, second = logits[0, -1].topk(2).indices  # of the last position
lead = (logits[0, -1, first] - logits[0, -1, second]).item()

parts = {"token": cache["hook_embed"], "position": cache["hook_pos_embed"]}
for i in range(n_layers):
    parts |= {f"attn {i}": cache[f"blocks.{i}.hook_attn_out"], f"MLP {i}": cache[f"blocks.{i}.hook_mlp_out"]}
parts = {name: part[0, -1].detach() for name, part in parts.items()}  # [d_model] each

whole = sum(parts.values())
w, b = (learned.detach() for learned in weights_of("ln_final"))
toward = (model.W_U[:, first] - model.W_U[:, second]).detach()  # [d_model]: the direction of the lead
print("the parts add up to the stream:", torch.allclose(whole, cache["ln_final.hook_in"][0, -1], atol=1e-2))

# %% key="two-ways" tags=["demo"]
scale_of = use(ln_scale)


def lead_of(x, s=None):
    """The lead that the vector x gives the first token, its scale its own or the given one."""
    s = scale_of(x, eps) if s is None else s
    return ((x - x.mean()) / s * w + b) @ toward


frozen_scale = scale_of(whole, eps)
constant = (b @ toward).item()  # the final bias speaks too, whatever the text
frozen = {name: (lead_of(part, frozen_scale) - b @ toward).item() for name, part in parts.items()}
removed = {name: (lead_of(whole) - lead_of(whole - part)).item() for name, part in parts.items()}
flipped = sum(frozen[name] * removed[name] < 0 for name in parts)

show.bars(
    {name: [frozen[name], removed[name]] for name in parts},
    series=["share, scale frozen", "drop, when taken away"],
    title=f"Who says {model.to_string(first)!r} rather than {model.to_string(second)!r}?",
    note=f"The lead is {lead:.1f}. Frozen shares and the bias add up to {sum(frozen.values()) + constant:.1f}, "
    f"the drops to {sum(removed.values()):.1f}. The two differ in sign for {flipped} of {len(parts)} parts.",
    x_name="part of the final stream",
    y_name="logits",
)

# %% [markdown] key="scale-changes-text"
# Where the two bars differ, the scale has moved: taking the part away changed what *everything else* is divided by. A
# part may not point along the lead at all and still change it, by being long. By how much does each part stretch?

# %% key="scale-changes" tags=["demo"]
factor = {name: (frozen_scale / scale_of(whole - part, eps)).item() for name, part in parts.items()}
farthest = max(factor, key=lambda name: abs(factor[name] - 1))
show.bars(
    {name: 100 * (value - 1) for name, value in factor.items()},
    title="By how much all other shares grow when a part is taken away",
    note=f"Without {farthest} everything else is multiplied by {factor[farthest]:.2f}. A bar of 0 is no effect.",
    x_name="part taken away",
    y_name="change of all other shares, percent",
)

# %% [markdown] key="attribution-conclusion"
# Neither number is wrong. The frozen share says what a part contributed *given* the rest; the drop says what would
# happen without it. When a paper attributes something "with the LayerNorm scale frozen", you know what was assumed,
# and here you have seen how much hangs on it.

# %% [markdown] key="answer" covers="N18"
# ## 10 · Back to the question
#
# Why does so small a machine matter so much? Now you can take it apart and measure each piece. How surprised is the
# model by the story's own tokens (mean of $-\log p$ of each next token) when:
#
# - every vector is divided, but not centered;
# - every vector is centered and divided by an *average* scale, the same for all tokens that a norm reads;
# - every vector is centered, but not divided;
# - nothing is done, as in section 1?

# %% key="answer-computed" tags=["demo"]
average = {name: use(ln_scale)(cache[f"{name}.hook_in"], eps).mean() for name in NORMS}


def centered_of(x):
    return x - x.mean(-1, keepdim=True)


variants = {
    "LayerNorm": lambda x, w, b, name: my_norm(x, w, b, eps),
    "not centered": lambda x, w, b, name: x / scale_of(x, eps) * w + b,
    "average scale": lambda x, w, b, name: centered_of(x) / average[name] * w + b,
    "not divided": lambda x, w, b, name: centered_of(x) * w + b,
    "nothing": handed_on,
}
came = model.to_tokens(story)[0, 1:]  # [pos-1]


def surprise(norm):
    """Mean −log p of the story's tokens, in nats."""
    logp = with_norms(story, norm)[0, :-1].double().log_softmax(-1)  # [pos-1 d_vocab]
    return -logp[torch.arange(len(came)), came].mean().item()


# %% key="answer-figure" tags=["demo"]
guessing = torch.tensor(float(model.cfg.d_vocab)).log().item()
surprises = {name: surprise(norm) for name, norm in variants.items()}
show.table(
    [
        [name, f"{value:.2f}" if value < 1000 else f"about {about(value)}", "yes" if value < guessing else "no"]
        for name, value in surprises.items()
    ],
    ["norm", "surprise, nats a token", "better than guessing?"],
    title="The model with each piece of LayerNorm taken away",
    note=f"Guessing among all {model.cfg.d_vocab:,} tokens alike would be {guessing:.1f} nats. "
    f"Centering is worth {surprises['not centered'] - surprises['LayerNorm']:.2f} nats, "
    f"dividing about {about(surprises['not divided'] - surprises['LayerNorm'])}.",
)

# %% [markdown] key="answer-text"
# Compare each line with the first. The division is what no model of this kind can do without: its matrices were
# trained on vectors of one size, and only the division makes them so, for each token by itself, however long the
# stream has grown. How much hangs on the subtraction is a matter of the model; the note says it for this one.
#
# And the cost: the division ties all parts of the stream together. Everything else in the norm can be folded away.
# **What LayerNorm gives to training, a size that never runs away, it takes from attribution: a sum that stays a sum.**

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - LayerNorm takes each vector by itself: minus its mean, divided by $\sqrt{\sigma^2 + \varepsilon}$ with the $\frac1d$
#   variance, times a gain, plus a bias.
# - It stands where a part *reads* the stream: before each attention, each MLP, and the unembedding. The stream itself
#   is not normalized and may grow.
# - What it cannot see is the vector's length and its mean: only a direction passes.
# - eps stands under the root. It matters where the variance is about as small as eps, and for equal numbers.
# - Gain and bias fold into the weights that read; centering folds into the weights that write. The division stays.
# - Because of the division, a part's share of a logit depends on all other parts. Attribution freezes the scale, and
#   should say so.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** The final stream of a token is multiplied by 3. What happens to its logits? And if 3 is added to each of its
# numbers?
#
# <details><summary>Answer</summary>
#
# Nothing, both times (but for eps). The scale is 3 times as large as well, and the mean is 3 larger as well. It would
# be otherwise *before* the last block: its first norm would hand on the same vector, attention would write the same,
# and that would be added to a stream three times as long, beside which it would count for a third.
#
# </details>
#
# **2.** A vector is (5, 5, 5, 5). What does LayerNorm with gain $w$ and bias $b$ make of it, and why is eps needed?
#
# <details><summary>Answer</summary>
#
# $b$. Centered it is (0, 0, 0, 0), and the scale is $\sqrt{0 + \varepsilon}$: 0 divided by a small number is 0. Without
# eps it would be 0/0, which is NaN.
#
# </details>
#
# **3.** An MLP writes a long vector that has nothing to do with "kitten": it is at a right angle to the direction of
# its logit. Does taking the MLP away change the logit of "kitten"?
#
# <details><summary>Answer</summary>
#
# Yes, in general. Its share with the scale frozen is 0. But without the long vector the scale is smaller, so every
# other share grows, those for and against "kitten" alike.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | normalization | bringing numbers to a fixed mean and size before they are read |
# | LayerNorm | minus the mean, divided by the scale, times gain, plus bias; each vector by itself |
# | scale | √(variance + eps): what a vector is divided by |
# | gain, bias | w and b: learned numbers, one of each for every place of the vector |
# | eps | a tiny number under the root, so that nothing is divided by 0 |
# | module | torch's name for a function that carries its learned numbers along |
# | folding | moving a linear step into the weights beside it, with the result unchanged |
# | attribution | saying how much of a result each part is responsible for |
# | direct logit attribution | a part's own share of a logit, with the final scale frozen |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Ba, Kiros and Hinton, *Layer Normalization* (2016): the paper; equations 3 and 4 are this chapter.
# - Radford et al., *Language Models are Unsupervised Multitask Learners* (2019): GPT-2; section 2.3 says where the
#   norms went.
# - Xiong et al., *On Layer Normalization in the Transformer Architecture* (2020): why norms at the input of each part
#   are easier to train than norms in the stream.
# - Zhang and Sennrich, *Root Mean Square Layer Normalization* (2019): leave the subtraction out. You will in chapter 11.
# - Elhage et al., *A Mathematical Framework for Transformer Circuits* (2021): a model read as a sum of parts.
#
# Next, [chapter 05](05_attention.ipynb): the one part of the model that looks at other positions.
