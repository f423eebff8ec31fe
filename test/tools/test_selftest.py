"""--selftest of trainers: tables, the file for --cluster, and the exit code."""
import os
import re
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "s0-mlp-transformer-tiny-dynamo", "model.onnx")
LOSS = "cross-entropy:logits=logits,labels=labels"


class SelfTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.trainer = self.path("t")
        self.compile("--mesh", "2", "-o", self.trainer)

    def compile(self, *flags):
        result = run(SHARDC, MODEL, "--dim", "batch=2", "--loss", LOSS, *flags, "-q")
        self.assertEqual(result.code, 0, result.err)

    def test_threads_and_processes(self):
        cluster = self.path("cluster.toml")
        for flags, level in (
            ([], "in a process, 2 ranks"),
            (["--nproc-per-node", 2], "between processes of a host, 2 ranks"),
        ):
            result = run(self.trainer, "--selftest", "--selftest-cluster", cluster, *flags)
            self.assertEqual((result.code, result.err), (0, ""))
            self.assertIn(f"\n{level}\n", result.out)
            rows = re.findall(r"^ +(\S+ [kM]B) +(.*)$", result.out, re.M)
            self.assertEqual([rows[0][0], rows[-1][0], len(rows)], ["4 kB", "64 MB", 9])
            for _, row in rows:
                self.assertRegex(row, r"^(\d+\.\d us +\d+\.\d\d GB/s *){3}$")
            self.compile("--mesh", "2", "--cluster", cluster, "-o", self.path("o"))

    def test_a_rate_that_is_not_reached(self):
        result = run(self.trainer, "--selftest", "--selftest-min", "900000GB/s")
        self.assertEqual(result.code, 44, result.err)
        self.assertIn("below --selftest-min 9e+05 GB/s", result.out)
        self.assertEqual(run(self.trainer, "--selftest", "--selftest-min", "1MB/s").code, 0)

    def test_wrong_flags(self):
        for flags, words in (
            (["--selftest", "--lr", "1"], ["--lr", "no effect with --selftest"]),
            (["--selftest-min", "1GB/s"], ["--selftest-min", "without --selftest"]),
            (["--selftest", "--selftest-min", "5"], ["a rate such as 5GB/s", "'5"]),
            (["--selftest", "--selftest-cluster", self.path("no/c")], ["no/c", "No such file"]),
        ):
            self.assert_one_error(run(self.trainer, *flags), "trainer", *words)
        self.compile("--mesh", "1", "-o", self.path("one"))
        result = run(self.path("one"), "--selftest", "--selftest-min", "1GB/s")
        self.assert_one_error(result, "trainer", "needs two ranks")


if __name__ == "__main__":
    unittest.main()
