"""The general case: shapes, numbers of ranks, tied, unused and frozen parameters that no
reference model has.

Small models of random values; the reference is the unsharded program (mesh 1) in float64, which
test_parity compares with PyTorch, and numpy where the loss is told.
"""
import itertools
import json
import os
import re
import tempfile
import unittest

import numpy as np

from small_models import Small
from strategies import Run, against_unsharded, out_of_bounds, ranks_of

WIDTHS = (17, 1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10, 8, 9)  # every dim from 1 to 17


def temporary_folder(case):
    folder = tempfile.TemporaryDirectory()
    case.addClassCleanup(folder.cleanup)
    return folder.name


def mean_squares(m, y, width):
    m.node("Identity", y, output="y")
    m.values["target"] = m.random.standard_normal((2 * m.batch, width)).astype(np.float32)
    return m.finish("mse:output=y,target=target", y=(width,))


def chain(folder, batch):
    """Every width from 1 to 17 as rows and as columns, vectors of one element, scalars."""
    m = Small(folder)
    m.batch = batch
    h = m.input("x", (WIDTHS[0],))
    for i, (rows, columns) in enumerate(itertools.pairwise(WIDTHS)):
        h = m.node("Tanh", m.linear(h, f"net.{i}", rows, columns, bias=i % 3 > 0))
        if i % 4 == 0:
            h = m.node("Mul", h, m.parameter(f"net.{i}.scale"))
        if i % 5 == 0:
            h = m.node("Add", h, m.parameter(f"net.{i}.shift", 1))
    return mean_squares(m, h, WIDTHS[-1])


def blocks(folder, count=3, width=7, inner=3):
    """Residual blocks of odd shapes with a scalar and a vector of one element, and a head."""
    m = Small(folder)
    h = m.input("x", (width,))
    for i in range(count):
        name = f"layers.{i}"
        d = m.linear(
            m.node("Tanh", m.linear(h, name + ".up", width, inner)),
            name + ".down",
            inner,
            width,
            bias=False,
        )
        d = m.node(
            "Add", m.node("Mul", d, m.parameter(name + ".scale")), m.parameter(name + ".shift", 1)
        )
        h = m.node("Add", h, d)
    return mean_squares(m, m.linear(h, "head", width, width), width)


def tied(folder):
    """A table that is the head as well (transposed), a matrix that two blocks read, once
    transposed, and a vector that all read."""
    m = Small(folder, seed=3)
    m.input("ids", (5,), high=11)
    m.parameter("table", 11, 6), m.parameter("matrix", 6, 6), m.parameter("gain", 6)
    h = m.node("Gather", "table", "ids", axis=0)
    for i in range(3):
        weight = (
            "matrix"
            if i == 0
            else (
                m.node("Transpose", "matrix", perm=[1, 0])
                if i == 1
                else m.parameter("layers.2.own", 6, 6)
            )
        )
        h = m.node("Add", h, m.node("Tanh", m.node("Mul", m.node("MatMul", h, weight), "gain")))
        h = m.node("Add", h, m.parameter(f"layers.{i}.bias", 6))
    m.node("MatMul", h, m.node("Transpose", "table", perm=[1, 0]), output="logits")
    labels = m.random.integers(0, 11, (2 * m.batch, 5))
    labels[m.random.random(labels.shape) < 0.3] = -100  # unequal numbers of valid labels
    m.values["labels"] = labels
    return m.finish("cross-entropy:logits=logits,labels=labels,ignore=-100,shift=0", logits=(5, 11))


def tied_losses(model, samples):
    """The losses of the labels of `tied` before the first step, per sample, in numpy; NaN where a
    label is ignored."""
    p = {name: values.astype(np.float64) for name, values in model.parameters.items()}
    h = p["table"][model.values["ids"][:samples]]
    for i, weight in enumerate((p["matrix"], p["matrix"].T, p["layers.2.own"])):
        h = h + np.tanh(h @ weight * p["gain"]) + p[f"layers.{i}.bias"]
    logits = h @ p["table"].T
    labels = model.values["labels"][:samples]
    chosen = np.take_along_axis(logits, np.maximum(labels, 0)[..., None], axis=-1)[..., 0]
    return np.where(labels < 0, np.nan, np.log(np.exp(logits).sum(-1)) - chosen)


def idle(folder):
    """Parameters that nothing reads, and others whose values do not reach the loss."""
    m = Small(folder)
    h = m.input("x", (7,))
    m.parameter("unused.weight", 3, 5), m.parameter("unused.scalar")
    for i in range(2):
        h = m.node("Tanh", m.linear(h, f"layers.{i}.live", 7, 7))
        m.linear(h, f"layers.{i}.dead", 7, 5)
    return mean_squares(m, h, 7)


