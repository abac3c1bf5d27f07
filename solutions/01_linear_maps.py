# Chapter 01, linear maps and retrieval: the one source of its notebooks in chapters/ and solutions/ (`book build 01`).
# Whatever is said about a particular head or word is computed in the cell that shows it, so that the text stays true
# on another reference. Numbers in the prose are only those that follow from the mathematics.

# %% [markdown] key="title"
# # Linear maps and retrieval
#
# *The animal didn't cross the street because it was too tired.* Who was tired? You know at once. A model that goes on
# with this sentence has to find, for the word "it", another word: "animal".
#
# This chapter goes from $5x = 15$ to the formula that does the finding, $\operatorname{softmax}(QK^\top/\sqrt d)\,V$,
# and skips nothing on the way. In the second half you use it to find videos, then words.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Solve** two equations with two unknowns, and **say** when there is no single answer.
# - **Write** any linear map as a matrix, and **test** whether a map is linear at all.
# - **Compose**, transpose and undo maps in the right order, and **tell** a rotation from a reflection.
# - **Build** a lookup by query, key and value, first hard, then soft, and **explain** the $\sqrt d$ by measuring it.
# - **Read** $\operatorname{softmax}(QK^\top/\sqrt d)\,V$ from left to right, and let the words of a sentence ask one another.
#
# **Builds on** 00 (tensors with named axes). **Time**: two sittings of an hour and a half. Exercises 01.1 to 01.7
# are about maps, 01.8 to 01.12 about retrieval.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 01.1 | `solve_two`: where two lines cross | 1 | 10 |
# | 01.2 | `matrix_of`: a map as a matrix | 2 | 10 |
# | 01.3 | `is_linear`: a test for linearity | 3 | 15 |
# | 01.4 | `compose`: one map after another | 1 | 5 |
# | 01.5 | `transpose_of_product`: transpose a product | 2 | 5 |
# | 01.6 | `is_rotation`: rotations, and no mirrors | 3 | 15 |
# | 01.7 | `change_basis`: the same map in other coordinates | 3 | 10 |
# | 01.8 | `lookup`: the value of the best key | 1 | 5 |
# | 01.9 | `softmax`: from scores to shares | 3 | 15 |
# | 01.10 | `scaled_scores`: how well each key fits | 2 | 5 |
# | 01.11 | `soft_lookup`: every value a little | 3 | 10 |
# | 01.12 | `self_attention`: a text that asks itself | 3 | 10 |
#
# Write an answer where you find `raise NotImplementedError`, run that cell, then run the cell below it: it grades
# your function. `hint("01.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later
# cells use the book's version where yours is missing, and say so.

# %% key="setup"
from math import cos, log, radians, sin

import torch
from jaxtyping import Float
from torch import Tensor, tensor

from utils import grade, hint, reference, show, use

model = reference(device="cpu")  # the book's pocket model; it needs no accelerator
rng = torch.Generator().manual_seed(1)  # every random number of this chapter's figures comes from here

# %% [markdown] key="question"
# ## 1 · A search that fails
#
# Search the sentence for what is most like "it". The model holds a list of numbers, a vector, for each token that it
# knows. The more two vectors point the same way, the larger is the cosine of the angle between them, 1 at most. Here
# is a sentence in simple words, and the cosine of each word's vector with that of "it":

# %% key="search-fails" tags=["demo"]
sentence = "The kitten did not cross the road because it was too tired."
tokens = model.to_str_tokens(sentence)
vectors = model.W_E[model.to_tokens(sentence)[0]]  # [pos d_model]
directions = vectors / vectors.norm(dim=-1, keepdim=True)  # [pos d_model], each of length 1
it = tokens.index(" it")
likeness = directions @ directions[it]  # [pos]

show.tokens(
    tokens,
    likeness.round(decimals=2),
    title='Which word is most like " it"?',
    note=f"The most alike is {tokens[likeness.argmax()]!r}, with {likeness.max():.2f}: the word has found itself.",
    value_name="cosine",
)

# %% [markdown] key="question-asked"
# Of course: nothing is as much like a thing as the thing itself. "it" does not look for what is *like* "it". It looks
# for something that is alive and was named before. **How can a word look for another word that is nothing like it?**
# The answer is a pair of linear maps. So we begin with what a linear map is.

# %% [markdown] key="one-equation" covers="M1" terms="unknown, equation"
# ## 2 · From one equation to two
#
# $$5x = 15$$
#
# An **equation** says what is true of numbers not known yet, the **unknowns**. Here $x$ is multiplied by 5 and 15
# comes out. Multiplying by 5 is undone by dividing by 5: $x = 3$. One equation, one unknown, one answer.
#
# $$5x + y = 15$$
#
# One equation with two unknowns does not settle them. $(3, 0)$ is an answer, $(2, 5)$ is one, $(2.5, 2.5)$ is one. All
# answers together are a **line** in the plane. A second equation, $x - y = 3$, is a second line, and what makes both
# true is where they cross.

# %% key="two-lines" tags=["demo"]
show.equations(
    {"5x + y = 15": (5, 1, 15), "x − y = 3": (1, -1, 3)},
    title="Two equations with two unknowns",
    note="Each line holds all answers of one equation. Both equations are true at one point only.",
    x_range=(-4, 12),
    y_range=(-6, 8),
)

# %% [markdown] key="predict-turn" tags=["predict"]
# **Predict.** Take $x + y = 6$, a line that falls at an angle of 135°, and a second line through the point $(1, 1)$.
# At 45° they cross at $(3, 3)$. Now turn the second line: 90°, 120°, 130°, 134°, 135°. Where does the crossing go?
#
# - **a**: it stays near $(3, 3)$;
# - **b**: it runs along the first line, farther and farther, and at 135° there is none;
# - **c**: it comes to $(1, 1)$.

# %% key="guess-turn" tags=["predict"]
my_guess = "?"  # a, b or c


# %% key="turned" tags=["demo"] covers="M1"
def signed(number, decimals):
    """A number as text, with a real minus sign and no −0."""
    return f"{round(number, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def second_line(angle):
    """(c, d, f) of the line cx + dy = f through (1, 1) at `angle` degrees."""
    c, d = sin(radians(angle)), -cos(radians(angle))
    return c, d, c + d  # so that x = 1, y = 1 is on it


def turned(angle):
    """The line x + y = 6 and the second line."""
    c, d, f = second_line(angle)
    return show.equations(
        {"x + y = 6": (1, 1, 6), f"through (1, 1) at {angle}°": (c, d, f)},
        title=f"The second line at {angle}°",
        note=f"ad − bc = {signed(d - c, 2)} (what that is comes next).",
        x_range=(-8, 12),
        y_range=(-6, 10),
    )


show.slider(turned, range(0, 180, 15), name="angle", start=45)

# %% [markdown] key="turned-numbers"
# The same without a slider: change the number and run the cell again.

# %% key="turned-plain" tags=["demo"]
turned(135)

# %% [markdown] key="turn-answer" covers="M1" terms="determinant"
# <details><summary>What you see, and why</summary>
#
# It is **b**. The crossing runs away along the first line, and at 135° the lines are parallel: no point is on both.
# Had the second line gone through $(3, 3)$, it would at 135° have been the *same* line, and every point of it an
# answer. Both times there is no *single* answer.
#
# </details>
#
# The number under the figure says when that happens. For $ax + by = e$ and $cx + dy = f$ it is $ad - bc$, called the
# **determinant**. It is 0 exactly when the two lines have the same direction. (An equation
# whose two coefficients are both 0 is no line at all, and then the determinant is 0 as well.)

# %% [markdown] key="solve-two"
# ### Exercise 01.1 · Solve two equations
#
# *difficulty 1 · 10 minutes · stuck?* `hint("01.1")`
#
# $$ax + by = e \qquad cx + dy = f$$
#
# $x$ and $y$ are wanted; the other six are numbers. To get rid of $y$, multiply the first equation by $d$ and the
# second by $b$, and subtract; for $y$ do the like with $c$ and $a$. Return $(x, y)$. Raise `ValueError` when there is
# no single answer. Floating-point numbers are rounded, so a determinant that ought to be 0 may come out as 0.00000000000000003.


# %% key="solve-two-answer" exercise="01.1" covers="M1"
def solve_two(a: float, b: float, e: float, c: float, d: float, f: float) -> tuple[float, float]:
    """The one (x, y) with ax + by = e and cx + dy = f.

    >>> solve_two(1, 1, 6, 1, -1, 2)  # x + y = 6 and x − y = 2
    (4.0, 2.0)
    """
    # SOLUTION
    determinant = a * d - b * c
    if abs(determinant) < 1e-9:  # not == 0: the products are rounded
        raise ValueError("The lines are parallel or the same: there is no single answer.")
    return (e * d - b * f) / determinant, (a * f - e * c) / determinant
    # END


# %% key="solve-two-grade"
grade(solve_two)

# %% [markdown] key="solve-two-why" solution="01.1"
# #### Why it works
#
# $d \cdot (ax + by) - b \cdot (cx + dy) = (ad - bc)\,x$, because the two terms with $y$ are $bdy$ both times. On the
# right stands $ed - bf$. In the same way $(ad - bc)\,y = af - ec$. If $ad - bc = 0$ there is nothing to divide by.
#
# **What the classic mistake looks like.** Dividing by $a$ early on (solve the first equation for $x$, put it into the
# second) works until a system comes in which $x$ does not stand in the first equation. Then $a = 0$, and the answer
# stops although the system is harmless.

# %% key="solve-two-second" solution="01.1"
from utils.grading import check


def by_substitution(a, b, e, c, d, f):
    """A second way: put the one equation into the other, beginning with the larger coefficient."""
    if abs(c) > abs(a):
        a, b, e, c, d, f = c, d, f, a, b, e
    if a == 0 or abs(d - b * c / a) < 1e-9:
        raise ValueError("no single answer")
    y = (f - e * c / a) / (d - b * c / a)
    return (e - b * y) / a, y


check("01.1", by_substitution)

