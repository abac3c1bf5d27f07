"""What Python, torch and einops say about shapes, dtypes and names: the errors of ordinary slips.

In a form # is a whole number, ? a name, @ up to eight lengths, ~ something in quotation marks. An error of another form
may say anything.
"""

import ast
import functools
import re

FORMS = """
# shapes
The size of tensor a (#) must match the size of tensor b (#) at non-singleton dimension #
The expanded size of the tensor (#) must match the existing size (#) at non-singleton dimension #. Target sizes: @. \
Tensor sizes: @
expand(torch.?{@}, size=@): the number of sizes provided (#) must be greater or equal to the number of dimensions in \
the tensor (#)
mat1 and mat2 shapes cannot be multiplied (@ and @)
size mismatch, got input (#), mat (@), vec (#)
inconsistent tensor size, expected tensor @ and src @ to have the same number of elements, but got # and # elements \
respectively
Expected size for first two dimensions of batch2 tensor to be: @ but got: @
batch1 must be a 3D tensor
tril: input tensor must have at least 2 dimensions
triu: input tensor must have at least 2 dimensions
outer: Expected 1-D argument self, but got #-D
expected sequence of length # at dim # (got #)
too many dimensions ~
self must be a matrix
mat2 must be a matrix
1D tensors expected, but got #D and #D tensors
vector + matrix @ vector expected, got #, #, #
both arguments to matmul need to be at least 1D, but they are #D and #D
both arguments to linear need to be at least 1D, but they are #D and #D
t() expects a tensor with <= 2 dimensions, but self is #D
shape ~ is invalid for input of size #
view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous \
subspaces). Use .reshape(...) instead
unflatten: Provided sizes @ don't multiply up to the size of dim # (#) in the input tensor
Dimension out of range (expected to be in range of [#, #], but got #)
Dimension specified as # but tensor has no dimensions
permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of \
dimensions i.e. input.dim() = # is not equal to len(dims) = #
permute(): duplicate dims are not allowed
permute(dims): duplicate dims are not allowed.
number of dims don't match in permute
repeated dim in permute
Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor
Number of dimensions of tensors must match. Expected # but got # for tensor number # in the list
Tensors must have same number of dimensions: got # and #
Sizes of tensors must match except in dimension #. Expected size # but got size # for tensor number # in the list
Sizes of tensors must match except in dimension #. Got # and # in dimension # (The offending index is #)
stack expects each tensor to be equal size, but got @ at entry # and @ at entry #
stack expects a non-empty TensorList
expected Tensor as element # in argument #, but got ?
Split sizes add up to # but got the tensor's size of #
split_with_sizes expects split_sizes to sum exactly to # (input tensor's size at dimension #), but got split_sizes=@
index # is out of bounds for dimension # with size #
index # is out of bounds for dimension # with size # for the tensor
index out of range in self
only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got ?)
index_select(): Index is supposed to be a vector
Index tensor must have the same number of dimensions as input tensor
Size does not match at dimension # expected index @ to be no larger than self @ apart from dimension #
linalg.det: A must be batches of square matrices, but they are # by # matrices
linalg.inv: A must be batches of square matrices, but they are # by # matrices
Indexing expression contains duplicate dimension ~
Target # is out of bounds
too many indices for tensor of dimension #
The shape of the mask @ at index # does not match the shape of the indexed tensor @ at index #
shape mismatch: value tensor of shape @ cannot be broadcast to indexing result of shape @
shape mismatch: indexing tensors could not be broadcast together with shapes @, @
start (#) + length (#) exceeds dimension size (#).
start (#) + length (#) exceeds dimension size (#)
selected index k out of range
output with shape @ doesn't match the broadcast shape @
Boolean value of Tensor with more than one value is ambiguous
a Tensor with # elements cannot be converted to Scalar
only one element tensors can be converted to Python scalars
only integer tensors of a single element can be converted to an index
einsum(): subscript ? has size # for operand # which does not broadcast with previously seen size #
einsum(): the number of subscripts in the equation (#) does not match the number of dimensions (#) for operand # and \
no ellipsis was given
einsum(): the number of subscripts in the equation (#) is more than the number of dimensions (#) for operand #
einsum(): fewer operands were provided than specified in the equation
einsum(): more operands were provided than specified in the equation
einsum(): output subscript ? does not appear in the equation for any input operand
einsum(): output subscript ? appears more than once in the output
einsum(): invalid subscript given at index # in the equation string, subscripts must be in [a-zA-Z]
Error while processing rearrange-reduction pattern ~
Error while processing mean-reduction pattern ~
Error while processing sum-reduction pattern ~
Error while processing repeat-reduction pattern ~
Einsum pattern ~
Given normalized_shape=@, expected input with shape [*, #], but got input of size@
f takes one vector at a time, a torch.float64 tensor of shape (#,), not a ? tensor of shape @
f takes one vector at a time, a torch.float64 tensor of shape (#,), not a ?
the model sees at most # tokens; it was given #
# dtypes and devices
expected m1 and m2 to have the same dtype, but got: ? != ?
expected mat1 and mat2 to have the same dtype, but got: ? != ?
expected scalar type ? but found ?
? did not match ?
dot : expected both vectors to have same dtype, but found ? and ?
Expected all tensors to be on the same device, but found at least two devices, ? and ?!
Expected tensor for argument ## ~ to have one of the following scalar types: ?, ?; but got ? instead (while checking \
arguments for ?)
Index put requires the source and destination dtypes match, got ? for the destination and ? for the source.
Index put requires the source and destination dtypes match, got ? for the destination and ? for the source
tensors used as indices must be long, int, byte or bool tensors
tensors used as indices must be long, byte or bool tensors
gather(): Expected dtype int64 for index
gather(): Expected dtype int32/int64 for index
index_select(): Expected dtype int32 or int64 for index
scatter(): Expected dtype int64 for index
mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ?
mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: ?
std and var only support floating point and complex dtypes
masked_fill_ only supports boolean masks, but got mask with dtype ?
masked_fill only supports boolean masks, but got mask with dtype ?
where expected condition to be a boolean tensor, but got a tensor with dtype ?
expected predicate to be bool, got torch.?
result type ? can't be cast to the desired output type ?
value cannot be converted to type ? without overflow
torch.finfo() requires a floating point input type. Use torch.iinfo to handle ~
Torch not compiled with CUDA enabled
"?" not implemented for '?'
Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead
Got unsupported ScalarType ?
can't convert ? device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first
Only Tensors of floating point and complex dtype can require gradients
a leaf Variable that requires grad is being used in an in-place operation
a view of a leaf Variable that requires grad is being used in an in-place operation
element # of tensors does not require grad and does not have a grad_fn
grad can be implicitly created only for scalar outputs
# names and calls
name ~ is not defined
name ~ is not defined. Did you mean: ~?
name ~ is not defined. Did you forget to import ~
cannot access local variable ~ where it is not associated with a value
local variable ~ referenced before assignment
~ object has no attribute ~
~ object has no attribute ~. Did you mean: ~?
type object ~ has no attribute ~
module ~ has no attribute ~
module ~ has no attribute ~. Did you mean: ~?
~ object is not callable
~ object is not subscriptable
~ object is not iterable
~ object does not support item assignment
~ object cannot be interpreted as an integer
argument of type ~ is not iterable
cannot unpack non-iterable ? object
not enough values to unpack (expected #, got #)
too many values to unpack (expected #)
too many values to unpack (expected #, got #)
?() missing # required positional argument: ~
?() missing # required positional arguments: ~
?() missing # required positional arguments: ~ and ~
?() missing # required keyword-only argument: ~
?() takes # positional arguments but # were given
?() takes # positional argument but # were given
?() takes from # to # positional arguments but # were given
?() got an unexpected keyword argument ~
?() got multiple values for argument ~
?() received an invalid combination of arguments
?() received an invalid combination of arguments - got (?=?, ), but expected one of
?() received an invalid combination of arguments - got (?), but expected one of
?() received an invalid combination of arguments - got (?, ?), but expected one of
?() received an invalid combination of arguments - got (?, ?, ?), but expected one of
?() takes at most # arguments (# given)
?(): argument ~ must be bool, not ?
?(): argument ~ must be tuple of ints, not ?
?(): argument ~ must be Tensor, not ?
?(): argument ~ (position #) must be Tensor, not ?
?(): argument ~ (position #) must be int, not ?
?(): argument ~ (position #) must be tuple of ints, not ?
?(): argument ~ (position #) must be tuple of Tensors, not ?
unsupported operand type(s) for ?: ~ and ~
unsupported operand type(s) for +: ~ and ~
unsupported operand type(s) for -: ~ and ~
unsupported operand type(s) for *: ~ and ~
unsupported operand type(s) for @: ~ and ~
unsupported operand type(s) for /: ~ and ~
unsupported operand type(s) for //: ~ and ~
unsupported operand type(s) for ** or pow(): ~ and ~
bad operand type for unary -: ~
can only concatenate ? (not ~) to ?
can't multiply sequence by non-int of type ~
sequence item #: expected str instance, ? found
~ not supported between instances of ~ and ~
list indices must be integers or slices, not ?
string indices must be integers, not ~
tuple indices must be integers or slices, not ?
list index out of range
tuple index out of range
string index out of range
pop from empty list
pop from an empty deque
min() arg is an empty sequence
max() arg is an empty sequence
min() iterable argument is empty
max() iterable argument is empty
slice step cannot be zero
range() arg 3 must not be zero
division by zero
float division by zero
integer division or modulo by zero
integer modulo by zero
probability tensor contains either `inf`, `nan` or element < 0
invalid multinomial distribution (sum of probabilities <= 0)
torch.linalg.solve: The solver failed because the input matrix is singular
linalg.inv: The diagonal element # is zero, the inversion could not be completed because the input matrix is singular
~ codec can't decode byte ? in position #: invalid start byte
~ codec can't decode byte ? in position #: invalid continuation byte
~ codec can't decode byte ? in position #: unexpected end of data
~ codec can't decode bytes in position #-#: unexpected end of data
~ codec can't decode bytes in position #-#: invalid continuation byte
~ codec can't encode character ~ in position #: ordinal not in range(#)
~ codec can't encode characters in position #-#: ordinal not in range(#)
bytes must be in range(0, 256)
chr() arg not in range(0x110000)
invalid literal for int() with base 10: ~
could not convert string to float: ~
math domain error
math range error
dictionary changed size during iteration
maximum recursion depth exceeded
unhashable type: ~
must be real number, not ?
object of type ~ has no len()
len() of a 0-d tensor
iteration over a 0-d tensor
slice() of a 0-d tensor
cannot assign module before Module.__init__() call
cannot assign parameters before Module.__init__() call
"""
# Kinds of values that these texts name, beside those of which the book itself speaks.
TYPES = frozenset(
    "NoneType builtin_function_or_method method_descriptor wrapper_descriptor Parameter ellipsis slice range generator "
    "Double Float Half BFloat16 Long Int Short Char Byte Bool ComplexFloat c10 Linear Module ModuleDict ModuleList "
    "defaultdict Counter deque zip map filter enumerate float16 uint8 int8 int16 complex64 cuda mps cpu".split()
)
_LENGTH = r"(?:torch\.Size)?[\[(]*-?\d{1,3}(?:, -?\d{1,3}){0,3},?[\])]*"
_SLOTS = {
    "##": r"#\d+",
    "#": r"-?\d+",
    "?": r"[\w.]+(?:::?\w+)?",
    "@": r"(?:torch\.Size)?[\[(]*-?\d+(?:(?:, ?|x)-?\d+){0,7},?[\])]*",
    "~": r"(?:'[^']*'|\"[^\"]*\")",
}


