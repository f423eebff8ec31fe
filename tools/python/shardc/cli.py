"""The command shardc: `shardc export` here, all else by the compiler."""
import argparse
import os
import sys

from shardc import checks, programs, tasks
from shardc.programs import Error

DESCRIPTION = """Exports a PyTorch module to ONNX so that shardc trains it as PyTorch would: with
its dropout, all of its parameters under their own names, and dims that are sizes of a compile.
Fails where a parameter is lost, and says which. Prints the commands that compile and train it.
Needs torch, onnx and onnxscript (pip install 'shardc[export]')."""
SOURCES = """SOURCE is a folder of Hugging Face (a config.json; values are drawn where it has no
weights), or FILE.py:FUNCTION, a function that gives (module, inputs) or (module, inputs, options).
inputs: a tensor, a tuple of them, or a dict by names of forward's arguments. options: a dict of
dims ({input: {axis: name}}; default: batch, and sequence for integers of two dims), outputs (names
of what forward gives), loss (shardc's --loss) and labels (names)."""


def size(text):
    name, equals, number = text.partition("=")
    if not equals or not number.isdigit() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"expects NAME=SIZE, got '{text}'")
    return name, int(number)


def count(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expects a positive number, got '{text}'")
    return int(text)


def export_parser():
    parser = argparse.ArgumentParser(prog="shardc export", description=DESCRIPTION, epilog=SOURCES)
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("-o", "--output", metavar="FILE.onnx", default="model.onnx")
    parser.add_argument(
        "--task", choices=tasks.TASKS, help="of a folder [that of the class in its config.json]"
    )
    parser.add_argument(
        "--num-labels", type=count, metavar="N", help="classes of a folder's model [its config's]"
    )
    parser.add_argument(
        "--mask",
        action=argparse.BooleanOptionalAction,
        help="whether attention_mask is an input [of all tasks but causal-lm]",
    )
    parser.add_argument(
        "--token-types",
        action=argparse.BooleanOptionalAction,
        help="whether token_type_ids is an input, as of pairs of texts [zeros]",
    )
    parser.add_argument(
        "--eval", action="store_true", help="without dropout, by running statistics"
    )
    parser.add_argument("--opset", type=int, help="[the exporter's]")
    parser.add_argument(
        "--exporter",
        choices=("dynamo", "tracing"),
        default="dynamo",
        help="torch.export's graph, or the older one of a trace [%(default)s]",
    )
    parser.add_argument("--mesh", default="2", help="of the printed command [%(default)s]")
    parser.add_argument(
        "--dim",
        type=size,
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="a dim's size in the printed command [4 samples of 128 tokens; those of inputs]",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print errors and warnings alone"
    )
    return parser


def export(arguments):
    args = export_parser().parse_args(arguments)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise Error(f"exporting needs torch: {error}; pip install 'shardc[export]'")
    from shardc.export import export as write
    from shardc.sources import Wanted, open_source

    folder = os.path.dirname(os.path.abspath(args.output))
    if not os.path.isdir(folder):
        raise Error(f"there is no folder {folder}")
    wanted = Wanted(args.task, args.mask, args.token_types, not args.eval, args.num_labels)
    source = open_source(args.source, wanted)
    for note in source.notes:
        print(f"shardc: warning: {note}", file=sys.stderr)
    made = write(source, args.output, args.exporter, args.opset)
    found = made.found
    if found.unused:
        print(
            "shardc: warning: no output depends on, and nothing trains"
            f" {checks.shown(found.unused)}",
            file=sys.stderr,
        )
    if found.unread:
        print(
            f"shardc: warning: no output depends on {checks.shown(found.unread)}, and training is"
            " without",
            file=sys.stderr,
        )
    if args.quiet:
        return 0
    count = len(found.trained)
    print(f"{args.output}: {count} parameters to train, {len(found.frozen)} frozen, each once")
    for aside in source.asides:
        print(aside)
    for command in made.commands(args.mesh, dict(args.dim)):
        print("  " + command)
    return 0


def main():
    arguments = sys.argv[1:]
    try:
        if arguments[:1] == ["export"]:
            return export(arguments[1:])
        programs.replace_process("shardc", arguments)
    except Error as error:
        print(f"shardc: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def tool(name):
    try:
        programs.replace_process(name, sys.argv[1:])
    except Error as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 1


def check():
    return tool("shardc-check")


def ckpt():
    return tool("shardc-ckpt")


def data():
    return tool("shardc-data")