# %% [markdown] key="solve-use-text"
# **Use it** on the turning line. The nearer the determinant is to 0, the farther away is the crossing.

# %% key="solve-use" tags=["demo"]
solve = use(solve_two)
rows = []
for angle in (45, 90, 120, 130, 134, 135):
    c, d, f = second_line(angle)
    try:
        x, y = solve(1, 1, 6, c, d, f)
    except ValueError:
        rows.append([f"{angle}°", signed(d - c, 3), None, None])
        continue
    rows.append([f"{angle}°", signed(d - c, 3), signed(x, 1), signed(y, 1)])

show.table(
    rows,
    ["angle", "determinant", "x", "y"],
    title="Where x + y = 6 and the turning line cross",
    note="As the determinant goes to 0, x and y get farther and farther from 0. At 135° there is no single answer.",
)

# %% [markdown] key="matrix-equation" covers="M1, M4" terms="vector, matrix"
# ## 3 · A matrix is a map
#
# The two equations can be written as one. Put the coefficients into a rectangle of numbers, a **matrix**, and the
# unknowns into a column, a **vector**:
#
# $$
# \begin{pmatrix} 5 & 1 \\ 1 & -1 \end{pmatrix} \begin{pmatrix} x \\ y \end{pmatrix}
# = \begin{pmatrix} 5x + y \\ x - y \end{pmatrix}
# = \begin{pmatrix} 15 \\ 3 \end{pmatrix}
# $$
#
# It reads like $5x = 15$ again: something is applied to an unknown, and the result is known. Matrix times vector has
# two readings, and both are used all through this book:
#
# - **by rows**: each row of the matrix meets the vector in a dot product, $5 \cdot x + 1 \cdot y$;
# - **by columns**: the result is $x$ times the first column plus $y$ times the second.

# %% key="two-readings" tags=["demo"] covers="M4"
A = tensor([[5.0, 1.0], [1.0, -1.0]])
v = tensor([3.0, 0.0])
print("A v           =", (A @ v).tolist())
print("row by row    =", [float(row @ v) for row in A])
print("mixed columns =", (v[0] * A[:, 0] + v[1] * A[:, 1]).tolist())

# %% [markdown] key="basis" covers="M2" terms="linear map, basis"
# Seen so, a matrix *does* something: it takes every vector of the plane to another one. Look at $e_1 = (1, 0)$ and
# $e_2 = (0, 1)$. Every vector of the plane can be made from these two in exactly one way, $v = v_1 e_1 + v_2 e_2$.
# Vectors with that property are a **basis**, and $v_1, v_2$ are the coordinates of $v$ in it.
#
# By the column reading $A e_1$ is the first column of $A$ and $A e_2$ the second. The rest follows: $Av$ is the same
# mixture of the columns as $v$ is of the basis. In the picture, follow the two arrows.

# %% key="first-map" tags=["demo"]
show.grid_map(
    [[2, 1], [0, 1]],
    title="What a matrix does to the plane",
    note="The columns (2, 0) and (1, 1) are where e₁ and e₂ go. Straight lines stay straight, the origin stays put.",
)

# %% [markdown] key="solving-is-undoing" covers="M1, M2" terms="inverse"
# So solving $Av = w$ means: which vector lands on $w$? That question has one answer for every $w$ when the map can be
# **undone**, and the map that undoes it is the **inverse** $A^{-1}$. The determinant says how many times as large an
# area becomes (negative when the plane is flipped over as well). If it is 0, the plane is flattened onto a line or a
# point: many vectors land in the same place, and there is no way back.

# %% key="flat-map" tags=["demo"]
show.grid_map(
    [[2, -1], [1, -0.5]],
    title="A map with determinant 0",
    note="Both columns lie on one line, and so does everything else: no way back.",
)

# %% [markdown] key="matrix-of-text" covers="M2"
# A map that takes a mixture to the *same* mixture of the results is called linear; section 4 makes this exact.
# **Once bases are chosen, a linear map is a matrix.** If you can apply such a map, you can find its matrix, even if
# nobody has ever written it down as one.

# %% [markdown] key="matrix-of"
# ### Exercise 01.2 · The matrix of a map
#
# *difficulty 2 · 10 minutes · stuck?* `hint("01.2")`
#
# $$A = \big(\, f(e_1) \;\big|\; f(e_2) \;\big|\; \cdots \;\big|\; f(e_n) \,\big)$$
#
# $f$ is a linear map that you are given as a function; it takes *one* vector of $n$ float64 numbers (`n_in`) and
# returns a vector, perhaps of another length. $e_j$ has a 1 in place $j$ and 0 elsewhere. The bars say that the
# results stand side by side, as columns. The matrix is float64 too.


# %% key="matrix-of-answer" exercise="01.2" covers="M2, M4"
def matrix_of(f, n_in: int) -> Float[Tensor, "n_out n_in"]:
    """The matrix A with A @ v = f(v) for every float64 vector v of length n_in.

    >>> matrix_of(lambda v: v.cumsum(0), 2).tolist()  # (v₁, v₂) ↦ (v₁, v₁ + v₂)
    [[1.0, 0.0], [1.0, 1.0]]
    """
    # SOLUTION
    basis = torch.eye(n_in, dtype=torch.float64)  # [n_in n_in], row j is the j-th basis vector
    return torch.stack([f(e) for e in basis], dim=1)  # [n_out n_in], side by side
    # END


# %% key="matrix-of-grade"
grade(matrix_of)

# %% [markdown] key="matrix-of-why" solution="01.2"
# #### Why it works
#
# $f(v) = f(v_1 e_1 + \dots + v_n e_n) = v_1 f(e_1) + \dots + v_n f(e_n)$, because $f$ is linear. That is the column
# reading of the matrix whose columns are the $f(e_j)$. It never asks how long they are, so $n_\text{out}$ may be
# anything.
#
# **What the classic mistake looks like.** `torch.stack` without `dim=1` lays the results in rows. On a square map
# nothing crashes, and a symmetric matrix even comes out right. The example above would be [[1, 1], [0, 1]].

# %% key="matrix-of-second" solution="01.2"
# A second way: automatic differentiation. The derivative of a linear map is the map itself, at every point.
running = torch.autograd.functional.jacobian(lambda v: v.cumsum(0), torch.zeros(3, dtype=torch.float64))
torch.equal(running, matrix_of(lambda v: v.cumsum(0), 3))

# %% [markdown] key="matrix-use-text"
# **Use it.** "Running sum" is a map that nobody writes as a matrix. Yours says what it looks like as one.

# %% key="matrix-use" tags=["demo"]
places = [f"place {i}" for i in range(1, 7)]
show.matrix(
    use(matrix_of)(lambda v: v.cumsum(0), 6),
    rows=places,
    columns=places,
    title="The running sum as a matrix",
    note="Row i has a 1 for each place up to i: it sees those before it and none after. Remember it for chapter 05.",
    row_name="number out",
    column_name="number in",
    value_name="weight",
    diverging=False,
)

# %% [markdown] key="rows-and-tall" covers="M4" terms="row vector"
# ### Row vectors, and matrices that are not square
#
# A matrix with $m$ rows and $n$ columns takes vectors of length $n$ to vectors of length $m$. A **tall** one ($m > n$)
# lays a small space into a larger one; a **wide** one ($m < n$) presses a large space into a smaller one, and something
# is always lost.
#
# Code for language models writes vectors as **rows**, because a text is then simply rows under each other. A row
# vector stands on the *left*: $x W$, with $W$ of shape [in, out]. It is the same map as $W^\top x$ with a column. The
# shapes of the pocket model's first head, read in that way:

# %% key="model-shapes" tags=["demo"]
attn = model.blocks[0].attn  # the first attention layer; it has several heads
W_Q, W_O = attn.W_Q[0].double(), attn.W_O[0].double()  # of head 0
query_map = use(matrix_of)(lambda x: x @ W_Q, len(W_Q))  # [d_head d_model]

show.table(
    [
        ["W_Q, for rows: x @ W_Q", f"{W_Q.shape[0]} → {W_Q.shape[1]}", f"{list(W_Q.shape)}"],
        ["the same for columns", f"{query_map.shape[1]} → {query_map.shape[0]}", f"{list(query_map.shape)}"],
        ["W_O, for rows: z @ W_O", f"{W_O.shape[0]} → {W_O.shape[1]}", f"{list(W_O.shape)}"],
    ],
    ["matrix", "numbers in → out", "shape [rows, columns]"],
    title="Two maps of one head, as rows and as columns",
    note=f"The matrix of x ↦ x W_Q is W_Q transposed: {torch.allclose(query_map, W_Q.T)}.",
)

# %% [markdown] key="linear" covers="M3" terms="additive, homogeneous"
# ## 4 · What makes a map linear
#
# Two laws. For all vectors $x, y$ and all numbers $c$:
#
# $$f(x + y) = f(x) + f(y) \qquad f(c\,x) = c\,f(x)$$
#
# The first is called **additive**, the second **homogeneous**. Together they say: take the mixture before or after,
# the result is the same. A map that keeps both is **linear**. It must send 0 to 0 (take $c = 0$), so $5x + 1$, a line
# that misses the origin, is *not* linear in this sense. It is called affine.

# %% [markdown] key="predict-linear" tags=["predict"]
# **Predict.** Which of these six are linear? Turning the plane by 30°; adding 1 to each number; keeping positive
# numbers and setting negative ones to 0 (ReLU); subtracting the mean of the vector from it; dividing the vector by its
# length; the model's map $x \mapsto x W_Q$.

# %% key="guess-linear" tags=["predict"]
my_guess = "?"  # turn, add 1, ReLU, minus the mean, divide by the length, W_Q

# %% [markdown] key="is-linear"
# ### Exercise 01.3 · Is it linear?
#
# *difficulty 3 · 15 minutes · stuck?* `hint("01.3")`
#
# Given $f$ as in 01.2, test both laws on random vectors $x, y$ and a random number $c$, `trials` times,
# with positive and negative numbers in them. Say `False` as
# soon as one fails, `True` if none does. A test of this kind can prove that a map is *not* linear. That it never fails
# on random vectors is no proof, but for a map that somebody can write down it is as good as one. Sums of floats are
# rounded: the two sides need only agree to rounding.