class Case(unittest.TestCase):
    """One model; what its runs are compared with is run once per kind of run."""

    references = {}

    @classmethod
    def setUpClass(cls):
        cls.references = {}

    def reference(self, model, flags=(), batch=None):
        key = (model.folder, tuple(flags), batch)
        if key not in self.references:
            self.references[key] = self.run_model(model, 1, flags, batch=batch)
        return self.references[key]

    def run_model(self, model, mesh, flags=(), micro_batches=1, precision="float64", batch=None):
        with tempfile.TemporaryDirectory() as folder:
            return Run(model, mesh, precision, folder, flags, micro_batches, batch)

    def check(self, model, mesh, flags=(), micro_batches=1, training=(), batch=None):
        """`training`: flags that say what is trained, which the reference has, too."""
        with self.subTest(mesh=mesh, flags=(*flags, *training), micro_batches=micro_batches):
            want = self.reference(model, training, batch)
            run = self.run_model(model, mesh, (*flags, *training), micro_batches, batch=batch)
            row = against_unsharded(run, want, "float64")
            self.assertEqual(out_of_bounds(row), [], row)
            self.assertEqual(set(run.parameters), set(want.parameters))
            self.assertEqual(set(run.gradients), set(want.gradients))
            return run


class Shapes(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chain = chain(temporary_folder(cls), 48)
        cls.blocks = blocks(temporary_folder(cls))

    def test_every_width_on_every_number_of_ranks(self):
        for mesh, flags in (
            ("2", ["--units", "one"]),
            ("3", ["--units", "size:100B"]),
            ("4", ["--strategy", "opt"]),
            ("6", ["--units", "size:1B"]),
            ("8", ["--units", "size:300B", "--strategy", "grad_op"]),
            ("2x2", ["--units", "size:200B"]),
            ("2x3", ["--strategy", "hybrid_opt", "--units", "size:150B"]),
            ("2x4", ["--strategy", "none"]),
        ):
            self.check(self.chain, mesh, flags)

    def test_five_and_seven_ranks(self):
        model = chain(temporary_folder(type(self)), 35)
        for mesh, flags in (
            ("5", ["--units", "size:100B"]),
            ("7", ["--units", "one"]),
            ("7", ["--units", "size:50B", "--strategy", "opt"]),
        ):
            self.check(model, mesh, flags)

    def test_strategies_on_meshes_that_divide_nothing(self):
        for mesh, strategy, micro_batches, accumulate in (
            ("3", "full", 2, "unsharded"),
            ("6", "grad_op", 2, "sharded"),
            ("2x3", "hybrid", 2, "sharded"),
            ("3x2", "hybrid_grad_op", 2, "unsharded"),
            ("3x2", "hybrid_opt", 4, "sharded"),
            ("2x3", "full", 2, "sharded"),
            ("3x2", "opt", 2, "unsharded"),
            ("2x3", "none", 2, "sharded"),
        ):
            self.check(
                self.blocks,
                mesh,
                ["--strategy", strategy, "--units", "block", "--accumulate", accumulate],
                micro_batches,
            )

    def test_units(self):
        for mesh, units in (
            ("4", "block"),
            ("3", "one"),
            ("2x3", "size:1B"),
            ("8", r"scope:layers\.[0-9]"),
            ("6", "auto"),
        ):
            self.check(self.blocks, mesh, ["--units", units])

    def test_reshard(self):
        for mesh, flags in (
            ("4", ["--reshard-after-forward", "2"]),
            ("6", ["--reshard-after-forward", "3"]),
            ("8", ["--reshard-after-forward", "4"]),
            ("2x4", ["--reshard-after-forward", "2"]),
            ("2x3", ["--strategy", "full", "--reshard-after-forward", "2"]),
            (
                "6",
                [
                    "--unit-option",
                    r"match=layers\.[01],reshard=2",
                    "--unit-option",
                    r"match=layers.{1,2}1,reshard=never",
                ],
            ),
            (
                "3x2",
                [
                    "--strategy",
                    "hybrid_opt",
                    "--reshard-after-forward",
                    "always",
                    "--prefetch",
                    "0",
                ],
            ),
        ):
            self.check(self.blocks, mesh, ["--units", "block", *flags])

    def test_more_ranks_than_parameters_have_elements(self):
        """A vector of two elements and a scalar: most of 16 ranks have nothing of them."""
        m = Small(temporary_folder(type(self)))
        h = m.node("Mul", m.input("x", (2,)), m.parameter("pair", 2))
        model = mean_squares(m, m.node("Mul", h, m.parameter("scalar")), 2)
        for mesh, flags in (
            ("16", ["--units", "one"]),
            ("16", ["--units", "size:1B", "--strategy", "opt"]),
            ("2x8", ["--strategy", "hybrid_opt"]),
        ):
            self.check(model, mesh, flags)

    def test_names_that_the_compiler_has_as_well(self):
        m = Small(temporary_folder(type(self)))
        h = m.input("x", (5,))
        names = ("shard", "world", "mesh", "root", "a.frozen", 'say "x"', "it's, b\\c", "reshard.2")
        for name in (*names, "a"):
            h = m.node("Tanh", m.node("Mul", h, m.parameter(name, 5)))
        model = mean_squares(m, h, 5)
        self.check(model, "2x2", ["--units", "size:1B"])
        run = self.check(
            model,
            "4",
            ["--units", "block", "--reshard-after-forward", "2"],
            training=["--freeze", "^(a|shard)$"],
        )
        self.assertEqual(set(run.gradients), set(names) - {"shard"})


class Tied(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tied = tied(temporary_folder(cls))
        cls.idle = idle(temporary_folder(cls))

    def test_tied(self):
        for mesh, flags, micro_batches in (
            ("4", ["--units", "block"], 1),
            ("3", ["--units", "size:1B"], 2),
            ("2x3", ["--strategy", "hybrid_opt"], 2),
            ("2x2", ["--units", "size:1B", "--prefetch", "3"], 1),
        ):
            run = self.check(self.tied, mesh, flags, micro_batches)
            self.assertEqual(len(run.parameters), 7)

    def test_frozen_and_tied(self):
        for frozen in ("^table$", "^matrix$", "^gain$|own"):
            self.check(self.tied, "2x2", ["--units", "size:200B"], training=["--freeze", frozen])

    def test_parameters_that_do_not_reach_the_loss_are_left_alone(self):
        for mesh, flags in (("4", ["--units", "block"]), ("2x3", ["--units", "size:1B"])):
            run = self.check(self.idle, mesh, flags)
            self.assertEqual(
                set(run.gradients),
                {f"layers.{i}.live.{p}" for i in (0, 1) for p in ("weight", "bias")},
            )


class Frozen(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.blocks = blocks(temporary_folder(cls))

    def report(self, mesh, *flags):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            self.blocks.compile(
                os.path.join(folder, "m.trainer"),
                mesh,
                "float32",
                "--report",
                path,
                *flags,
                batch=48,
            )
            with open(path) as file:
                return json.load(file)

    def gathers(self, report):
        """{(unit, phase)} of the all-gathers."""
        return {(c["unit"], c["phase"]) for c in report["collectives"] if c["kind"] == "all_gather"}

    def test_frozen_and_trainable_in_one_unit(self):
        for mesh, flags in (
            ("4", []),
            ("2x3", ["--strategy", "hybrid_opt"]),
            ("3", ["--strategy", "opt"]),
            ("6", ["--reshard-after-forward", "2"]),
        ):
            self.check(
                self.blocks,
                mesh,
                ["--units", "block", *flags],
                training=["--freeze", r"layers\.\d\.(up|scale)"],
            )

    def test_all_but_one_frozen(self):
        for name in ("layers.1.scale", "layers.0.down.weight", "head.bias"):
            run = self.check(
                self.blocks,
                "4",
                ["--units", "block"],
                training=["--trainable", f"^{re.escape(name)}$"],
            )
            self.assertEqual(list(run.gradients), [name])

    def test_a_frozen_front_needs_no_backward(self):
        flags = [
            "--units",
            "block",
            "--freeze",
            r"layers\.[01]\.",
            "--reshard-after-forward",
            "always",
        ]
        self.check(self.blocks, "4", flags[:2] + flags[4:], training=flags[2:4])
        gathers = self.gathers(self.report("4", *flags))
        frozen = {f"layers.{i}.frozen" for i in (0, 1)}
        self.assertLessEqual({(unit, "forward") for unit in frozen}, gathers)
        self.assertFalse(
            [unit for unit, phase in gathers if phase == "backward" and unit in frozen], gathers
        )
        self.assertIn(("layers.2", "backward"), gathers)

    def test_a_frozen_middle_is_gathered_for_backward(self):
        gathers = self.gathers(
            self.report(
                "4",
                "--units",
                "block",
                "--freeze",
                r"layers\.1\.",
                "--reshard-after-forward",
                "always",
            )
        )
        self.assertIn(("layers.1.frozen", "backward"), gathers)

    def test_options_of_what_is_frozen_of_a_unit(self):
        flags = ["--units", "block", "--freeze", "down"]
        kept = self.report(
            "6",
            *flags,
            "--unit-option",
            r"match=^layers\.\d\.frozen$,reshard=2",
            "--unit-option",
            r"match=^layers\.0$,reshard=never",
        )
        reshard = {u["name"]: u["reshard"] for u in kept["units"]}
        self.assertEqual(
            (reshard["layers.0.frozen"], reshard["layers.0"], reshard["layers.1.frozen"]), (2, 1, 2)
        )


class Precision(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.blocks = blocks(temporary_folder(cls))

    def close(self, mesh, precision, *flags, micro_batches=1):
        with self.subTest(mesh=mesh, precision=precision, flags=flags):
            run = self.run_model(self.blocks, mesh, flags, micro_batches, precision)
            want = self.reference(self.blocks).losses
            # 2^-8 per rounding of bf16; a few of them add up in a loss.
            np.testing.assert_allclose(run.losses, want, rtol=2e-2)
            self.assertNotEqual(run.losses, want)

    def test_sixteen_bits_on_odd_shapes(self):
        self.close("3", "bf16", "--units", "block")
        self.close("2x3", "float16", "--units", "size:1B", micro_batches=2)
        self.close("3x2", "bf16", "--strategy", "hybrid_opt", micro_batches=2)
        self.close("6", "param=bf16,reduce=bf16", "--units", "block")
        self.close("8", "bf16", "--master", "bf16", "--units", "one")
        self.close("3", r"param=bf16,keep=layers\.\d", "--units", "block")
        self.close(
            "4", "bf16", "--units", "block", "--unit-option", r"match=layers\.1,precision=float32"
        )


class RunFlags(Case):
    """What the run says: the same on every mesh."""

    MESHES = (
        ("3", ["--units", "size:1B"], 1),
        ("2x2", ["--strategy", "hybrid_opt"], 2),
        ("4", ["--strategy", "none", "--units", "block"], 1),
    )

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = temporary_folder(cls)

    def test_clip_norms(self):
        for norm in ("1", "2", "inf"):
            model = blocks(temporary_folder(type(self)))
            model.run = ("--steps", 4, "--lr", 0.01, "--clip", 0.3, "--clip-norm", norm)
            for mesh in self.MESHES:
                self.check(model, *mesh)
            want = self.reference(model)
            gradients = np.concatenate([g.ravel() for g in want.gradients.values()])
            np.testing.assert_allclose(
                want.norms[0], np.linalg.norm(gradients, float(norm)), rtol=1e-12
            )

    def test_groups_and_no_decay(self):
        model = blocks(self.folder)
        plain = self.reference(model)
        model.run = (
            "--steps",
            4,
            "--lr",
            0.01,
            "--weight-decay",
            0.5,
            "--no-decay",
            "bias",
            "--group",
            r"match=layers\.1,lr-scale=0",
            "--group",
            "match=scale|head.w,lr-scale=2,weight-decay=0",
        )
        self.references = {}
        for mesh in self.MESHES:
            run = self.check(model, *mesh)
            for name, values in run.parameters.items():
                unmoved = np.array_equal(values, model.parameters[name])
                self.assertEqual(unmoved, name.startswith("layers.1"), name)
                self.assertFalse(np.array_equal(values, plain.parameters[name]), name)

    def test_loss_norm_rank_is_the_mean_of_means(self):
        model = tied(self.folder)
        losses = tied_losses(model, model.batch)
        model.run = ("--steps", 1, "--lr", 0.01)
        np.testing.assert_allclose(
            self.run_model(model, "3").losses, [np.nanmean(losses)], rtol=1e-7
        )
        model.run += ("--loss-norm", "rank")
        for mesh, micro_batches in (("4", 2), ("2x3", 1), ("2x2", 3), ("1", 2)):
            with self.subTest(mesh=mesh, micro_batches=micro_batches):
                parts = ranks_of(mesh) * micro_batches
                means = np.nanmean(losses.reshape(parts, -1), axis=1)
                self.assertGreater(abs(means.mean() - np.nanmean(losses)), 1e-5)
                run = self.run_model(model, mesh, micro_batches=micro_batches)
                np.testing.assert_allclose(run.losses, [means.mean()], rtol=1e-7)


if __name__ == "__main__":
    unittest.main()
