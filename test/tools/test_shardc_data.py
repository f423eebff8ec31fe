"""shardc-data: token files from text, as Python's sentencepiece makes them (sentencepiece/record.py
recorded that), and what files of samples hold."""
import json
import os
import unittest

import numpy as np

from tool_test import BUILD, ROOT, ToolTest, run

DATA = os.path.join(BUILD, "bin", "shardc-data")
RECORDED = os.path.join(ROOT, "test", "tools", "sentencepiece")
ARROW = os.path.join(ROOT, "test", "runtime", "data", "arrow")


def tokens(path):
    """Of a file of llm.c's."""
    header = np.fromfile(path, np.int32, 256)
    kind = {20240520: (1, np.uint16), 20240801: (7, np.uint32)}[header[0]]
    assert header[1] == kind[0] and not header[3:].any()
    ids = np.fromfile(path, kind[1], offset=1024)
    assert len(ids) == header[2]
    return ids


class ShardcData(ToolTest):
    def works(self, *words):
        result = run(DATA, *words)
        self.assertEqual(result.code, 0, result.err)
        return result

    def fails(self, *words, parts):
        before = sorted(os.listdir(self.folder))
        self.assert_one_error(run(DATA, *words), "shardc-data", *parts)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def text(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def test_sentencepiece_is_that_of_python(self):
        with open(os.path.join(RECORDED, "expected.json"), encoding="utf-8") as file:
            expected = json.load(file)
        texts = [self.text(f"{i}.txt", text) for i, text in enumerate(expected["texts"])]
        out = self.path("t.bin")
        for name in ("unigram", "bpe"):
            model = ("--sentencepiece", os.path.join(RECORDED, name + ".model"))
            ids, end = expected[name]["ids"], expected[name]["end"]
            said = self.works("tokenize", *model, *texts, "-o", out).out
            self.assertIn("5 documents", said)
            self.assertEqual(tokens(out).tolist(), sum((each + [end] for each in ids), []))
            raw = ("--format", "raw", "--dtype", "uint32", "--end", "none")
            self.works("tokenize", *model, *raw, *texts, "-o", out)
            self.assertEqual(np.fromfile(out, np.uint32).tolist(), sum(ids, []))

    def test_bytes(self):
        text = bytes(range(256)) * 9000  # more than is read at a time
        files = [self.text("a", text), self.text("empty", b""), self.text("b", "e\r\n\nf\n")]
        out = self.path("t.bin")
        self.works("tokenize", "--bytes", *files, "-o", out)
        expected = [*text, 256, *b"e\r\n\nf\n", 256]
        self.assertEqual(tokens(out).tolist(), expected)
        self.works("tokenize", "--bytes", "--documents", "lines", files[2], "-o", out)
        self.assertEqual(tokens(out).tolist(), [*b"e\r", 256, *b"f", 256])
        lines = b"".join(b"%d %s\n" % (i, b"x" * (i % 700)) for i in range(5000))
        self.text("b", lines)
        flags = ("--documents", "lines", "--end", 0, "--dtype", "uint32")
        self.works("tokenize", "--bytes", *flags, files[2], "-o", out)
        self.assertEqual(tokens(out).dtype, np.uint32)
        self.assertEqual(bytes(tokens(out).astype(np.uint8)), lines.replace(b"\n", b"\0"))

    def test_memory_is_no_matter_of_the_text(self):
        small = self.text("small", b"0123456789abcde\n")
        usual = self.works("tokenize", "--bytes", small, "-o", self.path("t.bin")).megabytes
        text = self.text("big", b"0123456789abcde\n" * (4 << 20))  # 64 MiB
        result = self.works("tokenize", "--bytes", text, "-o", self.path("t.bin"))
        self.assertLess(result.megabytes, usual + 24)
        self.assertEqual(os.path.getsize(self.path("t.bin")), 1024 + 2 * ((64 << 20) + 1))

    def test_inspect_and_head(self):
        text = self.text("a", "abcd" * 5)
        out = self.path("t.bin")
        self.works("tokenize", "--bytes", text, "-o", out)
        self.assertEqual(
            self.works("inspect", out).out,
            f"{out}: a token file of llm.c, 21 tokens, ids 97 to 256\n",
        )
        self.assertEqual(self.works("head", out, "-n", 5).out, "97 98 99 100 97\n")
        self.assertEqual(
            self.works("head", f"{out},window=3,stride=8", "-n", 9).out,
            "97 98 99\n97 98 99\n97 98 99\n",
        )
        np.save(self.path("x.npy"), np.arange(12, dtype=np.int32).reshape(3, 4))
        said = self.works("inspect", self.path("x.npy")).out
        self.assertIn("a .npy file, int32 [3, 4], 12 tokens, ids 0 to 11\n", said)
        np.save(self.path("x.npy"), np.arange(12, dtype=np.uint16))
        said = self.works("inspect", self.path("x.npy")).out
        self.assertIn("a .npy file, uint16 [12], 12 tokens, ids 0 to 11\n", said)
        np.save(self.path("x.npy"), np.zeros((3, 4, 5), np.float32))
        said = self.works("inspect", self.path("x.npy")).out
        self.assertIn("a .npy file, float32 [3, 4, 5]\n", said)
        np.save(self.path("x.npy"), np.zeros((3, 4), np.complex64))
        self.fails("inspect", self.path("x.npy"), parts=("x.npy: dtype '<c8' holds no token ids",))
        np.save(self.path("x.npy"), np.zeros(3, np.float32))
        self.fails("head", self.path("x.npy"), parts=("without token ids",))
        said = self.works("inspect", os.path.join(ARROW, "rows")).out
        rows = f"column input_ids, 9 rows of 11 to 67 integers, {sum(11 + 7 * i for i in range(9))}"
        self.assertIn(f"an Arrow file, {rows} tokens, ids 1 to 500\n", said)
        said = self.works("inspect", os.path.join(ARROW, "samples") + ",column=row").out
        self.assertEqual(said.count("column row, 6 rows of 16 floats\n"), 2)
        said = self.works("inspect", os.path.join(ARROW, "masks") + ",column=is_long").out
        self.assertEqual(said.count("column is_long, 6 rows of booleans\n"), 2)
        header = json.dumps({"a": {"dtype": "I32", "shape": [2, 3], "data_offsets": [0, 24]}})
        length = len(header).to_bytes(8, "little")
        path = self.text("x.safetensors", length + header.encode() + bytes(24))
        said = self.works("inspect", path).out
        self.assertEqual(said, f"{path}: a safetensors file, a int32 [2, 3]\n")
        raw = self.text("r.bin", np.arange(5, dtype=np.uint16).tobytes())
        self.assertEqual(self.works("head", f"{raw},dtype=uint16").out, "0 1 2 3 4\n")
        self.fails("inspect", raw, parts=("r.bin", "dtype=uint16"))

    def test_errors(self):
        text, out = self.text("a", "abc"), self.path("t.bin")
        model = os.path.join(RECORDED, "bpe.model")
        self.fails("tokenize", text, "-o", out, parts=("--bytes or --sentencepiece",))
        self.fails("tokenize", "--bytes", self.path("no"), "-o", out, parts=("no", "cannot open"))
        self.fails("tokenize", "--bytes", text, "-o", text, parts=("the text",))
        self.fails("tokenize", "--bytes", "--end", "x", text, "-o", out, parts=("--end", "x"))
        flags = ("--end", 65536, "--dtype", "uint16")
        self.fails(
            "tokenize", "--bytes", *flags, text, "-o", out, parts=("uint16 has no id 65536",)
        )
        self.fails("tokenize", "--sentencepiece", text, text, "-o", out, parts=("a: is no model",))
        self.fails("tokenize", "--bytes", self.text("e", ""), "-o", out, parts=("are empty",))
        with open(model, "rb") as file:
            whole = file.read()
        cut = self.text("cut.model", whole[: len(whole) // 2 + 1])
        self.fails("tokenize", "--sentencepiece", cut, text, "-o", out, parts=("cut.model: is no",))
        self.fails("count", parts=("--help",))


if __name__ == "__main__":
    unittest.main()