# %% key="is-linear-answer" exercise="01.3" covers="M3"
def is_linear(f, n_in: int, trials: int = 8) -> bool:
    """Whether f, a map on float64 vectors of length n_in, keeps sums and multiples.

    >>> is_linear(lambda v: 2 * v, 3), is_linear(lambda v: v + 1, 3)
    (True, False)
    """
    # SOLUTION
    for _ in range(trials):
        x, y = torch.randn(2, n_in, dtype=torch.float64)  # new ones for each trial
        c = float(torch.randn(()))
        additive = torch.allclose(f(x + y), f(x) + f(y))
        homogeneous = torch.allclose(f(c * x), c * f(x))
        if not (additive and homogeneous):
            return False
    return True
    # END


# %% key="is-linear-grade"
grade(is_linear)

# %% [markdown] key="is-linear-why" solution="01.3"
# #### Why it works
#
# Where a law is broken, it is broken for nearly all vectors, so a random pair finds it. A fixed pair may lie just
# where the map looks linear. `allclose` allows for rounding: $f(x + y)$ and $f(x) + f(y)$ add the same numbers in
# another order.
#
# **A second way** is the next cell: a map is linear exactly if it equals the matrix of 01.2 everywhere.
#
# **What the classic mistake looks like.** Testing only $f(0) = 0$ lets $x^2$ pass. Testing only multiples lets ReLU
# pass when all $c$ are positive. And `==` in place of `allclose` turns away honest linear maps, but not always: it
# looks like a map that is linear on some days.


# %% key="is-linear-second" solution="01.3"
def equals_its_matrix(f, n_in, trials=8):
    """A second way: compare with the matrix of the map."""
    matrix = matrix_of(f, n_in)
    tries = torch.randn(trials, n_in, dtype=torch.float64)
    return all(torch.allclose(f(v), matrix @ v) for v in tries)


check("01.3", equals_its_matrix)

# %% [markdown] key="linear-use-text"
# **Use it** on the six maps of the prediction.

# %% key="linear-use" tags=["demo"] covers="M3"
turn = tensor([[cos(radians(30)), -sin(radians(30))], [sin(radians(30)), cos(radians(30))]], dtype=torch.float64)
maps = {
    "turn by 30°": (lambda v: turn @ v, 2),
    "add 1": (lambda v: v + 1, 4),
    "ReLU": (lambda v: v.clamp(min=0), 4),
    "subtract the mean": (lambda v: v - v.mean(), 4),
    "divide by the length": (lambda v: v / v.norm(), 4),
    "x W_Q, from the model": (lambda v: v @ W_Q, len(W_Q)),
}
linear = use(is_linear)
found = {name: bool(linear(f, n)) for name, (f, n) in maps.items()}
show.table(
    [[name, "linear" if yes else "not linear"] for name, yes in found.items()],
    ["map", "verdict"],
    title="Which maps are linear?",
    note=f"{sum(found.values())} of {len(found)} keep both laws. Compare with your guess.",
)

# %% [markdown] key="why-learning" covers="M3"
# <details><summary>What you see, and why</summary>
#
# Turning, $x W_Q$ and subtracting the mean are linear; the last surprises many, but a mean of a mixture is the mixture
# of the means. Adding 1 breaks both laws. ReLU keeps multiples only when $c$ is not negative, and it does not keep
# sums. Dividing by the length forgets all of $c$ but its sign.
#
# </details>
#
# **Why does learning like linear maps?** They are cheap to apply, one matrix says all about them, and their slope is
# the same everywhere: a small change of a weight changes the output by the same amount wherever you stand. So the
# squared error of a linear model is a bowl without false valleys, and walking downhill leads to the bottom. See it: fit
# $w x$ to data made with $w = 3$, and fit $\sin(w x)$ to data made with $w = 3$:

# %% key="bowl" tags=["demo"]
x = torch.linspace(-2, 2, 41)  # [data]
w = torch.linspace(-4, 8, 121)[:, None]  # [w 1], meets every x
bowl = (w * x - 3 * x).square().mean(-1)  # [w]
waves = ((w * x).sin() - (3 * x).sin()).square().mean(-1)  # [w]

show.lines(
    w[:, 0],
    {"w·x, linear": bowl / bowl.max(), "sin(w·x)": waves / waves.max()},
    title="The error of two models against their one weight",
    note="Downhill on the bowl leads to w = 3 from anywhere. Among the waves it may end in a wrong valley.",
    x_name="weight w",
    y_name="mean squared error ÷ its largest",
    marks={"the right w": 3},
)

# %% [markdown] key="why-not-only"
# Why not only linear maps, then? Because one after another is again one linear map, as you are about to see. A deep
# network of linear maps is no deeper than one matrix. GPT-2 is made of linear maps with a few other things between:
# softmax (below), LayerNorm (chapter 04) and GELU (chapter 06).

# %% [markdown] key="composition" covers="M6" terms="composition"
# ## 5 · One map after another
#
# First the map $B$, then the map $A$: $x \mapsto A(Bx)$. The map that does both at once is the **composition**. It is
# linear again, so it has a matrix, the product $AB$. Read it from the right, like $f(g(x))$: what stands next to $x$
# acts first.

# %% [markdown] key="predict-order" tags=["predict"]
# **Predict.** *Turn*: a quarter turn to the left. *Stretch*: every $x_1$ twice as large. Where does $e_1 = (1, 0)$ end
# if you turn first and then stretch? And if you stretch first and then turn? Draw it before you run on.

# %% key="guess-order" tags=["predict"]
my_guess = "?"  # two points, such as (0, 1) and (2, 0)

# %% [markdown] key="compose"
# ### Exercise 01.4 · Compose
#
# *difficulty 1 · 5 minutes · stuck?* `hint("01.4")`
#
# $$(AB)_{ik} = \sum_j A_{ij} B_{jk}$$
#
# $A$ is `outer`, the map that acts last, $B$ is `inner`, the one that acts first; $j$ runs over the numbers in between.
# Vectors are columns.


# %% key="compose-answer" exercise="01.4" covers="M6"
def compose(
    outer: Float[Tensor, "n_out n_mid"],
    inner: Float[Tensor, "n_mid n_in"],
) -> Float[Tensor, "n_out n_in"]:
    """The matrix of x ↦ outer(inner x).

    >>> compose(tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]])).tolist()  # 1·3 + 2·4
    [[11.0]]
    """
    # SOLUTION
    return outer @ inner  # [n_out n_mid] @ [n_mid n_in]
    # END


# %% key="compose-grade"
grade(compose)

# %% [markdown] key="compose-why" solution="01.4"
# #### Why it works
#
# Column $k$ of `inner` is where $e_k$ goes first. Then `outer` acts on it. So column $k$ of the product is `outer`
# times column $k$ of `inner`: a product of matrices is the column reading, done for each column.
#
# **A second way** writes that out: `torch.stack([outer @ column for column in inner.T], dim=1)`.
#
# **What the classic mistake looks like.** `inner @ outer` has a fitting shape whenever `outer` leads back to vectors of
# the first length, and then it is silently another map. `outer * inner`, cell by cell, is no composition of anything.

# %% key="turn-then-stretch" tags=["demo"]
quarter = tensor([[0.0, -1.0], [1.0, 0.0]])
stretch = tensor([[2.0, 0.0], [0.0, 1.0]])
both = use(compose)

show.grid_map(
    both(stretch, quarter),
    title="First turn, then stretch",
    note="e₁ is turned to (0, 1), and the stretch along x₁ does nothing to it.",
)

# %% key="stretch-then-turn" tags=["demo"]
show.grid_map(
    both(quarter, stretch),
    title="First stretch, then turn",
    note="e₁ is stretched to (2, 0) and then turned to (0, 2). Another order, another map.",
)

# %% [markdown] key="grouping" covers="M6" terms="associative, commutative"
# The order matters: products of matrices are **not commutative**, $AB \ne BA$ in general. The grouping does not: they
# are **associative**, $(AB)C = A(BC)$, because both say "first $C$, then $B$, then $A$". And to undo two steps, undo
# the last one first, like socks and shoes: $(AB)^{-1} = B^{-1}A^{-1}$.

# %% key="grouping-checked" tags=["demo"] covers="M6"
A, B, C = torch.randn(3, 4, 4, generator=rng, dtype=torch.float64)
inverse = torch.linalg.inv
print("(AB)C = A(BC):  ", torch.allclose(both(both(A, B), C), both(A, both(B, C))))
print("AB = BA:        ", torch.allclose(both(A, B), both(B, A)))
print("(AB)⁻¹ = B⁻¹A⁻¹:", torch.allclose(inverse(both(A, B)), both(inverse(B), inverse(A))))
print("(AB)⁻¹ = A⁻¹B⁻¹:", torch.allclose(inverse(both(A, B)), both(inverse(A), inverse(B))))

# %% [markdown] key="transpose" covers="M5" terms="transpose"
# ## 6 · The transpose: a way back
#
# The **transpose** $A^\top$ has the rows of $A$ as its columns: $(A^\top)_{ji} = A_{ij}$. Do it twice and nothing has
# happened, $(A^\top)^\top = A$. If $A$ takes vectors of a space $U$ to a space $V$, then $A^\top$ takes vectors of $V$
# back to $U$. With a tall $A$ the shapes show it:

# %% key="transpose-shapes" tags=["demo"]
A = tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])  # from U, 2 numbers, to V, 3 numbers
u, v = tensor([1.0, 1.0]), tensor([2.0, 0.0, 1.0])
print("A u, in V, has the shape ", tuple((A @ u).shape))
print("Aᵀv, in U, has the shape ", tuple((A.T @ v).shape))
print("(A u)·v =", float((A @ u) @ v), "   u·(Aᵀv) =", float(u @ (A.T @ v)))
print("transposed twice, nothing:", torch.equal(A.T.T, A))

