"""The formats of --data: a run whose samples come from any of them has the losses of the run that
has the same samples as .npy files, bit by bit; what is wrong with a file is said in one line."""
import json
import os
import struct
import tempfile

import numpy as np

from tool_test import MODELS, ROOT, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny", "model.onnx")
LENGTH = 16


class DataFormats(ToolTest):
    """gpt2-tiny on two ranks with sequences of 16 tokens."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.trainer = os.path.join(folder.name, "m.trainer")
        result = run(
            SHARDC,
            MODEL,
            "--mesh",
            2,
            "--dim",
            "batch=2",
            "--dim",
            f"sequence={LENGTH}",
            "--loss",
            "cross-entropy:logits=logits,labels=labels,shift=1",
            "-o",
            cls.trainer,
        )
        assert result.code == 0, result.err

    def setUp(self):
        super().setUp()
        self.ids = np.random.default_rng(7).integers(1, 512, 12 * LENGTH)

    def write(self, name, *parts):
        with open(self.path(name), "wb") as file:
            for part in parts:
                file.write(part if isinstance(part, bytes) else part.tobytes())
        return self.path(name)

    def words(self, *data, flags=()):
        given = [word for each in data for word in ("--data", each)]
        return [self.trainer, *given, "--lr", 0.01, *flags]

    def losses(self, *data, flags=()):
        metrics = self.path("metrics.jsonl")
        result = run(*self.words(*data, flags=flags), "--metrics", metrics)
        self.assertEqual(result.code, 0, result.err)
        with open(metrics, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return [line["loss"] for line in lines if "loss" in line and "step" in line]

    def losses_of(self, ids, labels=None, flags=()):
        """Those of samples as .npy files."""
        np.save(self.path("ids.npy"), ids)
        np.save(self.path("labels.npy"), ids if labels is None else labels)
        losses = self.losses(
            f"input_ids={self.path('ids.npy')}",
            f"labels={self.path('labels.npy')}",
            flags=flags,
        )
        self.assertGreater(len(losses), 1)
        return losses

    def fails(self, *words, parts):
        self.assert_one_error(run(*self.words(*words)), "trainer", *parts)

    def test_damaged_files(self):
        """Cut or written over anywhere: one line that names the file, or samples that fit."""
        arrow = os.path.join(ROOT, "test", "runtime", "data", "arrow")
        recorded = {
            "stream.arrow": "samples/data-00000-of-00002.arrow",
            "file.arrow": "large.arrow",
        }
        contents = {}
        for name, path in recorded.items():
            with open(os.path.join(arrow, path), "rb") as file:
                contents[name] = file.read()
        samples = self.ids.reshape(-1, LENGTH)
        np.save(self.path("a.npy"), samples)
        with open(self.path("a.npy"), "rb") as file:
            contents["a.npy"] = file.read()
        entry = {"dtype": "I64", "shape": samples.shape, "data_offsets": [0, samples.nbytes]}
        header = json.dumps({"input_ids": entry}).encode()
        contents["a.st"] = struct.pack("<Q", len(header)) + header + samples.tobytes()
        header = np.zeros(256, np.int32)
        header[:3] = 20240520, 1, len(self.ids)
        contents["llmc.bin"] = header.tobytes() + self.ids.astype(np.uint16).tobytes()
        contents["corpus.idx"] = (
            b"MMIDIDX\0\0"
            + struct.pack("<QBQQ", 1, 4, 1, 2)
            + struct.pack("<iqqq", len(self.ids), 0, 0, 1)
        )
        self.write("corpus.bin", self.ids.astype(np.int32))
        random = np.random.default_rng(3)
        for name, whole in contents.items():
            given, refused = f"input_ids={self.path(name)}", 0
            words = self.words(given, "labels=@input_ids", flags=("--steps", 1))
            self.write(name, whole)
            self.assertEqual(run(*words).code, 0)
            size = len(whole)
            cuts = [whole[:end] for end in (0, 1, 7, size // 3, size - size // 3, size - 1)]
            for place in random.integers(0, min(size, 400), 8):
                other = random.integers(0, 256, 4, np.uint8).tobytes()
                cuts.append(whole[:place] + other + whole[place + 4 :])
            for number, damaged in enumerate(cuts):
                with self.subTest(file=name, damage=number):
                    self.write(name, damaged)
                    result = run(*words)
                    if number < 6 and not (name == "file.arrow" and number == 5):
                        self.assertEqual(result.code, 1)  # of a cut one, something lacks
                    if result.code:
                        stem = name.split(".")[0] + "."
                        self.assert_one_error(result, "trainer", self.path(stem))
                        refused += 1
                    else:
                        self.assertEqual(result.err, "")
            self.assertGreaterEqual(refused, 6, name)

    def test_token_files(self):
        expected = self.losses_of(self.ids.reshape(-1, LENGTH))
        raw = self.write("raw.bin", self.ids.astype(np.uint16))
        wide = self.write("wide.bin", self.ids.astype(np.uint32))
        header = np.zeros(256, np.int32)
        header[:3] = 20240520, 1, len(self.ids)
        gpt2 = self.write("gpt2.bin", header, self.ids.astype(np.uint16))
        header[:3] = 20240801, 7, len(self.ids)
        llama = self.write("llama.bin", header, self.ids.astype(np.uint32))
        sizes = np.full(6, len(self.ids) // 6, np.int32)
        self.write(
            "corpus.idx",
            b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, len(sizes), len(sizes) + 1),
            sizes,
            (np.cumsum(sizes) - sizes).astype(np.int64) * 4,
            np.arange(len(sizes) + 1),
        )
        corpus = self.write("corpus.bin", self.ids.astype(np.int32))
        for given in (f"{raw},dtype=uint16", f"{wide},dtype=uint32", gpt2, llama, corpus):
            with self.subTest(given=given):
                self.assertEqual(self.losses(f"input_ids={given}", "labels=@input_ids"), expected)

    def test_windows(self):
        starts = range(0, len(self.ids) - LENGTH + 1, 10)
        windows = np.stack([self.ids[b : b + LENGTH] for b in starts])
        raw = self.write("raw.bin", self.ids.astype(np.uint16))
        self.assertEqual(
            self.losses(f"input_ids={raw},dtype=uint16,stride=10", "labels=@input_ids"),
            self.losses_of(windows),
        )

    def test_padding_and_several_files(self):
        parts = [self.ids[:70], self.ids[70:]]
        os.mkdir(self.path("corpus"))
        samples = []
        for number, part in enumerate(parts):
            self.write(f"corpus/{number}.bin", part.astype(np.uint16))
            padded = np.zeros(-(-len(part) // LENGTH) * LENGTH, np.int64)
            padded[: len(part)] = part
            samples.append(padded.reshape(-1, LENGTH))
        samples = np.concatenate(samples)
        expected = self.losses_of(samples, np.where(samples == 0, -100, samples))
        for path in ("corpus", "corpus/*.bin"):
            self.assertEqual(
                self.losses(
                    f"input_ids={self.path(path)},dtype=uint16,pad=0",
                    "labels=@input_ids,ignore=0",
                ),
                expected,
            )

    def test_npy_files_of_a_folder(self):
        samples = self.ids.reshape(-1, LENGTH)
        expected = self.losses_of(samples)
        os.mkdir(self.path("parts"))
        np.save(self.path("parts/0.npy"), samples[:5])
        np.save(self.path("parts/1.npy"), samples[5:].astype(np.int32))
        self.assertEqual(
            self.losses(f"input_ids={self.path('parts')}", "labels=@input_ids"), expected
        )

    def test_windows_of_npy_files(self):
        expected = self.losses_of(self.ids.reshape(-1, LENGTH))
        for dtype in (np.uint16, np.int32, np.int64):
            np.save(self.path("t.npy"), self.ids.astype(dtype))
            given = f"input_ids={self.path('t.npy')},window={LENGTH}"
            self.assertEqual(self.losses(given, "labels=@input_ids"), expected)
        rows = self.ids.reshape(4, -1)
        np.save(self.path("rows.npy"), rows.astype(np.uint32))
        given = f"input_ids={self.path('rows.npy')},stride=12"
        starts = range(0, len(self.ids) - LENGTH + 1, 12)
        across = np.stack([self.ids[b : b + LENGTH] for b in starts])
        self.assertEqual(self.losses(given, "labels=@input_ids"), self.losses_of(across))
        starts = range(0, rows.shape[1] - LENGTH + 1, 12)
        inside = np.stack([row[b : b + LENGTH] for row in rows for b in starts])
        self.assertEqual(
            self.losses(f"{given},documents=stored", "labels=@input_ids"),
            self.losses_of(inside),
        )
        np.save(self.path("f.npy"), rows.astype(np.float32))
        given = f"input_ids={self.path('f.npy')},window={LENGTH}"
        self.fails(given, "labels=@input_ids", parts=("f.npy: dtype '<f4' holds no token ids",))
        np.save(self.path("f.npy"), rows[None])
        self.fails(given, "labels=@input_ids", parts=("the shape [1, 4, 48]",))
        size = os.path.getsize(self.path("t.npy"))
        os.truncate(self.path("t.npy"), size - 1)
        given = f"input_ids={self.path('t.npy')},window={LENGTH}"
        self.fails(given, "labels=@input_ids", parts=("t.npy: is truncated",))

    def test_mixtures(self):
        """Of two formats; the samples are those that Megatron's rule chooses."""
        samples = self.ids.reshape(-1, LENGTH)
        np.save(self.path("a.npy"), samples[:9])
        raw = self.write("b.bin", samples[9:].astype(np.uint16))
        weights, sizes, taken, mixed = (0.7, 0.3), (9, 3), [0, 0], []
        while taken[0] < sizes[0] or taken[1] < sizes[1]:
            lacks = [w * max(len(mixed), 1) - t for w, t in zip(weights, taken)]
            part = lacks.index(max(lacks))
            mixed.append(part * sizes[0] + taken[part] % sizes[part])
            taken[part] += 1
        self.assertEqual(sorted(set(mixed)), list(range(12)))
        given = [
            f"input_ids={self.path('a.npy')},weight=0.7",
            f"input_ids={raw},dtype=uint16,weight=0.3",
            "labels=@input_ids",
        ]
        for flags in ((), ("--shuffle", "--epochs", 2)):
            expected = self.losses_of(samples[mixed], flags=flags)
            self.assertEqual(self.losses(*given, flags=flags), expected)
        # A run goes on with the same parts and weights alone.
        folder = ("--checkpoint-dir", self.path("c"))
        self.losses(*given, flags=(*folder, "--steps", 4))
        again = (*folder, "--resume", "auto", "--steps", 6)
        scaled = [each.replace("0.7", "7").replace("0.3", "3") for each in given]
        both = self.losses(*scaled, flags=again)
        self.assertEqual(both, self.losses(*given, flags=("--steps", 6)))
        mixed = "a mixture of 9 samples of weight 7, 3 of weight 3"
        equal = [each.replace("0.7", "0.5").replace("0.3", "0.5") for each in given]
        for words, other in (
            (equal, "a mixture of 9 samples of weight 0.5, 3 of weight 0.5"),
            (
                [given[1], given[0], given[2]],
                "a mixture of 3 samples of weight 0.3, 9 of weight 0.7",
            ),
            ([f"input_ids={self.path('ids.npy')}", given[2]], "no mixture"),
        ):
            result = run(*self.words(*words, flags=again))
            self.assert_one_error(result, "trainer", mixed, f"this one from {other}")
        plain = [each.replace(",weight=0.7", "").replace(",weight=0.3", "") for each in given]
        self.assertEqual(self.losses(*plain), self.losses_of(samples))
        self.fails(given[0], plain[1], given[2], parts=("1 of these have a weight",))
        self.fails(given[0], given[2], parts=("weight", "has no effect"))

    def test_safetensors(self):
        samples = self.ids.reshape(-1, LENGTH)
        expected = self.losses_of(samples)
        header = json.dumps(
            {
                "input_ids": {
                    "dtype": "I32",
                    "shape": samples.shape,
                    "data_offsets": [0, samples.size * 4],
                },
                "l": {
                    "dtype": "I64",
                    "shape": samples.shape,
                    "data_offsets": [samples.size * 4, samples.size * 12],
                },
            }
        ).encode()
        length = struct.pack("<Q", len(header))
        path = self.write("x.st", length, header, samples.astype(np.int32), samples)
        self.assertEqual(self.losses(f"input_ids={path}", f"labels={path},column=l"), expected)
        self.fails(f"input_ids={path}", f"labels={path}", parts=("has no tensor labels", "column="))

    def test_arrow(self):
        folder = os.path.join(ROOT, "test", "runtime", "data", "arrow")  # record.py wrote them
        ids = lambda count: np.arange(count) * 37 % 500 + 1
        expected = self.losses_of(ids(12 * LENGTH).reshape(-1, LENGTH))
        for given in ("samples", "samples,column=labels", "large.arrow"):
            with self.subTest(given=given):
                given = f"input_ids={os.path.join(folder, given)}"
                self.assertEqual(self.losses(given, "labels=@input_ids"), expected)
        tokens = sum(11 + 7 * i for i in range(9)) // LENGTH * LENGTH
        rows = f"input_ids={os.path.join(folder, 'rows')}"
        self.assertEqual(
            self.losses(f"{rows},window={LENGTH}", "labels=@input_ids"),
            self.losses_of(ids(tokens).reshape(-1, LENGTH)),
        )
        self.fails(rows, "labels=@input_ids", parts=("rows of 11 to 67", "window=N"))

    def test_synthetic(self):
        flags = ("--data-limit", 24)
        losses = self.losses("synthetic:3", flags=flags)
        self.assertEqual(len(losses), 6)
        self.assertEqual(self.losses("synthetic:3", flags=flags), losses)
        self.assertNotEqual(self.losses("synthetic:4", flags=flags), losses)
        np.save(self.path("ids.npy"), self.ids.reshape(-1, LENGTH))
        ids = f"input_ids={self.path('ids.npy')}"
        self.assertEqual(len(self.losses(ids, "synthetic:3")), 3)

    def test_data_limit(self):
        samples = self.ids.reshape(-1, LENGTH)
        expected = self.losses_of(samples[:8], flags=("--steps", 4))
        self.assertEqual(self.losses_of(samples, flags=("--steps", 4, "--data-limit", 8)), expected)

    def test_masks(self):
        """s2-llama-tiny-mask takes float [batch, 1, sequence, sequence]."""
        trainer = self.path("mask.trainer")
        model = os.path.join(MODELS, "s2-llama-tiny-mask", "model.onnx")
        loss = "cross-entropy:logits=logits,labels=labels,shift=1"
        words = ("--mesh", 2, "--dim", "batch=2", "--dim", f"sequence={LENGTH}", "--loss", loss)
        result = run(SHARDC, model, *words, "-o", trainer)
        self.assertEqual(result.code, 0, result.err)
        self.trainer = trainer
        ids = np.random.default_rng(5).integers(1, 256, (12, LENGTH))
        ids[:, 7], ids[::2, 12:] = 9, 0
        documents = np.cumsum(np.pad(ids[:, :-1] == 9, ((0, 0), (1, 0))), axis=1)
        attended = (
            np.tri(LENGTH, dtype=bool)
            & (documents[:, :, None] == documents[:, None, :])
            & (ids[:, None, :] != 0)
        )
        mask = np.where(attended, 0, np.finfo(np.float32).min).astype(np.float32)
        np.save(self.path("ids.npy"), ids)
        np.save(self.path("mask.npy"), mask[:, None])
        given = [f"input_ids={self.path('ids.npy')}", "labels=@input_ids,ignore=0"]
        made = "attn_mask=@input_ids,causal,padding=0,documents=9"
        expected = self.losses(*given, f"attn_mask={self.path('mask.npy')}")
        self.assertEqual(len(expected), 3)
        self.assertEqual(self.losses(*given, made), expected)
        self.assertNotEqual(self.losses(*given, "attn_mask=@input_ids,causal"), expected)

    def test_sampler_of_torch(self):
        """test/runtime/data/samplers/orders.txt has the order of 8 samples on 2 ranks."""
        samples = self.ids.reshape(-1, LENGTH)[:8]
        first, second = [4, 7, 2, 1], [0, 3, 5, 6]  # of the ranks, in epoch 0
        order = first[:2] + second[:2] + first[2:] + second[2:]
        expected = self.losses_of(samples[order])
        flags = ("--sampler", "torch")
        self.assertEqual(self.losses_of(samples, flags=flags), expected)
        # A run that goes on takes the samples that are left.
        folder = ("--checkpoint-dir", self.path("checkpoints"))
        given = [f"{name}={self.path('ids.npy')}" for name in ("input_ids", "labels")]
        self.losses(*given, flags=(*flags, "--steps", 1, *folder))
        words = self.words(*given, flags=(*folder, "--resume", "auto"))
        self.assert_one_error(run(*words), "trainer", "--sampler torch --seed 0", "no --shuffle")
        metrics = ("--metrics", self.path("rest.jsonl"))
        result = run(*words, *flags, *metrics)
        self.assertEqual(result.code, 0, result.err)
        with open(self.path("rest.jsonl"), encoding="utf-8") as file:
            losses = [json.loads(line).get("loss") for line in file]
        self.assertIn(expected[1], losses)
        # 12 samples are 3 steps; 10 are 2, or 3 with a last one that is padded.
        pads = (*flags, "--data-limit", 10, "--last-batch", "pad")
        self.assertEqual(len(self.losses_of(self.ids.reshape(-1, LENGTH), flags=pads)), 3)
        self.assertEqual(len(self.losses_of(self.ids.reshape(-1, LENGTH), flags=pads[:4])), 2)

    def test_errors(self):
        raw = self.write("raw.bin", self.ids.astype(np.uint16))
        self.fails(f"input_ids={raw}", "labels=@input_ids", parts=("raw.bin", "dtype=uint16"))
        self.fails(
            f"input_ids={raw},dtype=uint16,strid=3",
            "labels=@input_ids",
            parts=("has no key 'strid'", "did you mean 'stride'"),
        )
        self.fails(
            f"input_ids={raw},dtype=uint16",
            "labels=@input_id",
            parts=("no other input input_id", "did you mean 'input_ids'"),
        )
        self.write("raw.bin", np.full(64, 512, np.uint16))
        self.fails(
            f"input_ids={raw},dtype=uint16",
            "labels=@input_ids",
            parts=("raw.bin: token 0", "512 is not one of the values 0 to 511"),
        )
        parquet = self.write("x.parquet", b"PAR1 and more")
        self.fails(f"input_ids={parquet}", "labels=@input_ids", parts=("Parquet", "save_to_disk"))
