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
# What is not ordered may come so early that nothing is there.
RACE = By("emulator: race, or bytes that nobody wrote", finding="^race: |reads what nobody has wr")
UNWRITTEN = By("emulator: bytes that nobody wrote", finding="reads what nobody has written")
SHARED = By("emulator: race in shared memory", finding="^race in shared memory: ")
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
WINDOW = By("emulator: a gather outside of windows", finding="lies in no window")
RANKS = By("emulator: ranks differ in a call", finding="^ranks of a communicator differ")
# What comes late races with what it is for, where that is met first.
SWAPPED = By(
    "emulator: ranks differ in a call, race, or bytes that nobody wrote",
    finding="^ranks of a communicator differ|^race: |reads what nobody has written",
)
GONE = By("trainer: NCCL's error, by rank and entry", error="plan entry .*a collective of NCCL: ")
CAPTURE = By(
    "trainer: the driver's error in a capture, by entry",
    error="plan entry .*CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
)
# A rank that ends takes the other one with it, whose line may come first.
GRAPH = By(
    "trainer: the driver's error of a capture, or that the rank has aborted",
    error="CUDA_ERROR_STREAM_CAPTURE_(UNJOINED|ISOLATION)|rank . has aborted",
)
NOT_FINITE = By("trainer: a number that is not finite", error=" is nan")
LABEL = By("trainer: a label outside of its bounds", error="label .* is outside")
REFUSED = By(
    "trainer: refuses the plan", error="plan does not hold together|does not lie in its pool"
)


def table(text):
    rows = [line.split("; ") for line in text.strip().splitlines() if line[0] != "#"]
    return [
        (defect, trainer.strip(), mutant, globals()[by]) for trainer, defect, by, mutant in rows
    ]