# %% [markdown] key="transpose-meaning" covers="M5"
# The third line is what the transpose is *for*: comparing in $V$ after the map gives the same as comparing in $U$
# after the way back, $(Au) \cdot v = u \cdot (A^\top v)$. It is a way back, but in general **not the same as undoing**.
# Look at a shear, its transpose, and both in turn:

# %% key="shear" tags=["demo"]
shear = tensor([[1.0, 1.0], [0.0, 1.0]])
show.grid_map(shear, title="A shear, A", note="It slides the upper part of the plane to the right: e₂ goes to (1, 1).")

# %% key="shear-transposed" tags=["demo"]
show.grid_map(shear.T, title="Its transpose, Aᵀ", note="It slides the right part upwards: e₁ goes to (1, 1).")

# %% key="shear-and-back" tags=["demo"]
show.grid_map(
    shear.T @ shear,
    title="First A, then Aᵀ: the matrix AᵀA",
    note="The grid is not back where it was, so here the transpose does not undo the map.",
)

# %% [markdown] key="transpose-of-product"
# ### Exercise 01.5 · The transpose of a product
#
# *difficulty 2 · 5 minutes · stuck?* `hint("01.5")`
#
# Give $(AB)^\top$, made from $A^\top$ and $B^\top$ only. The shapes nearly tell you: $A$ is [rows, mid], $B$ is [mid,
# columns]. Think of the way back after two steps. (Any way of computing the right tensor passes.)


# %% key="transpose-of-product-answer" exercise="01.5" covers="M5, M6"
def transpose_of_product(
    A: Float[Tensor, "rows mid"],
    B: Float[Tensor, "mid columns"],
) -> Float[Tensor, "columns rows"]:
    """(AB)ᵀ, from the two transposes.

    >>> transpose_of_product(tensor([[1.0, 2.0]]), tensor([[1.0, 0.0, 3.0], [0.0, 1.0, 0.0]])).tolist()
    [[1.0], [2.0], [3.0]]
    """
    # SOLUTION
    return B.T @ A.T  # [columns mid] @ [mid rows]
    # END


# %% key="transpose-of-product-grade"
grade(transpose_of_product)

# %% [markdown] key="transpose-of-product-why" solution="01.5"
# #### Why it works
#
# $AB$ goes from $U$ through $M$ to $V$: first $B$, then $A$. The way back begins in $V$, where only $A^\top$ can
# start, and goes on with $B^\top$. What acts first stands on the right: $(AB)^\top = B^\top A^\top$. In cells: the cell
# $(j, i)$ is row $i$ of $A$ times column $j$ of $B$, which is row $j$ of $B^\top$ times column $i$ of $A^\top$.
#
# **A second way**: `torch.einsum("rm,mc->cr", A, B)` says which axes the result has and needs no rule.
#
# **What the classic mistake looks like.** $A^\top B^\top$ has shapes that do not fit, unless the matrices are square or
# happen to match. There it runs, and gives $(BA)^\top$.

# %% [markdown] key="rotations" covers="M5" terms="rotation, reflection"
# ### Maps whose transpose does undo them
#
# $A^\top A$ holds the dot products of $A$'s columns with one another. If it is the identity $I$, every column has
# length 1 and stands at a right angle to the others. Such a map keeps all lengths and angles. In the plane two kinds
# do: **rotations**, which turn, and **reflections**, which mirror. $A^\top A = I$ does not tell them apart. The
# determinant does: +1 for a rotation, −1 for a reflection. (In more dimensions −1 is a mirror, and perhaps a turn too.)

