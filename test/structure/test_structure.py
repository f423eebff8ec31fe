"""The repository's own rules: which folder may include which, one name for each pass, files that
can be read at a sitting."""
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

# What a folder may include besides itself. The compiler and the runtime share the plan's schema,
# the trainer's container and what every program does at its start.
MAY_INCLUDE = {
    "frontend": {"frontend"},
    "passes": {"passes", "frontend"},
    "codegen": {"codegen", "passes", "frontend"},
    "runtime": {"runtime"},
    "tools": {"tools", "codegen", "passes", "frontend"},
}
# The rooms of a folder, from the lowest: what each may include besides itself and OPEN. A folder's
# root may include all of its rooms.
ROOMS = {
    "frontend": {
        "files": set(),
        "nn": set(),
        "raise": {"nn"},
        "onnx": {"files", "nn"},
    },
    "frontend/onnx": {
        "file": set(),
        "graph": {"file"},
        "parameters": {"file", "graph"},
        "decode": {"graph"},
    },
    "passes": {
        "options": set(),
        "analyses": {"options"},
        "loss": {"options"},
        "units": {"options", "analyses"},
        "fsdp": {"units"},
        "shard": {"units", "fsdp"},
        "verify": {"analyses", "fsdp"},
        "report": {"analyses", "fsdp"},
    },
    "codegen": {
        "step": set(),
        "kernels": {"step"},
        "lower": {"step", "kernels"},
        "timeline": {"step"},
        "schedule": {"step", "timeline"},
        "offload": {"step", "timeline"},
        "record": {"step", "timeline"},
        "emit": {"step"},
        "cpu": {"step", "kernels"},
        "gpu": {"step", "kernels", "cpu"},
    },
    "runtime": {
        "simd": set(),
        "base": {"simd"},
        "files": {"base"},
        "flags": {"base", "files"},
        "store": {"base", "files"},
        "comm": {"base", "simd"},
        "device": {"base", "comm"},
        "cpu": {"base", "files", "simd", "comm", "device"},
        "cuda": {"base", "files", "comm", "device"},
        "inspect": {"base", "comm", "device"},
        "engine": {"base", "comm", "device"},
        "data": {"base", "files"},
        "weights": {"base", "files", "engine"},
        "checkpoint": {"base", "files", "comm", "engine", "data", "weights"},
        "metrics": {"base", "files"},
        "mlflow": {"base", "files", "metrics"},
        "launch": {"base", "files", "store", "comm"},
        "selftest": {"base", "files", "comm", "device", "launch"},
        "train": {
            "base",
            "files",
            "comm",
            "device",
            "inspect",
            "engine",
            "data",
            "weights",
            "checkpoint",
            "metrics",
            "mlflow",
            "launch",
            "selftest",
        },
        "cli": {"base", "flags", "data", "device", "store", "launch", "train"},
    },
}
OPEN = {"runtime/plan.pb.h", "runtime/Container.h", "runtime/base/Threefry.h", "codegen/Target.h"}
# They read and write what trainers do, and no compiler; and their main().
TOOLS_OF_TRAINERS = tuple(
    "tools/" + name for name in ("shardc-ckpt/", "shardc-data/", "shardc-diff/", "ToolMain.")
)
SHARED_WITH_RUNTIME = {
    "runtime/plan.pb.h",
    "runtime/Container.h",
    "runtime/base/ExactSum.h",
    "runtime/base/JsonInHtml.h",
    "runtime/base/LossKinds.h",
    "runtime/base/PoolNames.h",
    "runtime/base/Printable.h",
    "runtime/base/SplitMaster.h",
    "runtime/base/Threefry.h",
    "runtime/cpu/WorkspaceSizes.h",
    "runtime/cuda/attention/CudnnShapes.h",
    "runtime/cuda/LossWorkspace.h",
    "runtime/cuda/attention/ScoresInMemory.h",
    "runtime/cuda/kernels/CrossEntropyParameters.h",
    "runtime/device/Optimizers.h",
    "runtime/device/RowExchange.h",
    "runtime/files/ConfinedOpen.h",
    "runtime/files/FileUses.h",
    "runtime/flags/FlagTable.h",
    "runtime/flags/Settings.h",
    "runtime/launch/Guard.h",
}
MOST_LINES = 500
# A class body is a table of contents: what is long is declared in it, and defined behind it.
MOST_LINES_OF_A_CLASS = 150
MOST_COLUMNS = 100
CODE = (".cpp", ".h", ".td", ".py", ".proto", ".cu", "CMakeLists.txt", ".cmake")


