"""Defects that a trainer for GPUs could have, and what catches each of them.

A call's defect is a value of SHARDC_EMULATED_MUTANT (test/emulated-cuda/driver/Mutant.h), a plan's
is a change of the trainer's plan. The trainers that they are made in:

  two    two ranks, three units, so that gathers run ahead of their use
  one    one rank
  sums   one rank, each step two micro-batches
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class By:
    """What catches: the emulator (`finding`) or the trainer (`error`), whose line has the pattern;
    or the numbers of the run, which are others."""

    name: str
    finding: str = ""
    error: str = ""


NUMBERS = By("other numbers")
RACE = By("emulator: race", finding="^race: ")
# What is not ordered may come so early that nothing is there.
EARLY = By("emulator: race, or bytes that nobody wrote", finding="^race: |reads what nobody has wr")
UNWRITTEN = By("emulator: bytes that nobody wrote", finding="reads what nobody has written")
SHARED = By("emulator: race in shared memory", finding="^race in shared memory: ")
MEETING = By("emulator: threads that do not meet", finding="does not wait where thread")
OUTSIDE = By(
    "emulator: outside of allocations", finding="is not allocated|not all in one allocation"
)
MISALIGNED = By("emulator: misaligned access", finding="^misaligned access: ")
ALIGNMENT = By("emulator: alignment of a product", finding="does not lie at the multiple of")
OVERLAP = By("emulator: buffers that overlap", finding="overlap")
PINNED = By("emulator: pinned memory of a copy", finding="^the host touches pinned memory of ")
PAGEABLE = By("emulator: memory that is not pinned", finding="of the host that are not pinned")
HOST = By("emulator: the host in device memory", finding="^the host touches a device's memory")
DEFAULT = By("emulator: legacy default stream", finding="legacy default stream")
ALLOCATION = By("emulator: allocation behind a graph", finding="after a graph was launched")
RANKS = By("emulator: ranks differ in a call", finding="^ranks of a communicator differ")
GONE = By("trainer: NCCL's error, by rank and entry", error="plan entry .*a collective of NCCL: ")
CAPTURE = By(
    "trainer: the driver's error in a capture, by entry",
    error="plan entry .*CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
)
ISOLATION = By("trainer: the driver's error in a capture", error="CUDA_ERROR_STREAM_CAPTURE_ISOL")
UNJOINED = By(
    "trainer: the driver's error of a capture", error="CUDA_ERROR_STREAM_CAPTURE_UNJOINED"
)
DRIVER = By("trainer: the driver's error", error="CUDA_ERROR_INVALID_VALUE")
NOT_FINITE = By("trainer: a number that is not finite", error=" is nan")
LABEL = By("trainer: a label outside of its bounds", error="label .* is outside")
REFUSED = By(
    "trainer: refuses the plan", error="plan does not hold together|does not lie in its pool"
)

# Defect, trainer, mutant, what catches it.
CALLS = (
    # -- order between streams
    (
        "compute does not wait for a gather",
        "two",
        "drop|cuStreamWaitEvent*AllGather of 8448|1|0",
        EARLY,
    ),
    ("the same in a graph", "two", "drop|cuStreamWaitEvent*AllGather of 8448*in a cap|1|0", EARLY),
    (
        "compute does not wait for the last gather of a graph",
        "two",
        "drop|cuStreamWaitEvent*AllGather of 8448*in a cap|2|0",
        UNJOINED,
    ),
    (
        "compute does not wait for a sum of gradients",
        "two",
        "drop|cuStreamWaitEvent*ordered_sum_f32|3|1",
        RACE,
    ),
    (
        "a reduction does not wait for the gradients",
        "two",
        "drop|cuStreamWaitEvent behind cuLaunchKernel of reduce_sum|1|0",
        RACE,
    ),
    (
        "compute does not wait for the norm of all ranks",
        "two",
        "drop|cuStreamWaitEvent*ordered_sum_i64|1|0",
        RACE,
    ),
    ("a gather's end is not recorded", "two", "drop|cuEventRecord*AllGather of 8448|1|0", RACE),
    ("the same in a graph", "two", "drop|cuEventRecord*AllGather of 8448*in a cap|1|0", ISOLATION),
    (
        "a gather does not wait for compute in a graph",
        "two",
        "drop|cuStreamWaitEvent behind cuStreamWriteValue32 in a cap|1|0",
        ISOLATION,
    ),
    ("a kernel starts before what it reads", "one", "early|cuLaunchKernel of relu|1|0", RACE),
    ("the same in a graph", "one", "early|cuLaunchKernel of relu*in a capture|1|0", RACE),
    ("a product starts before what it reads", "one", "early|cublasLtMatmul|3|0", RACE),
    ("an all-to-all starts before the gradients are there", "two", "early|*ncclAlltoAll|1|0", RACE),
    (
        "the optimizer starts before the norm is known",
        "one",
        "early|cuLaunchKernel of optimizer*in a capture|1|0",
        RACE,
    ),
    (
        "ranks' parts are added before they have come",
        "two",
        "early|cuLaunchKernel of ordered_sum_f32|1|0",
        EARLY,
    ),
    # -- the host
    (
        "the host writes to memory that is still copied",
        "two",
        "drop|cuEventSynchronize behind cuMemcpyHtoDAsync|3|0",
        PINNED,
    ),
    (
        "a copy's end is not recorded",
        "two",
        "drop|cuEventRecord behind cuMemcpyHtoDAsync of 64|1|0",
        PINNED,
    ),
    (
        "the host reads metrics before they are there",
        "one",
        "drop|cuStreamSynchronize behind cuMemcpyDtoHAsync of 24|1|0",
        PINNED,
    ),
    (
        "the host reads faults before they are there",
        "one",
        "drop|cuStreamSynchronize behind cuMemcpyDtoHAsync of 512|2|0",
        PINNED,
    ),
    (
        "a copy of memory that is not pinned",
        "one",
        "pageable|cuMemcpyHtoDAsync of 48|2|0",
        PAGEABLE,
    ),
    ("the host reads a device's memory", "one", "before|cuLaunchKernel of relu|1|0|read", HOST),
    ("a call in the legacy default stream", "one", "default|cuLaunchKernel of relu|1|0", DEFAULT),
    # -- what is stale
    (
        "a step has the learning rate of the one before",
        "one",
        "drop|cuMemcpyHtoDAsync of 48|3|0",
        NUMBERS,
    ),
    (
        "a step has the samples of the one before",
        "two",
        "drop|cuMemcpyHtoDAsync of 1024|2|0",
        NUMBERS,
    ),
    (
        "a step has the labels of the one before, on one rank",
        "two",
        "drop|cuMemcpyHtoDAsync of 64|2|1",
        NUMBERS,
    ),
    (
        "the metrics are those of the step before",
        "one",
        "drop|cuMemcpyDtoHAsync of 24|2|0",
        NUMBERS,
    ),
    ("a graph is not launched", "one", "drop|cuGraphLaunch|1|0", NUMBERS),
    ("a kernel is not launched", "one", "drop|cuLaunchKernel of relu|2|0", NUMBERS),
    ("the optimizer is not launched", "one", "drop|cuLaunchKernel of optimizer|2|0", NUMBERS),
    (
        "a sum over micro-batches is not begun",
        "sums",
        "drop|cuMemcpyDtoDAsync of 2624|1|0",
        NUMBERS,
    ),
    (
        "a sum over micro-batches lacks one",
        "sums",
        "drop|cuLaunchKernel of add_f32_f32|1|0",
        NUMBERS,
    ),
    ("a norm's sum is not cleared", "one", "drop|cuMemsetD8Async of 544|1|0", NOT_FINITE),
    ("faults are not cleared", "one", "drop|cuMemsetD8Async of 512|2|0", LABEL),
    # -- memory
    ("an argument 16 bytes further on", "one", "shift|cuLaunchKernel of relu|1|0|0|16", NUMBERS),
    ("an argument 16 bytes before", "one", "shift|cuLaunchKernel of relu|1|0|0|-16", NUMBERS),
    ("an argument that is not aligned", "one", "shift|cuLaunchKernel of relu|1|0|8|4", MISALIGNED),
    (
        "an argument behind its allocation",
        "one",
        "shift|cuLaunchKernel of optimizer|1|0|0|8",
        OUTSIDE,
    ),
    ("a product's operand 16 bytes further on", "one", "shift|cublasLtMatmul|2|0|0|16", ALIGNMENT),
    ("a product's result elsewhere", "one", "shift|cublasLtMatmul|2|0|24|256", NUMBERS),
    ("a gather to 16 bytes further on", "two", "shift|*AllGather of 1344|1|0|8|16", NUMBERS),
    ("a gather that ends behind its memory", "two", "shift|*AllGather of 4224|1|0|8|256", OUTSIDE),
    ("too small an allocation", "two", "shift|cuMemAlloc of 16896|1|0|0|-16", OUTSIDE),
    ("one allocation given out twice", "one", "again|cuMemAlloc|4|0", NUMBERS),
    (
        "memory that is freed while it is used",
        "one",
        "before|cuMemcpyHtoDAsync of 48|2|0|cuMemFree",
        OUTSIDE,
    ),
    ("threads too many", "one", "threads|cuLaunchKernel of relu|1|0|32", OUTSIDE),
    ("threads too few", "one", "threads|cuLaunchKernel of relu|1|0|-32", NUMBERS),
    ("a block too few", "one", "blocks|cuLaunchKernel of column_sums|1|0|-1", NUMBERS),
    # -- captures
    (
        "an allocation in a capture",
        "one",
        "before|cuLaunchKernel of relu*in a capture|1|0|cuMemAlloc",
        CAPTURE,
    ),
    ("an allocation in a step", "one", "before|cuMemcpyHtoDAsync of 48|3|0|cuMemAlloc", ALLOCATION),
    (
        "a synchronisation in a capture",
        "one",
        "before|cuLaunchKernel of relu*in a capture|1|0|cuStreamSynchronize",
        CAPTURE,
    ),
    (
        "a query in a capture",
        "one",
        "before|cuLaunchKernel of relu*in a capture|1|0|cuStreamQuery",
        CAPTURE,
    ),
    (
        "the host waits for an event of a capture",
        "one",
        "before|cuLaunchKernel of relu*in a capture|1|0|cuEventSynchronize",
        CAPTURE,
    ),
    # -- collectives
    ("gathers swapped on one rank", "two", "swap|*AllGather of 4224|1|1", RANKS),
    ("a gather and a reduction swapped on one rank", "two", "swap|*AllGather of 8448|2|1", RANKS),
    ("another count on one rank", "two", "shift|*AllGather of 4224|1|0|16|-64", RANKS),
    ("too small a count on all ranks", "two", "shift|*AllGather of 4224|1|*|16|-64", NUMBERS),
    ("an all-to-all of other bytes", "two", "shift|*AlltoAll of 4224|1|0|0|64", NUMBERS),
    ("a rank leaves out an all-to-all", "two", "drop|*ncclAlltoAll|1|1", UNWRITTEN),
    ("a rank leaves out its last collective", "two", "drop|*AllGather of 544|2|1", GONE),
    # -- kernels
    ("no barrier behind what is cleared", "one", "statement|norm_f32|bar.sync|1", SHARED),
    ("no barrier before what is added up", "one", "statement|norm_f32|bar.sync|4", SHARED),
    ("no barrier before what is written again", "one", "statement|exact_sum|bar.sync|1", SHARED),
    ("no barrier before what one thread reads", "one", "statement|round_sum|bar.sync|1", SHARED),
    ("a lane that does not exchange", "one", "statement|cross_entropy_f32|shfl.sync|7", NUMBERS),
    ("a kernel that does not store", "one", "statement|relu|st.global|1", NUMBERS),
    ("a kernel with a wrong offset", "one", "statement|relu|add.s64|1|sub.s64", NUMBERS),
)


def place(plan, name):
    (found,) = [i for i, entry in enumerate(plan.train.entries) if entry.name == name]
    return found


def remove(name):
    """Without an entry of the train program."""

    def change(plan):
        del plan.train.entries[place(plan, name)]

    return change


def move(name, before):
    """An entry of the train program stands before another one."""

    def change(plan):
        moved = type(plan.train.entries[0])()
        moved.CopyFrom(plan.train.entries[place(plan, name)])
        del plan.train.entries[place(plan, name)]
        plan.train.entries.insert(place(plan, before), moved)

    return change


def buffers(plan, name):
    return [buffer for buffer in plan.buffers if buffer.name == name]


def overlapping(plan):
    (one,) = buffers(plan, "/layers/layers.3/Tanh#1")
    buffers(plan, "/SoftmaxCrossEntropyLoss#1")[0].offset = one.offset


def misplaced(plan):
    buffers(plan, "/layers/layers.1/Relu")[0].offset += 16


def outside(plan):
    plan.train.entries[place(plan, "part.0/relu_cd7a")].launch.inputs[0].offset += 16


def small_pool(plan):
    (pool,) = [pool for pool in plan.pools if pool.name == "step"]
    pool.bytes -= 256


def smaller_grid(plan):
    launch = plan.train.entries[place(plan, "part.1/reduce_sum_db9b")].launch
    plan.target.cuda.grids[launch.kernel].blocks -= 1


def norm_of_fewer(plan):
    norm = plan.train.entries[place(plan, "part.0/gradient_norm")].gradient_norm
    del norm.gradients[0], norm.units[0]


# Defect, trainer, change of its plan, what catches it.
PLANS = (
    ("no wait for a gather", "two", remove("part.1/wait"), EARLY),
    ("a wait behind what it is for", "two", move("part.0/wait", "part.0/relu_cd7a"), EARLY),
    (
        "a reduction before its last gradient",
        "two",
        move("part.1/reduce_scatter_start", "part.1/reduce_sum_db9b"),
        RACE,
    ),
    (
        "a gather to memory that is still read",
        "two",
        move("part.2/all_gather_start", "part.0/gemm"),
        RACE,
    ),
    (
        "gradients in memory that a reduction still reads",
        "two",
        move("part.1/wait.2", "part.0/reduce_sum_db9b"),
        RACE,
    ),
    ("two buffers that live at once overlap", "two", overlapping, NUMBERS),
    ("a buffer at no multiple of its alignment", "two", misplaced, REFUSED),
    ("an operand that ends behind its buffer", "two", outside, REFUSED),
    ("a pool that is too small", "two", small_pool, REFUSED),
    ("a grid that is too small", "two", smaller_grid, NUMBERS),
    ("a norm without the gradients of a unit", "two", norm_of_fewer, NUMBERS),
)