# %% key="a-rotation" tags=["demo"]
angle = radians(60)
rotation = tensor([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
show.grid_map(
    rotation,
    title="A rotation by 60°",
    note="From e₁ to e₂ it is still a quarter turn to the left, as before the map.",
)

# %% key="a-reflection" tags=["demo"]
reflection = tensor([[cos(angle), sin(angle)], [sin(angle), -cos(angle)]])
show.grid_map(
    reflection,
    title="A reflection in the line at 30°",
    note="From e₁ to e₂ it is now a quarter turn to the right: the plane has been turned over.",
)

# %% [markdown] key="is-rotation"
# ### Exercise 01.6 · Is it a rotation?
#
# *difficulty 3 · 15 minutes · stuck?* `hint("01.6")`
#
# $$A^\top A = I \quad\text{and}\quad \det A = +1$$
#
# $I$ is the identity, 1 on the diagonal and 0 elsewhere; $\det$ is the determinant, `torch.linalg.det`, which exists
# for square matrices only. A matrix may have any shape; one that is not square is no rotation. Allow differences up to
# 1e-5, and no more. $A$ may be float32 or float64, and what you compare it with has to be of the same dtype.


# %% key="is-rotation-answer" exercise="01.6" covers="M5"
def is_rotation(A: Float[Tensor, "rows columns"]) -> bool:
    """Whether A turns and does nothing else.

    >>> is_rotation(tensor([[0.0, -1.0], [1.0, 0.0]])), is_rotation(tensor([[1.0, 0.0], [0.0, -1.0]]))
    (True, False)
    """
    # SOLUTION
    if A.shape[0] != A.shape[1]:
        return False
    identity = torch.eye(len(A), dtype=A.dtype, device=A.device)
    keeps_lengths = torch.allclose(A.T @ A, identity, atol=1e-5)
    return keeps_lengths and abs(float(torch.linalg.det(A)) - 1) < 1e-5
    # END


# %% key="is-rotation-grade"
grade(is_rotation)

# %% [markdown] key="is-rotation-why" solution="01.6"
# #### Why it works
#
# $\det(A^\top A) = (\det A)^2$, so $A^\top A = I$ leaves $\det A = \pm 1$: the plane is kept in size and may be turned
# over. The sign decides. The shape is asked first, because a tall matrix can have $A^\top A = I$ as well (columns at
# right angles in a larger space), and a determinant it has not.
#
# **A second way** is the next cell: the inverse equals the transpose.
#
# **What the classic mistakes look like.** With the determinant alone a shear passes. With $A^\top A = I$ alone a mirror
# passes. With `torch.allclose` as it comes, rotations are turned away: beside a 0 it allows 1e-8 only, and the cosines
# are rounded.


# %% key="is-rotation-second" solution="01.6"
def undone_by_its_transpose(A):
    """A second way: A⁻¹ = Aᵀ, and not turned over. (Only a matrix far from flat is inverted.)"""
    if A.shape[0] != A.shape[1] or torch.linalg.det(A) < 0.5:
        return False
    return bool((torch.linalg.inv(A) - A.T).abs().max() < 1e-5)


check("01.6", undone_by_its_transpose)

# %% key="rotation-use" tags=["demo"] covers="M5"
kinds = {"rotation": rotation, "reflection": reflection, "shear": shear, "1.5 × rotation": 1.5 * rotation}
turns = use(is_rotation)
rows = []
for name, A in kinds.items():
    back = A.T @ A
    gap = (back - torch.eye(2)).abs().max()
    said = ["yes" if yes else "no" for yes in (gap < 1e-5, turns(A))]
    rows.append([name, said[0], signed(float(torch.linalg.det(A)), 2), said[1]])


show.table(
    rows,
    ["map", "AᵀA = I?", "determinant", "is it a rotation?"],
    title="Four maps of the plane",
    note="Only one passes both tests: lengths are kept, and the plane is not turned over.",
)

# %% [markdown] key="bases" covers="M2" terms="change of basis"
# ## 7 · The same map in another basis
#
# A matrix belongs to a map *and* a basis. Take other basis vectors, the columns of a matrix $P$, and the same map gets
# another matrix. A vector with coordinates $x$ along $P$'s columns is $Px$ in the old coordinates, by the column
# reading. To go the other way, apply $P^{-1}$.

# %% [markdown] key="change-basis"
# ### Exercise 01.7 · Change the basis
#
# *difficulty 3 · 10 minutes · stuck?* `hint("01.7")`
#
# $A$ is the matrix of a map in the old coordinates. Give the matrix of the same map in coordinates along the columns of
# $P$: it takes new coordinates in and gives new coordinates out. There are three steps. Say each in words, then write
# them down in the order in which they stand next to $x$. `torch.linalg.inv` gives the inverse.


# %% key="change-basis-answer" exercise="01.7" covers="M2, M6"
def change_basis(A: Float[Tensor, "n n"], P: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """The map A, written in the basis of P's columns.

    >>> swap, longer = tensor([[0.0, 1.0], [1.0, 0.0]]), tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> change_basis(swap, longer).tolist()
    [[0.0, 0.5], [2.0, 0.0]]
    """
    # SOLUTION
    # From the right: into old coordinates, the map, back into new coordinates.
    return torch.linalg.inv(P) @ A @ P
    # END


# %% key="change-basis-grade"
grade(change_basis)

# %% [markdown] key="change-basis-why" solution="01.7"
# #### Why it works
#
# $x$ in new coordinates is $Px$ in old ones; the map makes $APx$ of it; $P^{-1}$ tells the result in new coordinates.
# So the matrix is $P^{-1} A P$.
#
# **A second way** is `torch.linalg.solve(P, A @ P)`: it asks for the matrix $X$ with $PX = AP$, which is the same thing
# without an inverse, and numerically a little better.
#
# **What the classic mistake looks like.** $P A P^{-1}$ is the way from new to old, done the wrong way round. $P^\top A P$
# is right as long as $P$ is a rotation, because then $P^\top = P^{-1}$, and wrong as soon as it is not.

# %% [markdown] key="own-directions-text"
# **Use it.** The first picture shows $A = \begin{pmatrix} 2 & 1 \\ 1 & 2 \end{pmatrix}$. It makes the
# diagonal $(1, 1)$ three times as long and leaves the diagonal $(1, -1)$ as it is. In a basis of these two its matrix says just that.

# %% key="own-directions-before" tags=["demo"]
A = tensor([[2.0, 1.0], [1.0, 2.0]])
show.grid_map(A, title="A map in the usual basis", note="Neither arrow keeps its direction, but both diagonals do.")

# %% key="own-directions" tags=["demo"]
P = tensor([[1.0, 1.0], [1.0, -1.0]])
show.grid_map(
    use(change_basis)(A, P).round(decimals=4),
    title="The same map in the basis (1, 1), (1, −1)",
    note="In this basis each arrow keeps its direction: the first becomes three times as long, the second stays.",
)

# %% [markdown] key="no-meaning-text" covers="M2, M5"
# Why care? Because the numbers of a query or a key have no meaning one by one. Turn all queries and all keys of a head
# by the same rotation $R$, and every dot product stays: $(R q) \cdot (R k) = q \cdot (R^\top R\, k) = q \cdot k$. The
# model cannot tell, and no axis is special. With a head of the pocket model and a random rotation:

# %% key="no-meaning" tags=["demo"]
_, cache = model.run_with_cache(sentence)  # every activation of the model on this sentence
q, k = cache["q", 0][0, :, 0], cache["k", 0][0, :, 0]  # layer 0, head 0: [pos d_head]
R, _ = torch.linalg.qr(torch.randn(q.shape[-1], q.shape[-1], generator=rng))  # [d_head d_head], RᵀR = I
R[:, 0] *= torch.linalg.det(R).sign()  # det R = +1: no mirror
turned_q, turned_k = q @ R.T, k @ R.T  # each row turned: [pos d_head]

print("the queries have changed:   ", not torch.allclose(q, turned_q, atol=1e-3))
print("the dot products have not:  ", torch.allclose(q @ k.T, turned_q @ turned_k.T, atol=1e-2))

# %% [markdown] key="retrieval" covers="M7" terms="query, key, value"
# ## 8 · Retrieval: find me a video
#
# You type "dog", and out of a million videos a few come up. Three kinds of vectors are at work:
#
# - the **query**: what you look for;
# - each item's **key**: what it can be found by;
# - each item's **value**: what you get when it is found.
#
# Queries and keys live in one space, so that they can be compared. Here that space is a plane: axis 0 for *dog*, axis 1
# for *cat*. A video's key says how much there is of each. Its value is what you would experience: minutes, and laughs a
# minute. A value may be of any length; it is never compared with anything.

# %% key="videos" tags=["demo"]
videos = ["Puppy school", "Ten cat naps", "Dog meets cat", "Train driver's view", "Cat scares dog"]
keys = tensor([[2.0, 0.0], [0.0, 2.0], [1.5, 1.5], [0.0, 0.0], [0.5, 1.5]])  # dog, cat: [item d]
values = tensor([[12.0, 1.0], [10.0, 2.0], [4.0, 6.0], [60.0, 0.0], [1.0, 9.0]])  # minutes, laughs: [item d_value]
asked = ["dog", "cat", "dog cat"]
queries = tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # [query d]

show.points(
    torch.cat([keys, queries]),
    videos + [f'"{words}"' for words in asked],
    groups=["key of a video"] * len(videos) + ["query"] * len(asked),
    title="Five videos and three queries in one plane",
    note="A video fits a query that points the same way. A longer key counts for more.",
    x_name="how much dog",
    y_name="how much cat",
)

# %% [markdown] key="matching" covers="M7" terms="score"
# How well does a key $k$ fit a query $q$? By the dot product $q \cdot k$: large if they point the same way, 0 at a right
# angle, negative if opposed. The number is called a **score**. With the queries as rows of $Q$ and the keys as rows of
# $K$, one product gives all scores at once: $QK^\top$. Row: a query. Column: an item.

# %% key="all-scores" tags=["demo"] covers="M7"
show.matrix(
    queries @ keys.T,  # [query d] @ [d item] → [query item]
    rows=asked,
    columns=videos,
    title="QKᵀ: how well does each video fit each query?",
    note='Check one cell by hand: "dog cat" with Dog meets cat is 1 · 1.5 + 1 · 1.5 = 3.',
    row_name="query",
    column_name="video",
    value_name="score",
)

# %% [markdown] key="lookup"
# ### Exercise 01.8 · Look up
#
# *difficulty 1 · 5 minutes · stuck?* `hint("01.8")`
#
# $$\text{result} = v_{i^*} \qquad i^* = \operatorname*{argmax}_i \; q \cdot k_i$$
#
# $q$ is one query; $k_i$ and $v_i$ are the key and the value of item $i$. Return the value of the item whose key has the
# largest dot product with the query. There are no ties.


# %% key="lookup-answer" exercise="01.8" covers="M7"
def lookup(
    query: Float[Tensor, "d"],
    keys: Float[Tensor, "item d"],
    values: Float[Tensor, "item d_value"],
) -> Float[Tensor, "d_value"]:
    """The value of the best-fitting item.

    >>> lookup(tensor([1.0, 0.0]), tensor([[2.0, 0.0], [0.0, 3.0]]), tensor([[12.0], [10.0]])).tolist()
    [12.0]
    """
    # SOLUTION
    best = (keys @ query).argmax()  # one score for each item, [item]; the place of the largest
    return values[best]  # [d_value]
    # END


# %% key="lookup-grade"
grade(lookup)

# %% [markdown] key="lookup-why" solution="01.8"
# #### Why it works
#
# `keys @ query` is the row reading: each key meets the query in a dot product. `argmax` gives the place of the largest.
# The value of that place is what was asked for.
#
# **What the classic mistake looks like.** Comparing directions only, or distances, finds another item where a long key
# wins by its length. Returning the key gives a vector that looks reasonable and has the wrong number of axes as soon as
# values are not as long as keys.

# %% key="lookup-second" solution="01.8"
# A second way: a one-hot row, 1 for the best and 0 for the others, times the values. It is section 9's idea already.
scores = keys @ queries[0]  # [item]
one_hot = (scores == scores.max()).float()  # [item]
torch.equal(one_hot @ values, lookup(queries[0], keys, values))

# %% key="lookup-use" tags=["demo"]
look = use(lookup)
rows = []
for words, query in zip(asked, queries, strict=True):
    minutes, laughs = look(query, keys, values).tolist()
    title = videos[values.tolist().index([minutes, laughs])]
    rows.append([words, title, minutes, laughs])

show.table(
    rows,
    ["query", "found", "minutes", "laughs a minute"],
    title="What the three queries find",
    note="One query, one video: all or nothing.",
)

# %% [markdown] key="hard-fails" covers="M9"
# All or nothing has a price. Let the query go slowly from "dog" to "cat": for a while nothing changes, then the result
# jumps to another video. A learner who wants to know *which way to move the query* gets no answer: on the flat
# stretches the slope is 0, and at the jumps there is none. A model that learns by following slopes cannot learn such a
# lookup. It needs a softer one: of every value a little, and most of the best.

# %% [markdown] key="softmax-text" covers="M9" terms="softmax"
# ## 9 · Softmax: from scores to shares
#
# To take "of every value a little" we need a share for each item: positive, and together 1. The **softmax** makes them
# from scores in two steps. $e^x$ makes every number positive and keeps the order. Dividing by the sum makes them add up
# to 1.
#
# $$\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$

# %% key="softmax-by-hand" tags=["demo"]
scores = keys @ queries[2]  # of "dog cat": [item]
powers = torch.exp(scores)
parts = [[name, s, p, p / powers.sum()] for name, s, p in zip(videos, scores, powers, strict=True)]
show.table(
    parts,
    ["video", "score", "e^score", "share"],
    title='Scores and shares for "dog cat"',
    note=f"The powers sum to {powers.sum():.1f}; each share is a power divided by that, and the shares sum to 1.",
)

# %% [markdown] key="predict-shift" tags=["predict"]
# **Predict.** Add 100 to all five scores. What becomes of the shares?
#
# - **a**: all nearly equal, since 103 and 102 hardly differ;
# - **b**: the best gets nearly everything;
# - **c**: nothing changes.

# %% key="guess-shift" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="shift" tags=["demo"] covers="M9"
by_100 = torch.softmax(scores + 100, dim=-1)
times_3 = torch.softmax(scores * 3, dim=-1)
as_they_are = torch.softmax(scores, dim=-1)
show.bars(
    list(zip(videos, torch.stack([as_they_are, by_100, times_3], dim=-1).tolist(), strict=True)),
    series=["as they are", "100 added", "times 3"],
    title="Shares from scores, moved and multiplied",
    note="Adding the same to all changes nothing. Multiplying makes the best stand out more.",
    x_name="video",
    y_name="share",
)

# %% [markdown] key="shift-answer" covers="M9"
# <details><summary>What you see, and why</summary>
#
# It is **c**. $e^{x + 100} = e^{x} e^{100}$, and the factor $e^{100}$ stands above and below the fraction line. So the
# softmax sees only *differences*: a lead of 1 is a factor of 2.7, wherever the scores lie.
#
# </details>
#
# Three properties, and each will matter:
#
# - scores become **relative**: only leads count;
# - **few are picked**: a lead grows exponentially, so the best take most of it, but nobody gets exactly 0, unless a float
#   is rounded to it;
# - it has a **slope** everywhere: a small change of a score changes all shares a little, so it can be learned through.
#
# The first one is of use to you at once: $e^{10000}$ is too large for any float, but you may move the scores first.

# %% [markdown] key="softmax"
# ### Exercise 01.9 · Softmax
#
# *difficulty 3 · 15 minutes · stuck?* `hint("01.9")`
#
# $$\operatorname{softmax}(x)_i = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}$$
#
# $x$ is a row of scores along the axis `dim`; $j$ runs along it too; $m$ may be any number, as the prediction showed.
# Choose it so that no row overflows, and none becomes 0 / 0: scores of ±10,000 must do. Each row along `dim` sums to 1
# by itself. torch's own softmax is not allowed here, once.


# %% key="softmax-answer" exercise="01.9" covers="M9"
def softmax(x: Float[Tensor, "... d"], dim: int = -1) -> Float[Tensor, "... d"]:
    """Positive shares that sum to 1 along `dim`.

    >>> softmax(tensor([[0.0, 0.0], [10_000.0, -10_000.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    # SOLUTION
    largest = x.amax(dim, keepdim=True)  # its own for each row; the axis stays, with length 1
    powers = (x - largest).exp()  # no exponent above 0, and one that is 0
    return powers / powers.sum(dim, keepdim=True)
    # END


# %% key="softmax-grade"
grade(softmax)

# %% [markdown] key="softmax-why" solution="01.9"
# #### Why it works
#
# With $m$ the row's largest score, the largest exponent is 0. Nothing overflows, and the sum is at least 1, so there is
# no division by 0. What is far below becomes 0, which is right to many digits.
#
# **What the classic mistakes look like.** Without $m$ everything is right until scores pass 88 (float32), and then NaN
# appears. With one $m$ for the whole tensor it is right until rows lie far apart: then a whole row is 0 / 0. Both pass
# a quick try on small numbers, which is why the grader uses large ones.


# %% key="softmax-second" solution="01.9"
def from_leads(x, dim=-1):
    """A second way: 1 / (the sum of e to the lead of each other score over mine)."""
    x = x.movedim(dim, -1)  # [... d]
    leads = x.unsqueeze(-2) - x.unsqueeze(-1)  # [... d d]
    return (1 / leads.exp().sum(-1)).movedim(-1, dim)


check("01.9", from_leads)

# %% [markdown] key="why-root" covers="M8" terms="spread, entropy"
# ## 10 · Why divide by √d?
#
# In the plane scores were small. A model's queries and keys have $d$ numbers, 64 in GPT-2. What happens to the scores
# as $d$ grows? One product $q_c k_c$ of independent numbers with mean 0 and variance 1 has mean 0 and variance 1. The
# dot product is a sum of $d$ of them. Variances of independent numbers add: its variance is $d$, its **spread**
# (standard deviation) $\sqrt d$.
#
# How many items share the weight? That is measured by the **entropy** of the shares, $-\sum_i p_i \ln p_i$: it is 0 when
# one item has everything, and $\ln n$ when all $n$ have the same. $e^{\text{entropy}}$ reads as a number of items.

# %% [markdown] key="predict-entropy" tags=["predict"]
# **Predict.** Sixteen random keys, random queries, $d = 256$, no division. How many of the sixteen share the weight, as
# $e^{\text{entropy}}$: about 16, about 8, or about 1?

# %% key="guess-entropy" tags=["predict"]
my_guess = "?"  # 16, 8 or 1

# %% key="measure" tags=["demo"] covers="M8"
sizes, n_keys = [2, 4, 8, 16, 32, 64, 128, 256], 16


def measure(d, divide_by):
    """For random queries and keys: the scores' spread, the shares' entropy, the softmax's slope."""
    some_queries = torch.randn(2000, 1, d, generator=rng)  # [sample 1 d]
    some_keys = torch.randn(2000, n_keys, d, generator=rng)  # [sample item d]
    scores = (some_queries * some_keys).sum(-1) / divide_by  # [sample item]
    p = scores.softmax(-1)
    entropy = -(p * p.clamp(min=1e-30).log()).sum(-1)  # [sample]
    slope = torch.diag_embed(p) - p[:, :, None] * p[:, None]  # ∂pᵢ/∂scoreⱼ: [sample item item]
    size = slope.flatten(1).norm(dim=-1)  # [sample]
    return scores.std().item(), entropy.mean().item(), size.median().item()


raw = tensor([measure(d, 1) for d in sizes])  # [size 3]
scaled = tensor([measure(d, d**0.5) for d in sizes])  # [size 3]
names = [str(d) for d in sizes]

# %% key="spread" tags=["demo"] covers="M8"
show.lines(
    names,
    {"q · k": raw[:, 0], "q · k ÷ √d": scaled[:, 0]},
    title="The spread of scores of random vectors",
    note=f"At d = 256 the spread is {raw[-1, 0]:.1f} without the division (√256 = 16) and {scaled[-1, 0]:.2f} with it.",
    x_name="d, numbers in a key",
    y_name="spread of the scores",
)

# %% key="entropy" tags=["demo"] covers="M8"
show.lines(
    names,
    {"softmax(q · k)": raw[:, 1], "softmax(q · k ÷ √d)": scaled[:, 1]},
    title="How many keys share the weight",
    note=f"At d = 256 it is {raw[-1, 1].exp():.1f} keys without the division and {scaled[-1, 1].exp():.1f} with it.",
    x_name="d, numbers in a key",
    y_name="entropy (nats)",
    levels={"all sixteen alike": log(n_keys)},
)

# %% key="slope" tags=["demo"] covers="M8"
show.lines(
    names,
    {"softmax(q · k)": raw[:, 2], "softmax(q · k ÷ √d)": scaled[:, 2]},
    title="The slope of the softmax",
    note=f"At d = 256 it is {raw[-1, 2] / raw[0, 2]:.0%} of what it is at d = 2 without the division, "
    f"and {scaled[-1, 2] / scaled[0, 2]:.0%} with it.",
    x_name="d, numbers in a key",
    y_name="typical (median) size of ∂share/∂score",
)

# %% [markdown] key="saturated" covers="M8" terms="saturated"
# <details><summary>What you see, and why</summary>
#
# About **1**. With a spread of 16 the best score leads by several units, and each unit is a factor of 2.7. One key takes
# nearly all.
#
# </details>
#
# Where one share is near 1 and the others near 0, the softmax is **saturated**: a small change of the scores changes
# next to nothing. The slope $\partial p_i / \partial s_j$ is $p_i(1 - p_i)$ for $i = j$ and $-p_i p_j$ otherwise, and
# all of these go to 0 there. What learning sends back through it is multiplied by that slope: the gradient dies.
# Dividing by $\sqrt d$ keeps the spread at 1, whatever $d$ is.

# %% [markdown] key="scaled-scores"
# ### Exercise 01.10 · Scaled scores
#
# *difficulty 2 · 5 minutes · stuck?* `hint("01.10")`
#
# $$S = \frac{QK^\top}{\sqrt d}$$
#
# Row $i$ of $Q$ is a query, row $j$ of $K$ a key, both of length $d$. $S_{ij}$ is the scaled score of query $i$ with key
# $j$.


# %% key="scaled-scores-answer" exercise="01.10" covers="M7, M8"
def scaled_scores(
    Q: Float[Tensor, "query_pos d"],
    K: Float[Tensor, "key_pos d"],
) -> Float[Tensor, "query_pos key_pos"]:
    """How well each key fits each query, at a size that does not grow with d.

    >>> scaled_scores(tensor([[1.0, 1.0, 1.0, 1.0]]), tensor([[4.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]])).tolist()
    [[2.0, 1.0]]
    """
    # SOLUTION
    return Q @ K.T / Q.shape[-1] ** 0.5  # [query_pos d] @ [d key_pos]
    # END


# %% key="scaled-scores-grade"
grade(scaled_scores)

# %% [markdown] key="scaled-scores-why" solution="01.10"
# #### Why it works
#
# $Q$ has queries as rows and $K^\top$ has keys as columns, so each cell is one dot product. The length of a query is the
# last axis; how many queries or keys there are does not matter to the size of one score.
#
# **A second way**: scale the queries first, `(Q / d ** 0.5) @ K.T`. It is the same, and on a GPU in half precision it
# is safer, because the large numbers never come up.
#
# **What the classic mistake looks like.** Without the scale, everything has the right shape and order, and the shares
# are merely too sharp. Dividing by $d$ makes them too even. Neither crashes.

# %% [markdown] key="soft-lookup-text" covers="M10"
# ## 11 · Soft lookup
#
# Put together, from left to right:
#
# $$\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt d}\right) V$$
#
# 1. $Q$: the queries, one a row.
# 2. $K^\top$: compared with every key. $QK^\top$ has a row for each query, a column for each item.
# 3. $/\sqrt d$: the scores at a size that the softmax can work with.
# 4. softmax, along each row: every query has a weight of 1 to give away among the items.
# 5. $V$: the values, one a row, mixed with those weights. The result has a row for each query.
#
# Some write $KQ^\top$. That is the transpose, $(QK^\top)^\top$: now each *column* belongs to a query, the softmax has to
# run down the columns, and the mixture is $\operatorname{softmax}(\cdot)^\top V$. Those who write vectors as columns
# have $K^\top Q$ and $V \operatorname{softmax}(\cdot)$ for it. Ask of every formula: which axis is a query, and along
# which axis do the weights sum to 1?

# %% [markdown] key="soft-lookup"
# ### Exercise 01.11 · Soft lookup
#
# *difficulty 3 · 10 minutes · stuck?* `hint("01.11")`
#
# The formula above. $d$ is the length of a key; values may have another length. There may be more axes in front (texts,
# heads), the same ones in all three: then each of them is a lookup by itself. Your own `softmax` may be used, or
# torch's. torch's `scaled_dot_product_attention` does the whole exercise and is not allowed.


# %% key="soft-lookup-answer" exercise="01.11" covers="M10"
def soft_lookup(
    Q: Float[Tensor, "... query_pos d"],
    K: Float[Tensor, "... key_pos d"],
    V: Float[Tensor, "... key_pos d_value"],
) -> Float[Tensor, "... query_pos d_value"]:
    """softmax(QKᵀ/√d)V.

    >>> soft_lookup(torch.zeros(1, 2), tensor([[1.0, 5.0], [7.0, 2.0]]), tensor([[4.0], [8.0]])).tolist()
    [[6.0]]
    """
    # SOLUTION
    scores = Q @ K.transpose(-1, -2) / Q.shape[-1] ** 0.5  # [... query_pos key_pos]
    return scores.softmax(dim=-1) @ V  # [... query_pos key_pos] @ [... key_pos d_value]
    # END


# %% key="soft-lookup-grade"
grade(soft_lookup)

# %% [markdown] key="soft-lookup-why" solution="01.11"
# #### Why it works
#
# The scores have the keys on the last axis, so the softmax runs along −1, and the product with $V$ sums over the same
# axis. `K.transpose(-1, -2)` swaps the last two axes only, so that anything may stand in front. (`K.T` turns *all* axes
# around, and is right for two of them.)
#
# **What the classic mistake looks like.** A softmax along the queries gives columns that sum to 1. Rows do not, and the
# result is no mixture any more: where all values are 1, it is not 1. The grader tries just that.


# %% key="soft-lookup-second" solution="01.11"
def from_the_other_order(Q, K, V):
    """A second way, KQᵀ: keys in the rows, so that the shares run down the columns."""
    columns = (K @ Q.mT / K.shape[-1] ** 0.5).softmax(dim=-2)  # [... key_pos query_pos]
    return columns.mT @ V


check("01.11", from_the_other_order)

# %% [markdown] key="soft-and-hard-text" covers="M9"
# **Use it.** The query goes from "dog" to "cat" again, now with both lookups. (The soft one's
# query is six times as long, so that it decides nearly as firmly.)

# %% key="soft-and-hard" tags=["demo"] covers="M10"
share = torch.linspace(0, 1, 401)  # of cat in the query
path = torch.stack([1 - share, share], dim=-1)  # from dog to cat: [query d]
hard = torch.stack([look(query, keys, values) for query in path])  # [query d_value]
soft = use(soft_lookup)(6 * path, keys, values)  # [query d_value]

show.lines(
    share,
    {"hard lookup": hard[:, 1], "soft lookup": soft[:, 1]},
    title="What is found as the query goes from dog to cat",
    note="The hard lookup is flat or jumps. The soft one has a slope, so a query can be improved step by step.",
    x_name="share of cat in the query",
    y_name="laughs a minute",
)

# %% [markdown] key="self-attention-text" covers="M11" terms="self-attention, pattern"
# ## 12 · A text that asks itself
#
# With videos the query came from you. In a language model there is only the text: each token asks, each token can be
# found, each token has something to hand over. Queries, keys and values are all made from the **same** rows $X$, by
# three linear maps:
#
# $$Q = X W_Q \qquad K = X W_K \qquad V = X W_V$$
#
# That is **self-attention**, and the weights of all queries over all keys are its **pattern**. And here is the answer to
# the question of section 1: a word can look for something unlike itself because what it *asks* ($W_Q$) and what it *is
# found by* ($W_K$) are two different maps of it.

# %% [markdown] key="self-attention"
# ### Exercise 01.12 · Self-attention
#
# *difficulty 3 · 10 minutes · stuck?* `hint("01.12")`
#
# $$\operatorname{softmax}\!\left(\frac{(XW_Q)(XW_K)^\top}{\sqrt{d_\text{head}}}\right) X W_V$$
#
# $X$ has a row for each token; each $W$ takes a row from d_model numbers to d_head. There is no mask here: every token
# may look at every other. (GPT-2 looks back only; that comes in chapter 05.) If you skipped 01.11, `use(soft_lookup)`
# is the book's.


# %% key="self-attention-answer" exercise="01.12" covers="M10, M11"
def self_attention(
    X: Float[Tensor, "pos d_model"],
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    W_V: Float[Tensor, "d_model d_head"],
) -> Float[Tensor, "pos d_head"]:
    """A soft lookup in which queries, keys and values come from the same rows.

    >>> one = torch.ones(1, 1)  # d_model = d_head = 1
    >>> self_attention(tensor([[1.0], [3.0]]), 0 * one, one, one).tolist()  # all scores 0: the mean
    [[2.0], [2.0]]
    """
    # SOLUTION
    return soft_lookup(X @ W_Q, X @ W_K, X @ W_V)  # each [pos d_head]
    # END


# %% key="self-attention-grade"
grade(self_attention)

# %% [markdown] key="self-attention-why" solution="01.12"
# #### Why it works
#
# Three linear maps make the three roles, and the rest is a soft lookup. Nothing in it knows in which order the tokens
# stand: shuffle the rows of $X$, and the same results come out, shuffled. Chapter 03 adds positions to cure that.
#
# **A second way** merges the first two matrices: $(XW_Q)(XW_K)^\top = X\,(W_Q W_K^\top)\,X^\top$, by 01.5 and
# associativity. So a head never uses $W_Q$ or $W_K$ alone, only their product, which is why turning both changed nothing
# in section 7.
#
# **What the classic mistake looks like.** With $W_Q$ used for the keys as well, the scores are symmetric: if "it" finds
# "animal", "animal" finds "it" just as well. And each word is a good match for itself, as in section 1.


# %% key="self-attention-second" solution="01.12"
def with_one_matrix(X, W_Q, W_K, W_V):
    merged = W_Q @ W_K.T  # [d_model d_model]
    return (X @ merged @ X.T / W_Q.shape[1] ** 0.5).softmax(-1) @ (X @ W_V)


check("01.12", with_one_matrix)

# %% key="examples-run" solution="01.12"
import doctest

doctest.testmod()  # the examples in the docstrings of all twelve exercises, run

# %% [markdown] key="hand-made-text" covers="M11"
# **Use it** on the sentence about the animal, with vectors made by hand. Five numbers a word: is it *alive*, is it a
# *place*, is it a *pronoun*, is it something one says *of the living* (tired) or *of places* (wide). All other words are
# zeros. And three maps: a pronoun **asks** for something alive, the living and the places can be **found** as such, and
# each **gives** which of the two it is.

# %% key="hand-made" tags=["demo"]
ALIVE, PLACE, PRONOUN, OF_LIVING, OF_PLACES = torch.eye(5)  # five features, each a row [d_model]
MEANING = {"animal": ALIVE, "street": PLACE, "it": PRONOUN, "tired": OF_LIVING, "wide": OF_PLACES}
words = "The animal didn't cross the street because it was too tired".split()


def rows_of(words):
    """A row for each word: [pos d_model]."""
    return torch.stack([MEANING.get(word, torch.zeros(5)) for word in words])


asks, finds, gives = torch.zeros(3, 5, 2)  # W_Q, W_K, W_V: [d_model d_head]
asks[2] = tensor([8.0, 0.0])  # a pronoun asks, loudly, along axis 0
finds[0], finds[1] = tensor([1.0, 0.0]), tensor([0.0, 1.0])  # the living are found along axis 0, places along 1
gives[0], gives[1] = tensor([1.0, 0.0]), tensor([0.0, 1.0])  # and hand over which of the two they are


attend, shares_of, scores_of = use(self_attention), use(softmax), use(scaled_scores)


def pattern_of(X, W_Q, W_K):
    """Who looks at whom: [query_pos key_pos]."""
    return shares_of(scores_of(X @ W_Q, X @ W_K))


# %% key="it-finds-animal" tags=["demo"] covers="M11"
X = rows_of(words)
weights = pattern_of(X, asks, finds)[words.index("it")]  # [key_pos]
found = attend(X, asks, finds, gives)[words.index("it")]  # [d_head]

show.tokens(
    words,
    weights.round(decimals=2),
    title='What "it" looks at, with maps made by hand',
    note=f'"it" gives {words[weights.argmax()]} {weights.max():.0%} of its weight, and fetches '
    f"({found[0]:.2f}, {found[1]:.2f}): alive, not a place.",
    value_name="weight",
)

# %% [markdown] key="predict-wide" tags=["predict"]
# **Predict.** *The animal didn't cross the street because it was too **wide**.* Now "it" is the street. Same maps, one
# other word at the end. What will "it" find: animal, street, or half of each?

# %% key="guess-wide" tags=["predict"]
my_guess = "?"  # animal, street or both

# %% key="it-and-wide" tags=["demo"]
wide = [*words[:-1], "wide"]
weights = pattern_of(rows_of(wide), asks, finds)[wide.index("it")]  # [key_pos]
show.tokens(
    wide,
    weights.round(decimals=2),
    title='What "it" looks at, if the street is too wide',
    note=f'The same maps: "it" still finds {wide[weights.argmax()]}, with {weights.max():.0%} of its weight.',
    value_name="weight",
)

# %% [markdown] key="two-steps-text" covers="M11"
# <details><summary>What you see, and why</summary>
#
# **animal**, just as before. The query of "it" is made from the row of "it" alone. That row knows nothing of the last
# word yet, so it cannot ask for anything else.
#
# </details>
#
# One lookup is not enough; two are. In the first, "it" asks for what is said of it, and adds what it gets to its own
# row. In the second it asks for something that this can be said of. That is why a transformer is a stack of layers, each
# adding to the rows that the next one reads.

# %% key="two-steps" tags=["demo"]
asks_1, finds_1, gives_1 = torch.zeros(3, 5, 2)
asks_1[2] = tensor([8.0, 8.0])  # first step: a pronoun asks for either kind of description
finds_1[3:] = gives_1[3:] = torch.eye(2)  # descriptions are found, and say which kind they are
asks_2 = torch.zeros(5, 2)
asks_2[3:] = 8 * torch.eye(2)  # second step: who knows what is said of it asks for what fits


def two_steps(words):
    """The row of "it" in the pattern of the second step: [key_pos]."""
    X, it = rows_of(words), words.index("it")
    fetched = attend(X, asks_1, finds_1, gives_1)  # [pos d_head]
    X[it, 3:] += fetched[it]  # the row of "it" now knows what is said of it
    return pattern_of(X, asks_2, finds)[it]


# %% key="two-steps-seen" tags=["demo"] covers="M11"
told = {"tired": two_steps(words), "wide": two_steps(wide)}
show.bars(
    [(noun, [told[end][words.index(noun)] for end in told]) for noun in ("animal", "street")],
    series=[f"… because it was too {end}" for end in told],
    title='What "it" finds in the second step',
    note="Tired: " + words[told["tired"].argmax()] + ". Wide: " + words[told["wide"].argmax()] + ".",
    x_name="word",
    y_name='weight from "it"',
)

# %% [markdown] key="real-model-text" covers="M11"
# ## 13 · What a trained model does with "it"
#
# Those vectors and maps were ours. A trained model has found its own, and nobody told it what a pronoun is. Which of its
# heads look from "it" to the right noun? First a look at what this model can know. The pocket model has read stories in
# simple words, and all tokens that it never met share one vector: to the model they are alike.

# %% key="known-words" tags=["demo"]
tired = "The animal didn't cross the street because it was too tired."
never_met = model.W_E[model.to_single_token(" quantum")]


def known(text):
    """1 for each token of `text` that has a vector of its own, else 0."""
    return (model.W_E[model.to_tokens(text)[0]] != never_met).any(-1).float()  # [pos]


show.tokens(
    model.to_str_tokens(tired),
    known(tired),
    title="Which tokens does this model know?",
    note=f"It knows {known(tired).mean():.0%} of these, and {known(sentence).mean():.0%} of the sentence in section 1.",
    value_name="mark (1: known, 0: not)",
)

# %% [markdown] key="same-arithmetic-text" covers="M10"
# So we ask about the kitten that did not cross the road. The arithmetic is yours: from a head's own queries and keys
# your functions give the model's pattern. Only one thing is new, the mask: what comes later is set to −∞ before the
# softmax (chapter 05).

# %% key="same-arithmetic" tags=["demo"]
later = torch.ones(len(tokens), len(tokens), dtype=torch.bool).triu(1)  # [query_pos key_pos]
scores = scores_of(q, k)  # layer 0, head 0: [query_pos key_pos]
pattern = shares_of(scores.masked_fill(later, -torch.inf))
print("your pattern is the model's:", torch.allclose(pattern, cache["pattern", 0][0, 0], atol=1e-4))

# %% [markdown] key="two-tests-text" covers="M11"
# A large weight on "kitten" proves little. The head may look at the *first noun*, or at *position 2*, whoever stands
# there. So swap the nouns: *The road did not cross the kitten because it was too tired.* It is nonsense, and that is its
# use. A head that follows the animal goes with the kitten; one that follows the place stays where it was.

# %% key="two-tests" tags=["demo"]
swapped = sentence.replace("kitten", "?").replace("road", "kitten").replace("?", "road")


def from_it(text, noun):
    """The weight from " it" to `noun` in each head: [layer n_heads]."""
    names = model.to_str_tokens(text)
    _, cache = model.run_with_cache(text)
    patterns = [cache["pattern", i][0] for i in range(model.cfg.n_layers)]
    return torch.stack(patterns)[:, :, names.index(" it"), names.index(noun)]


on_kitten = from_it(sentence, " kitten")
on_swapped_kitten, on_swapped_road = from_it(swapped, " kitten"), from_it(swapped, " road")
show.matrices(
    torch.stack([on_kitten, on_swapped_kitten, on_swapped_road]),
    ["on kitten", "swapped: on kitten", "swapped: on road"],
    rows=[f"layer {i}" for i in range(model.cfg.n_layers)],
    columns=[f"head {i}" for i in range(model.cfg.n_heads)],
    title='The weight from "it" to the nouns, head by head',
    note="A head that follows the animal is dark in the first two panels; one that follows the place, in the outer two.",
    row_name="layer",
    column_name="head",
    value_name="weight",
)


# %% key="verdict" tags=["demo"] covers="M11"
def reading(first, animal, place):
    """What three weights say about a head: on kitten, and with nouns swapped on kitten and on road."""
    if first < 0.2:
        return "hardly looks at the kitten"
    if animal > 0.2 and animal > 2 * place:
        return "follows the animal"
    if place > 0.2 and place > 2 * animal:
        return "follows the place"
    return "looks at both when swapped" if max(animal, place) > 0.2 else "looks at neither when swapped"


rows = []
for place in on_kitten.flatten().topk(5).indices.tolist():
    layer, head = divmod(place, model.cfg.n_heads)
    three = [float(w[layer, head]) for w in (on_kitten, on_swapped_kitten, on_swapped_road)]
    rows.append([f"layer {layer}, head {head}", *(f"{w:.2f}" for w in three), reading(*three)])

counted = sum(row[-1] == "follows the animal" for row in rows)
show.table(
    rows,
    ["head", "on kitten", "swapped: on kitten", "swapped: on road", "reading"],
    title='The five heads with the largest weight from "it" to "kitten"',
    note=f"{counted} of these five follow the animal in this one pair of sentences.",
)

# %% [markdown] key="what-it-cannot-see" covers="M11"
# Be careful with what this says. It is one pair of sentences, and one model. A weight says where a head looks, not what
# it fetches nor whether the model uses it. And there is something that no head of this model can do here: GPT-2 looks
# back only. At "it" it has not read "tired" yet. Change the last word and see whether anything at "it" moves:

# %% key="last-word" tags=["demo"]
other_end = sentence.replace("tired", "wide")
moved = (from_it(other_end, " kitten") - on_kitten).abs().max()
print(f"largest change of any head's weight from it to kitten, tired → wide: {moved:.4f}")

# %% [markdown] key="what-it-cannot-see-why"
# Nothing moves, and nothing can. At "it" a model of this kind can only collect candidates. Who was meant is settled
# later, at "tired", which looks back at all of them. To see GPT-2's own heads, run `book reference gpt2` once in a
# terminal, write `model = reference("gpt2", device="cpu")` in the setup cell and run the chapter again. GPT-2 knows
# every token of the sentence about the animal as well, so there you may change the sentence and its two nouns.

# %% [markdown] key="answer"
# ## 14 · Back to the question
#
# How can a word look for another word that is nothing like it? In section 1 each word was compared as it is, and found
# itself. Now it has two faces, both linear maps of the same row: with $W_Q$ it says what it looks for, with $W_K$ what it
# is found by. A pronoun's query may point where an animal's key points, though pronoun and animal are nothing alike. What
# is fetched then is a third face, the value, and how much of it is decided by a softmax of scores whose size $\sqrt d$
# keeps in range.

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - Two equations with two unknowns have one answer, unless the **determinant** is 0. Written with a matrix they ask:
#   which vector lands here?
# - A **linear map** keeps sums and multiples. Where it sends a **basis** says everything: these are the columns of its
#   matrix. Another basis, another matrix: $P^{-1}AP$.
# - Maps **compose** by the matrix product: in any grouping, not in any order. Transposes and inverses of a product turn
#   the order round.
# - The **transpose** leads back from $V$ to $U$. It undoes the map for rotations and reflections, which the sign of the
#   determinant tells apart.
# - **Retrieval**: $QK^\top$ says how well each key fits each query, $\sqrt d$ keeps the scores in range, the **softmax**
#   turns each row into shares, $V$ is mixed with them.
# - In **self-attention** all three come from the same tokens. One lookup can only ask what a word knows of itself;
#   layers let it ask with what it has learned.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** $A$ is a rotation and $B$ a reflection of the plane. Is $AB$ a rotation? And $BB$?
#
# <details><summary>Answer</summary>
#
# $(AB)^\top AB = B^\top A^\top A B = B^\top B = I$, so both keep lengths. Determinants multiply: $\det AB = 1 \cdot (-1)
# = -1$, a reflection. $\det BB = (-1)(-1) = 1$, a rotation (by 0°, since a mirror undoes itself).
#
# </details>
#
# **2.** You make every key in a head three times as long, and leave queries and values as they are. What happens to the
# weights, and what to the entropy?
#
# <details><summary>Answer</summary>
#
# All scores are multiplied by 3, so every lead is three times as large: the best key takes more of the weight, and the
# entropy falls (unless all scores were equal). Adding the same vector to every key, on the other hand, adds the same
# number to a query's whole row of scores, and nothing changes.
#
# </details>
#
# **3.** A paper writes $\operatorname{softmax}(KQ^\top/\sqrt d)$ and then $V^\top$ times it. Along which axis does its
# softmax run, and is it another kind of attention?
#
# <details><summary>Answer</summary>
#
# $KQ^\top$ has keys in its rows and queries in its columns. Weights of one query have to sum to 1, so the softmax runs
# down each column. $V^\top$ times that has a column for each query: the transpose of
# $\operatorname{softmax}(QK^\top/\sqrt d)\,V$. It is the same attention, written with columns as vectors.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | equation, unknown | a statement about numbers that are not known yet; such a number |
# | vector, matrix | a list of numbers; a rectangle of numbers that takes one vector to another |
# | determinant | ad − bc for two rows; how areas grow, negative if the plane is turned over; 0: no way back |
# | linear map | keeps sums (additive) and multiples (homogeneous) |
# | basis | vectors from which each vector can be made in exactly one way |
# | change of basis | P⁻¹AP: the same map, told in coordinates along P's columns |
# | row vector | a vector that stands on the left, x W; the way that code for language models writes them |
# | composition | one map after the other; associative, not commutative |
# | inverse | the map that undoes a map |
# | transpose | rows become columns; leads from V back to U |
# | rotation, reflection | AᵀA = I with determinant +1, or −1 |
# | query, key, value | what is looked for; what an item is found by; what it hands over |
# | score | how well a key fits a query: their dot product, divided by √d |
# | softmax | makes positive shares that sum to 1 out of scores; sees only differences |
# | spread | standard deviation: how far numbers typically lie from their mean |
# | entropy | how evenly weight is shared: 0 if one has all, ln n if n share alike |
# | saturated | of a softmax with one share near 1: its slope is near 0 |
# | self-attention | queries, keys and values made from the same tokens |
# | pattern | the weights of each query over the keys; rows sum to 1 |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Gilbert Strang, *Introduction to Linear Algebra*: equations, maps, bases and transposes, from the first page on.
# - Vaswani et al., *Attention Is All You Need* (2017), section 3.2.1: scaled dot-product attention. The reason for the
#   $\sqrt d$ that you have measured is given there in a footnote.
# - Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly Learning to Align and Translate* (2014): a soft
#   lookup in a translator, three years earlier, with a small network in place of the dot product.
# - Uszkoreit, *Transformer: A Novel Neural Network Architecture for Language Understanding* (Google Research blog, 2017):
#   the sentence about the tired animal, and a head of a translator that reads in both directions, tired or wide.
# - Levesque, Davis and Morgenstern, *The Winograd Schema Challenge* (2012): sentences in which one word decides what "it"
#   means, as a test for machines.
#
# Next, [chapter 02](02_tokens.ipynb): what the rows are made of, tokens.