def files():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [
        f
        for f in listed.splitlines()
        if os.path.isfile(os.path.join(ROOT, f)) and not f.startswith("test/models/")
    ]


def text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def includes(name):
    return re.findall(r'^\s*#?include\s+"([^"]+)"', text(name), re.MULTILINE)


def without_comments_and_strings(source):
    """C++ with blanks in place of comments, strings and characters, whose braces mean nothing."""
    pattern = (
        r"//[^\n]*|/\*.*?\*/"
        r'|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    )
    return re.sub(
        pattern, lambda match: re.sub(r"[^\n]", " ", match.group()), source, flags=re.DOTALL
    )


def class_bodies(source):
    """(name, lines between the braces) of every class and struct that is defined."""
    code = without_comments_and_strings(source)
    for match in re.finditer(
        r"\b(?<!enum )(?:class|struct)\s+(?:\w+::)*(\w+)(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?\{",
        code,
    ):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        yield match.group(1), code.count("\n", match.end(), end) - 1


class Structure(unittest.TestCase):
    def test_folders_include_only_what_lies_below_them(self):
        wrong = []
        for name in files():
            top = name.split("/")[0]
            if top not in MAY_INCLUDE or not name.endswith((".cpp", ".h", ".td")):
                continue
            for included in includes(name):
                target = included.split("/")[0]
                if target == "runtime" and name.startswith(TOOLS_OF_TRAINERS):
                    continue
                if target in MAY_INCLUDE and target not in MAY_INCLUDE[top]:
                    if not (
                        target == "runtime"
                        and included in SHARED_WITH_RUNTIME
                        and top in ("codegen", "passes", "tools", "frontend")
                    ):
                        wrong.append(f"{name} includes {included}")
        self.assertEqual(wrong, [])

    def test_rooms_include_only_what_lies_below_them(self):
        wrong = []
        for name in files():
            for top, rooms in ROOMS.items():
                inside = name.removeprefix(top + "/")
                if inside == name or "/" not in inside:
                    continue
                room = inside.split("/")[0]
                if room not in rooms:
                    wrong.append(f"{name} is in a room that {os.path.basename(__file__)} lacks")
                elif name.endswith((".cpp", ".h")):
                    wrong += [
                        f"{name} includes {i}"
                        for i in includes(name)
                        if i.startswith(top + "/")
                        and i not in OPEN
                        and i.removeprefix(top + "/").split("/")[0] not in rooms[room] | {room}
                    ]
        self.assertEqual(wrong, [])

    def test_the_root_of_the_runtime_is_small(self):
        root = [name for name in files() if name.startswith("runtime/") and name.count("/") == 1]
        self.assertLessEqual(len(root), 10, root)

    def test_one_place_chooses_the_device(self):
        # Others ask its DeviceTraits.
        kinds = re.compile(r"\b(?:cpu|cuda)::|\bhas_(?:cpu|cuda)\b|target\(\)\.(?:cpu|cuda)\(\)")
        named = [
            f
            for f in files()
            if f.startswith("runtime/")
            and not f.startswith(("runtime/cpu/", "runtime/cuda/"))
            and f.endswith((".cpp", ".h"))
            and kinds.search(without_comments_and_strings(text(f)))
        ]
        self.assertEqual(named, ["runtime/main.cpp"])

    def test_one_place_chooses_the_world(self):
        elsewhere = re.compile(r"ThreadWorld|launchedWorld")
        named = [
            f
            for f in files()
            if f.startswith("runtime/")
            and not f.startswith(("runtime/launch/", "runtime/comm/"))
            and f.endswith((".cpp", ".h"))
            and elsewhere.search(text(f))
        ]
        self.assertEqual(named, ["runtime/main.cpp"])

    def test_no_rank_points_to_another(self):
        pointers = re.compile(r"\bRank \*|vector<Rank\b|span<Rank\b")
        self.assertEqual(
            [
                f
                for f in files()
                if f.startswith("runtime/")
                and f.endswith((".cpp", ".h"))
                and pointers.search(text(f))
            ],
            [],
        )

    def test_remarks_are_of_the_passes_that_shardc_names(self):
        sources = [f for f in files() if f.startswith(("frontend/", "passes/", "codegen/"))]
        emitted = {
            name
            for source in sources
            if source.endswith((".cpp", ".h"))
            for name in re.findall(r'category\(\s*"([^"]+)"', text(source))
        }
        listed = text("tools/shardc/Remarks.cpp").partition("passes[] = {")[2].partition("}")[0]
        self.assertEqual(emitted, set(re.findall(r'"([^"]+)"', listed)))

    def test_cpp_is_formatted(self):
        sources = [name for name in files() if name.endswith((".cpp", ".h"))]
        process = subprocess.run(
            ["clang-format-22", "--dry-run", "-Werror", *sources],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        unformatted = sorted(
            {line.split(":")[0] for line in process.stderr.splitlines() if ": error: " in line}
        )
        self.assertEqual(unformatted, [], "run ./dev format")
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_python_is_formatted(self):
        sources = [name for name in files() if name.endswith(".py")]
        command = [sys.executable, "-m", "black", "--check", *sources]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        found = re.findall(r"^would reformat (.*)$", process.stderr, re.MULTILINE)
        unformatted = sorted(os.path.relpath(os.path.join(ROOT, name), ROOT) for name in found)
        self.assertEqual(unformatted, [], "run ./dev format")
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_no_line_of_python_is_too_long(self):
        # An address cannot be broken: it may stand in a line of its own.
        address = re.compile(r"\s*(# )?https?://\S+")
        self.assertEqual(
            [
                f"{name}:{number}"
                for name in files()
                if name.endswith(".py")
                for number, line in enumerate(text(name).splitlines(), 1)
                if len(line) > MOST_COLUMNS and not address.fullmatch(line)
            ],
            [],
            f"above {MOST_COLUMNS} columns",
        )

    def test_no_line_of_tablegen_is_too_long(self):
        self.assertEqual(
            [
                f"{f}:{n}"
                for f in files()
                if f.endswith(".td")
                for n, line in enumerate(text(f).splitlines(), 1)
                if len(line) > MOST_COLUMNS
            ],
            [],
        )

    def test_no_line_of_markdown_is_too_long(self):
        # Rows of tables cannot be broken, nor links, which stand in lines of their own. What
        # docs/generate.py writes has the lines of its sources.
        unbroken = re.compile(r"\s*\|.*|\s*([-*]|\d+\.)?\s*\S+")
        self.assertEqual(
            [
                f"{name}:{number}"
                for name in files()
                if name.endswith(".md") and not name.startswith("docs/generated/")
                for number, line in enumerate(text(name).splitlines(), 1)
                if len(line) > MOST_COLUMNS and not unbroken.fullmatch(line)
            ],
            [],
            f"above {MOST_COLUMNS} columns",
        )

    def test_runtime_uses_no_llvm(self):
        wrong = [
            f"{name} includes {i}"
            for name in files()
            if name.startswith("runtime/") and name.endswith((".cpp", ".h"))
            for i in includes(name)
            if i.split("/")[0] in ("mlir", "llvm", "lld")
        ]
        self.assertEqual(wrong, [])

    def test_each_pass_has_its_source_and_test_of_one_name(self):
        wrong = []
        for folder, tests in (
            ("passes", "passes"),
            ("codegen", "codegen"),
            ("frontend/onnx", "onnx"),
        ):
            passes = "".join(
                text(f) for f in files() if os.path.dirname(f) == folder and f.endswith("Passes.td")
            )
            for mnemonic in re.findall(r'^def\s+\w+\s*:\s*Pass<"([^"]+)"', passes, re.MULTILINE):
                words = mnemonic.split("-")
                camel = "".join(
                    {"nn": "NN", "fsdp": "FSDP", "onnx": "Onnx"}.get(w, w.capitalize())
                    for w in words
                )
                for path in (f"{folder}/{camel}.cpp", f"test/{tests}/{mnemonic}.mlir"):
                    if not os.path.exists(os.path.join(ROOT, path)):
                        wrong.append(f"pass {mnemonic}: no {path}")
        self.assertEqual(wrong, [])

    def test_passes_for_tests_have_their_source_and_a_test_and_the_product_none(self):
        wrong, lit = [], "\n".join(
            text(f) for f in files() if f.startswith("test/") and f.endswith((".mlir", ".test"))
        )
        for name in files():
            if name.endswith(".td"):
                wrong += [
                    f"{name}: pass {m} is for tests, and belongs to test/lib"
                    for m in re.findall(r'Pass<"([^"]*\btest\b[^"]*)"', text(name))
                ]
            if not name.startswith("test/lib/") or not name.endswith(".cpp"):
                continue
            for mnemonic in re.findall(
                r'getArgument\(\) const override \{ return "([^"]+)"', text(name)
            ):
                camel = "".join({"nn": "NN"}.get(w, w.capitalize()) for w in mnemonic.split("-"))
                if name != f"test/lib/{camel}.cpp":
                    wrong.append(f"pass {mnemonic} is in {name}, expected test/lib/{camel}.cpp")
                if not re.search(rf"RUN:.*shardc-opt.* -{mnemonic}\b", lit):
                    wrong.append(f"pass {mnemonic}: no lit test runs it")
        self.assertEqual(wrong, [])

    def test_the_product_includes_nothing_of_its_tests(self):
        self.assertEqual(
            [
                f"{name} includes {i}"
                for name in files()
                if name.split("/")[0] in MAY_INCLUDE
                and name.endswith((".cpp", ".h", ".td"))
                and name != "tools/shardc-opt/shardc-opt.cpp"
                for i in includes(name)
                if i.startswith("test/")
            ],
            [],
        )

    def test_each_op_family_has_its_source(self):
        families = [
            f[:-3] for f in os.listdir(os.path.join(ROOT, "frontend/nn/ops")) if f.endswith(".td")
        ]
        missing = [
            f
            for f in families
            if not os.path.exists(os.path.join(ROOT, f"frontend/nn/ops/{f}.cpp"))
        ]
        self.assertEqual(missing, [])
        # What a verifier refuses stands beside what folds.
        tested = {f.replace("-", "") for f in os.listdir(os.path.join(ROOT, "test/nn"))}
        verified = [f for f in families if "hasVerifier" in text(f"frontend/nn/ops/{f}.td")]
        self.assertEqual([f for f in verified if f"{f.lower()}errors.mlir" not in tested], [])

    def test_no_file_is_too_long(self):
        long = {
            f: n for f in files() if f.endswith(CODE) and (n := text(f).count("\n")) > MOST_LINES
        }
        self.assertEqual(long, {})

    def test_class_bodies_are_tables_of_contents(self):
        self.assertEqual(
            [
                f"{name}: {c}"
                for name in files()
                if name.endswith((".cpp", ".h", ".cu"))
                for c, lines in class_bodies(text(name))
                if lines > MOST_LINES_OF_A_CLASS
            ],
            [],
            f"at most {MOST_LINES_OF_A_CLASS} lines: declare first, define behind",
        )

    def test_class_bodies_are_found_and_counted(self):
        found = dict(
            class_bodies(
                """
            class Declared;
            template <typename T> class Outer final : public Base<T, 3>, private Other {
              struct Inner {
                int a = '{';
              };
              const char *text = "}"; // }
              void define() { if (a) { } }
            };
            enum class Kind { A };
            """
            )
        )
        self.assertEqual(found, {"Outer": 5, "Inner": 1})

    def test_no_path_of_one_machine(self):
        pattern = re.compile(r"/(?:root|home|work)/\w")
        self.assertEqual(
            [
                f
                for f in files()
                if f.endswith(CODE + (".md", ".mlir", ".test"))
                and pattern.search(text(f))
                and not f.startswith("test/structure/")
            ],
            [],
        )

    def test_documents_name_files_that_exist(self):
        wrong = []
        for name in files():
            if not name.endswith(".md") or name.startswith("test/models"):
                continue
            for path in re.findall(
                r"`((?:frontend|passes|codegen|runtime|tools|test|docs)/[\w./-]+)`", text(name)
            ):
                if (
                    not os.path.exists(os.path.join(ROOT, path))
                    and "<" not in path
                    and "*" not in path
                ):
                    wrong.append(f"{name} names {path}")
        self.assertEqual(wrong, [])

    def test_generated_documents_are_fresh(self):
        process = subprocess.run(
            [sys.executable, "docs/generate.py", "--check"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)


if __name__ == "__main__":
    unittest.main()
