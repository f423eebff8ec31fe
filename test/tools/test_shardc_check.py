"""shardc-check as its user runs it: what it proves, what it refuses, and the certificate that a
trainer carries."""
import os
import shutil
import struct
import sys

from tool_test import BUILD, MODELS, ROOT, SHARDC, ToolTest, run

sys.path.insert(0, os.path.join(ROOT, "test", "training"))
from edited_plan import edit

CHECK = os.path.join(BUILD, "bin", "shardc-check")
MODEL = os.path.join(MODELS, "mlp-tiny-loss")
ONNX = os.path.join(MODEL, "model.onnx")


class ShardcCheck(ToolTest):
    def setUp(self):
        super().setUp()
        self.trainer = self.compile("m.trainer", "--mesh", 2, "--units", "size:17kB")

    def compile(self, name, *flags):
        words = [SHARDC, ONNX, "--dim", "batch=4", "--loss", "output:loss", *flags]
        compiled = run(*words, "-o", self.path(name))
        self.assertEqual(compiled.code, 0, compiled.err)
        return self.path(name)

    def works(self, *words):
        result = run(CHECK, *words)
        self.assertEqual((result.code, result.err), (0, ""), result.err)
        return result.out

    def refused(self, *words, says=()):
        result = run(CHECK, *words)
        self.assertEqual(result.code, 2, result.err)
        self.assert_one_error(result, "shardc-check", *says)

    def finds(self, change, says, *words):
        edited = edit(self.trainer, self.path("edited"), change)
        result = run(CHECK, edited, *words)
        self.assertEqual((result.code, result.out), (1, ""), result.err)
        self.assertIn(says, result.err.splitlines()[0])

    def test_proves_a_trainer_and_says_what(self):
        text = self.works(self.trainer, ONNX)
        for line in ("memory: ", "ranks: 2 in ", "updates: 6 parameters", "model: the file is"):
            self.assertIn(f"\n  {line}", text)
        self.assertEqual(self.works("--quiet", self.trainer), "")

    def test_a_reference_is_an_unsharded_trainer(self):
        reference = self.compile("r.trainer", "--mesh", 1, "--strategy", "none", "--remat", "none")
        text = self.works(self.trainer, "--reference", reference)
        self.assertRegex(text, r"values: \d+ results are the reference's expressions")

        def other_bias(plan):
            gemm = next(e for e in plan.train.entries if e.gemm.HasField("bias")).gemm
            gemm.ClearField("bias")

        self.finds(other_bias, "/gemm: makes the ", "--reference", reference)

    def test_findings_name_the_entry(self):
        def without_wait(plan):
            i = next(i for i, e in enumerate(plan.train.entries) if e.HasField("wait"))
            del plan.train.entries[i]

        self.finds(without_wait, "while part.")

        def overlapping(plan):
            relu = next(b for b in plan.buffers if b.name == "/layers/layers.1/Relu")
            gemm = next(b for b in plan.buffers if b.name == "/layers/layers.2/Gemm")
            gemm.offset = relu.offset

        self.finds(overlapping, "shares bytes with buffer")

    def test_whole_matrices_go_to_their_owners_and_back(self):
        muon = ("--optimizer", "muon")
        words = ("--strategy", "none", "--remat", "none", *muon)
        reference = self.compile("r.trainer", "--mesh", 1, *words)
        self.trainer = self.compile("m.trainer", "--mesh", 2, *muon)
        text = self.works(self.trainer, "--reference", reference)
        self.assertRegex(text, r"\n  matrices: 2 whole, each brought to one rank, and back ")

        def start(plan, kind):
            return getattr(next(e for e in plan.train.entries if e.HasField(kind)), kind)

        def other_ranks(plan):
            for e in plan.train.entries:
                if e.ranks and e.name.startswith("div"):
                    e.ranks[:] = [1 - rank for rank in e.ranks]

        def other_owner(plan):
            start(plan, "gather_matrices_start").owners[0] ^= 1

        def row_later(plan):
            start(plan, "scatter_matrices_start").offsets[0] += 64

        def left_out(plan):
            for kind in ("gather_matrices_start", "scatter_matrices_start"):
                for field in ("unit_of", "offsets", "owners", "slots"):
                    del getattr(start(plan, kind), field)[0]

        def on_one_rank(plan):
            next(e for e in plan.train.entries if e.HasField("scatter_matrices_start")).ranks[:] = [
                0
            ]

        def not_taken(plan):
            start(plan, "optimizer_step").ClearField("direction")

        def without_state(plan):
            state = plan.buffers[plan.units[0].state_buffers[0]]
            state.bytes //= 2

        self.finds(other_ranks, "reduce_sum_sqrt_max_0f7c: writes what nobody reads")
        self.finds(other_owner, "that no entry has written")
        self.finds(row_later, "where no whole matrix begins")
        self.finds(left_out, "nothing brings it to an owner")
        self.finds(on_one_rank, "is a collective, and 1 of 2 ranks run it")
        self.finds(not_taken, "model/optimizer_step: lacks its direction")
        self.finds(without_state, "unit model: buffer model.state0 has fewer than")

        def other_formula(plan):
            for kernel in plan.kernels:
                for op in kernel.body:
                    if op.name == "sqrt":
                        op.name = "exp"

        self.finds(other_formula, "makes the update of ", "--reference", reference)

    def test_bad_input_is_one_line(self):
        with open(self.trainer, "rb") as file:
            content = file.read()

        def written(name, part):
            with open(self.path(name), "wb") as file:
                file.write(part)
            return self.path(name)

        self.refused(self.path("nothing"), says=("cannot be read",))
        self.refused(self.folder, says=("is a folder",))
        self.refused(written("empty", b""), says=("neither a trainer nor a plan",))
        self.refused(written("text", b"hello\n" * 100), says=("neither a trainer nor a plan",))
        self.refused(written("cut", content[:-3000]), says=("neither a trainer nor a plan",))
        table, check, count, version, magic = struct.unpack("<QQII8s", content[-32:])
        other = struct.pack("<QQII8s", table, check, count, version + 1, magic)
        self.refused(written("other", content[:-32] + other), says=("version 4",))
        damaged = bytearray(content)
        damaged[table - 5000] ^= 1
        self.refused(written("damaged", damaged), says=("damaged",))

        def of_tomorrow(plan):
            plan.version = 2

        self.refused(edit(self.trainer, self.path("e"), of_tomorrow), says=("version 2",))
        self.refused(self.trainer, self.path("nothing"), says=("cannot be read",))
        self.refused(self.trainer, self.trainer, says=("is no ONNX model",))
        gpt2 = os.path.join(MODELS, "gpt2-tiny", "model.onnx")
        self.refused(self.trainer, gpt2, says=("not the model that was compiled",))
        self.refused("--frobnicate", self.trainer, says=("--help",))
        self.refused(says=("--help",))

    def test_a_certificate_is_written_once_and_goes_with_its_plan(self):
        stamped = self.path("stamped")
        shutil.copy2(self.trainer, stamped)
        self.assertIn("certificate: ", self.works("--stamp", stamped, ONNX))
        size = os.path.getsize(stamped)
        self.works("--stamp", stamped, ONNX)
        self.assertEqual(os.path.getsize(stamped), size)
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.trainer", "stamped"])
        data = [w for n in ("x", "labels") for w in ("--data", f"{n}={MODEL}/data/{n}.npy")]
        trained = run(stamped, *data, "--steps", 1)
        self.assertEqual((trained.code, trained.err), (0, ""), trained.err)

        def renamed(plan):
            plan.model = "another.onnx"

        stale = run(edit(stamped, self.path("stale"), renamed), *data, "--steps", 1)
        self.assert_one_error(stale, "trainer", "its certificate is of another plan")
        with open(self.path("plan"), "wb") as file:
            edit(self.trainer, self.path("e"), lambda p: file.write(p.SerializeToString()))
        self.works(self.path("plan"))
        self.refused("--stamp", self.path("plan"), says=("only a trainer is stamped",))