def is_known(text: str) -> bool:
    """Whether an error's text is one of Python's, torch's or einops' own about shapes, dtypes and names.

    >>> is_known("The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0")
    True
    """
    return _pattern().fullmatch(text) is not None


def is_made_by(text: str, source: str) -> bool:
    """Whether a text is what an f-string of some code makes, with at most two lengths or shapes put into it.

    >>> is_made_by("no 3 heads", "raise ValueError(f'no {n} heads')")
    True
    """
    try:
        made = [node.values for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for values in made:
        if 0 < sum(isinstance(value, ast.FormattedValue) for value in values) <= 2:
            parts = (_LENGTH if isinstance(value, ast.FormattedValue) else re.escape(value.value) for value in values)
            if re.fullmatch("".join(parts).rstrip(".: "), text):
                return True
    return False


@functools.cache
def _pattern() -> re.Pattern:
    forms = [line for line in FORMS.splitlines() if line and not line.startswith("# ")]
    return re.compile("|".join(map(_as_pattern, forms)))


def _as_pattern(form: str) -> str:
    """The form without a full stop at its end, as errors are told."""
    parts = re.split(r"(##|[#?~]|(?<!matrix )(?<!for )@)", form.rstrip(".: "))
    return "".join(_SLOTS.get(part, re.escape(part)) for part in parts)
