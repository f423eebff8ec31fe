"""Every op and pass is described, and shows IR that shardc-opt parses and verifies.

An op's example of itself is the first ```mlir block of its description; a pass shows IR from before
and after it. Blocks are written for readers. What they leave out is added here:

- A value that a block uses and does not define is defined, with the type that its uses give it.
- The ops of fsdp and step stand in a module with the symbols that the description of fsdp shows.
- `...` in the attributes of an `nn.parameter` stands for where its values lie, and a line that
  begins with `...` for other ops. Nothing else can be left out.
"""
import json
import os
import re
import subprocess
import textwrap
import unittest

from tool_test import BUILD, ROOT

OPT = os.path.join(BUILD, "bin", "shardc-opt")
LLVM = "/usr/lib/llvm-22"
DIALECTS = {
    "nn": "frontend/nn/NNOps.td",
    "fsdp": "passes/fsdp/FSDP.td",
    "step": "codegen/step/StepOps.td",
}
PASSES = ("frontend/onnx/Passes.td", "passes/Passes.td", "codegen/Passes.td")
SEPARATOR = "\n// -----\n"

BLOCK = re.compile(r"^```mlir\n(.*?)^```", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^(?= *func\.func (?!private))", re.MULTILINE)
HEADER = re.compile(r".*?\{ *(?://[^\n]*)?\n", re.DOTALL)
RESULTS = re.compile(r"^\s*((?:%[\w.]+(?::\d+)?(?:, )?)+) =", re.MULTILINE)
ARGUMENT = re.compile(r"(%[\w.]+): ")
SYMBOL = re.compile(r"^(?:nn\.parameter|fsdp\.(?:mesh|group|unit)) (@[\w.]+)", re.MULTILINE)
MISMATCH = re.compile(
    r":(\d+):\d+: error: use of value '(%[\w.]+)' expects different type than "
    r"prior uses: '(.*)' vs 'none'"
)


def records(path):
    """What tablegen knows of a file: {name of a record: its fields}."""
    words = [f"{LLVM}/bin/llvm-tblgen", "-dump-json", "-I", ROOT, "-I", f"{LLVM}/include", path]
    process = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(process.stdout)


def of_class(path, name):
    known = records(path)
    return [known[record] for record in known["!instanceof"][name]]


def descriptions(dialect):
    """{name of an op: its description}."""
    return {
        f"{dialect}.{op['opName']}": textwrap.dedent(op["description"])
        for op in of_class(DIALECTS[dialect], "Op")
    }


def dialect_description(dialect):
    return next(
        textwrap.dedent(record["description"])
        for record in of_class(DIALECTS[dialect], "Dialect")
        if record["name"] == dialect
    )


def blocks(description):
    return BLOCK.findall(description)


def stored(parameter):
    """An nn.parameter whose `...` is written out, but for what stands there already."""
    values = ('initializer = "w"', 'file = ""', "offset = 0", "length = 0", "stored_type = f32")
    missing = [value for value in values if f"{value.split()[0]} =" not in parameter[0]]
    return parameter[0].replace("...", ", ".join(missing))


def undefined(text):
    """The values that a piece of IR uses and does not define."""
    text = re.sub(r"//.*", "", text)
    defined = {name.split(":")[0] for names in RESULTS.findall(text) for name in names.split(", ")}
    defined |= set(ARGUMENT.findall(text))
    return [name for name in dict.fromkeys(re.findall(r"%[\w.]+", text)) if name not in defined]


def definition(name, kind):
    """What makes a value of that type; memory is always a view of a buffer."""
    if kind.startswith("memref<"):
        return (
            f'{name}.b = step.buffer activation 1073741824 "b"\n'
            f"{name} = step.view {name}.b[0] : {kind}\n"
        )
    return f"{name} = builtin.unrealized_conversion_cast to {kind}\n"


class Example:
    """A block, and the types of the values that it lacks, as far as they are known."""

    def __init__(self, title, block, symbols=""):
        self.title, self.types = title, {}
        text = re.sub(r"^\s*\.\.\..*$", "", block, flags=re.MULTILINE)
        text = re.sub(r"nn\.parameter [^{]*\{[^{}]*\}", stored, text)
        # A symbol of its own takes the place of the module's.
        own = set(SYMBOL.findall(text))
        others = re.split(r"^(?=\w)", symbols, flags=re.MULTILINE)
        self.symbols = "".join(s for s in others if not own.intersection(SYMBOL.findall(s)))
        # A function sees no value outside of it.
        self.pieces = FUNCTION.split(text)

    def text(self):
        whole = self.symbols
        for number, piece in enumerate(self.pieces):
            values = "".join(
                definition(name, self.types.setdefault((number, name), "none"))
                for name in undefined(piece)
            )
            header = HEADER.match(piece)[0] if FUNCTION.match(piece) else ""
            whole += header + values + piece[len(header) :]
        return whole

    def learn(self, name, kind):
        """Whether the type of a value was unknown so far."""
        unknown = [key for key, known in self.types.items() if key[1] == name and known == "none"]
        for key in unknown[:1]:
            self.types[key] = kind
        return bool(unknown)


def run_opt(text):
    words = [OPT, "--split-input-file", "-"]
    return subprocess.run(words, input=text, capture_output=True, text=True)


def parse(examples):
    """{title: what is wrong} of the examples, and, where nothing is, {title: what is printed}."""
    learned = True
    while learned:
        # An error says which type a use expects: that of one value for each example and round.
        texts = [example.text() for example in examples]
        process = run_opt(SEPARATOR.join(texts))
        of_line = [
            example
            for example, text in zip(examples, texts)
            for _ in range((text + SEPARATOR).count("\n"))
        ]
        learned = False
        for line, name, kind in MISMATCH.findall(process.stderr):
            learned |= of_line[int(line) - 1].learn(name, kind)
    if process.returncode == 0:
        return {}, {e.title: p for e, p in zip(examples, process.stdout.split("// -----\n"))}
    alone = {example.title: run_opt(example.text()) for example in examples}
    return {title: p.stderr for title, p in alone.items() if p.returncode}, {}


class Examples(unittest.TestCase):
    maxDiff = None

    def symbols(self):
        return Example("fsdp", blocks(dialect_description("fsdp"))[0]).text()

    def test_every_op_is_described_and_its_example_parses(self):
        symbols = self.symbols()
        for dialect in DIALECTS:
            with self.subTest(dialect=dialect):
                described = descriptions(dialect)
                self.assertGreater(len(described), 20)
                prose = {op: BLOCK.sub("", text).strip() for op, text in described.items()}
                self.assertEqual(
                    [op for op, text in prose.items() if len(text) < 40],
                    [],
                    "ops without a description",
                )
                self.assertEqual(
                    [op for op, text in described.items() if not blocks(text)],
                    [],
                    "ops without an example",
                )
                shown = {op: blocks(text)[0] for op, text in described.items()}
                wrong, printed = parse(
                    [
                        Example(op, block, "" if dialect == "nn" else symbols)
                        for op, block in shown.items()
                    ]
                )
                self.assertEqual(wrong, {})
                lacking = [
                    op
                    for op in shown
                    for text in (shown[op], printed[op])
                    if not re.search(rf"^ *(?:%.*= )?{op}(?![\w.])", text, re.MULTILINE)
                ]
                self.assertEqual(lacking, [], "ops that their example lacks")

    def test_further_blocks_parse(self):
        symbols = self.symbols()
        for dialect, path in DIALECTS.items():
            attributes = [
                textwrap.dedent(record["description"])
                for record in of_class(path, "AttrDef")
                if record["description"]
            ]
            found = [
                block
                for text in (dialect_description(dialect), *attributes)
                for block in blocks(text)
            ]
            found += [
                block for text in descriptions(dialect).values() for block in blocks(text)[1:]
            ]
            with self.subTest(dialect=dialect):
                self.assertEqual(
                    parse([Example(str(i), block, symbols) for i, block in enumerate(found)])[0], {}
                )

    def test_what_passes_show_parses(self):
        for path in PASSES:
            for record in of_class(path, "PassBase"):
                text = textwrap.dedent(record["description"])
                with self.subTest(name=record["argument"]):
                    for part in ("Needs:", "Before", "Why here:"):
                        self.assertIn(part, text)
                    # A pass that leaves the module as it is has nothing to show.
                    if not re.search(r"Before and [Aa]fter:|After: the same", text):
                        self.assertEqual(len(blocks(text)), 2, "one block before, one after")
                    self.assertEqual(
                        parse(
                            [Example(f"block {i}", block) for i, block in enumerate(blocks(text))]
                        )[0],
                        {},
                    )

    def test_a_wrong_example_is_found(self):
        wrong, _ = parse(
            [
                Example("type", "%y = nn.exp %x : tensor<4xi32>"),
                Example("verifier", "%y = nn.reshape %x : (tensor<4xf32>) -> tensor<5xf32>"),
                Example("left out", "%y = nn.linear %x, %w : ..."),
                Example("name", "%y = nn.exq %x : tensor<4xf32>"),
                Example("right", "%y = nn.exp %x : tensor<4xf32>"),
            ]
        )
        self.assertEqual(sorted(wrong), ["left out", "name", "type", "verifier"])
        self.assertIn("expects as many elements as the input's 4, got 5", wrong["verifier"])


if __name__ == "__main__":
    unittest.main()