# Trainer, defect, what catches it, mutant.
CALLS = table(
    """
# order between streams
two ; no wait for a gather; RACE; drop|cuStreamWait*Gather of 8448|1|0
two ; no wait for a gather, in a graph; RACE; drop|cuStreamWait*Gather of 8448*capture|1|0
two ; no wait for the last gather of a graph; GRAPH; drop|cuStreamWait*Gather of 8448*capture|2|0
two ; no wait for a sum of gradients; RACE; drop|cuStreamWait*ordered_sum_f32|3|1
two ; a reduction does not wait for gradients; RACE; drop|cuStreamWait*cublasLtMatmul|1|0
two ; no wait for the norm of all ranks; RACE; drop|cuStreamWait*ordered_sum_i64|1|0
two ; a gather's end is not recorded; RACE; drop|cuEventRecord*Gather of 8448|1|0
two ; a gather's end is not recorded, in a graph; GRAPH; drop|cuEventRec*Gather of 8448*capture|1|0
two ; a gather does not wait for compute, in a graph; GRAPH; drop|cuStreamWaitEvent*capture|1|0
one ; a kernel starts before what it reads; RACE; early|cuLaunchKernel of relu|1|0
one ; a kernel starts before what it reads, in a graph; RACE; early|cuLaunch*relu*capture|1|0
one ; a product starts before what it reads; RACE; early|cublasLtMatmul|3|0
two ; an all-to-all starts before the gradients are there; RACE; early|*ncclAlltoAll|1|0
one ; the optimizer starts before the norm is known; RACE; early|cuLaunch*optimizer*capture|1|0
two ; ranks' parts are added before they have come; RACE; early|cuLaunch*ordered_sum_f32|1|0
# the host
one ; the host reads metrics before they are there; PINNED; drop|cuStreamSync*DtoHAsync of 24|1|0
one ; the host reads faults before they are there; PINNED; drop|cuStreamSync*DtoHAsync of 512|2|0
one ; a copy of memory that is not pinned; PAGEABLE; pageable|cuMemcpyHtoDAsync of 48|2|0
one ; the host reads a device's memory; HOST; before|cuLaunchKernel of relu|1|0|read
one ; a call in the legacy default stream; DEFAULT; default|cuLaunchKernel of relu|1|0
# what is stale
one ; a step has the learning rate of the one before; NUMBERS; drop|cuMemcpyHtoDAsync of 48|3|0
two ; a step has the samples of the one before; NUMBERS; drop|cuMemcpyHtoDAsync of 1024|2|0
two ; a rank has the labels of the step before; NUMBERS; drop|cuMemcpyHtoDAsync of 64|2|1
one ; the metrics are those of the step before; NUMBERS; drop|cuMemcpyDtoHAsync of 24|2|0
one ; a graph is not launched; NUMBERS; drop|cuGraphLaunch|1|0
one ; a kernel is not launched; NUMBERS; drop|cuLaunchKernel of relu|2|0
one ; the optimizer is not launched; NUMBERS; drop|cuLaunchKernel of optimizer|2|0
sums; a sum over micro-batches is not begun; NUMBERS; drop|cuMemcpyDtoDAsync of 2624|1|0
sums; a sum over micro-batches lacks one; NUMBERS; drop|cuLaunchKernel of add_f32_f32|1|0
one ; a norm's sum is not cleared; NOT_FINITE; drop|cuMemsetD8Async of 544|1|0
one ; faults are not cleared; LABEL; drop|cuMemsetD8Async of 512|2|0
# memory
one ; an argument 16 bytes further on; NUMBERS; shift|cuLaunchKernel of relu|1|0|0|16
one ; an argument 16 bytes before; NUMBERS; shift|cuLaunchKernel of relu|1|0|0|-16
one ; an argument that is not aligned; MISALIGNED; shift|cuLaunchKernel of relu|1|0|8|4
one ; an argument behind its allocation; OUTSIDE; shift|cuLaunchKernel of optimizer|1|0|0|8
one ; a product's operand 16 bytes further on; ALIGNMENT; shift|cublasLtMatmul|2|0|0|16
one ; a product's result elsewhere; NUMBERS; shift|cublasLtMatmul|2|0|24|256
two ; a gather to 16 bytes further on; RANKS; shift|*AllGather of 1344|1|0|8|16
two ; a gather that ends behind its memory; OUTSIDE; shift|*AllGather of 4224|1|0|8|256
one ; one allocation given out twice; NUMBERS; again|cuMemAlloc|4|0
one ; memory that is freed while it is used; OUTSIDE; before|cuMemcpyHtoDAsync of 48|2|0|cuMemFree
one ; threads too many; OUTSIDE; threads|cuLaunchKernel of relu|1|0|32
one ; threads too few; NUMBERS; threads|cuLaunchKernel of relu|1|0|-32
one ; a block too few; NUMBERS; blocks|cuLaunchKernel of column_sums|1|0|-1
# captures
one ; an allocation in a capture; CAPTURE; before|cuLaunch*relu*capture|1|0|cuMemAlloc
one ; an allocation in a step; ALLOCATION; before|cuMemcpyHtoDAsync of 48|6|0|cuMemAlloc
one ; a synchronisation in a capture; CAPTURE; before|cuLaunch*relu*capture|1|0|cuStreamSynchronize
one ; a query in a capture; CAPTURE; before|cuLaunch*relu*capture|1|0|cuStreamQuery
one ; the host awaits an event of a capture; CAPTURE; before|cuLaunch*capt|1|0|cuEventSynchronize
# collectives
two ; gathers swapped on one rank; RANKS; swap|*AllGather of 4224|1|1
two ; a gather and a reduction swapped on one rank; SWAPPED; swap|*AllGather of 8448|2|1
two ; another count on one rank; RANKS; shift|*AllGather of 4224|1|0|16|-64
two ; too small a count on all ranks; NUMBERS; shift|*AllGather of 4224|1|*|16|-64
two ; an all-to-all of other bytes; OVERLAP; shift|*AlltoAll of 4224|1|0|0|64
two ; a rank leaves out an all-to-all; RANKS; drop|*ncclAlltoAll|1|1
two ; windows at unequal offsets; RANKS; shift|*WindowRegister|1|1|0|4096
two ; a pool without a window; WINDOW; drop|*gathers*WindowRegister|2+|*
two ; a rank leaves out its last collective; GONE; drop|*AllGather of 544|2|1
# kernels
one ; no barrier behind what is cleared; SHARED; statement|norm_f32|bar.sync|1
one ; no barrier before what is added up; SHARED; statement|norm_f32|bar.sync|4
one ; no barrier before what is written again; SHARED; statement|exact_sum|bar.sync|1
one ; no barrier before what one thread reads; SHARED; statement|round_sum|bar.sync|1
one ; a lane that does not exchange; NUMBERS; statement|cross_entropy_f32|shfl.sync|20
one ; a kernel that does not store; NUMBERS; statement|relu|st.global|1
one ; a kernel with a wrong offset; NUMBERS; statement|relu|add.s64|1|sub.s64
"""
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


def over_an_operand(plan):
    (one,) = buffers(plan, "/layers/layers.1/Relu")
    buffers(plan, "/layers/layers.2/Gemm")[0].offset = one.offset


def misplaced(plan):
    buffers(plan, "/layers/layers.1/Relu")[0].offset += 16


def outside(plan):
    plan.train.entries[place(plan, "part.0/relu_cd7a")].launch.inputs[0].offset += 16


def small_pool(plan):
    (pool,) = [pool for pool in plan.pools if pool.name == "step"]
    pool.bytes -= 256


def norm_of_fewer(plan):
    norm = plan.train.entries[place(plan, "part.0/gradient_norm")].gradient_norm
    del norm.gradients[0], norm.units[0]


# Defect, trainer, change of its plan, what catches it.
PLANS = (
    ("no wait for a gather", "two", remove("part.1/wait"), RACE),
    ("a wait behind what it is for", "two", move("part.0/wait", "part.0/relu_cd7a"), RACE),
    (
        "a reduction before its last gradient",
        "two",
        move("part.1/reduce_scatter_start", "part.1/gemm.1"),
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
        move("part.1/wait.2", "part.0/reduce_scatter_start"),
        RACE,
    ),
    ("two buffers that live at once overlap", "two", overlapping, NUMBERS),
    ("a product over its own operand", "two", over_an_operand, OVERLAP),
    ("a buffer at no multiple of its alignment", "two", misplaced, REFUSED),
    ("an operand that ends behind its buffer", "two", outside, REFUSED),
    ("a pool that is too small", "two", small_pool, REFUSED),
    ("a norm without the gradients of a unit", "two", norm_of_fewer, NUMBERS),
)
