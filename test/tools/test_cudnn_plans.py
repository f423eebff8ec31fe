"""cuDNN, where it is, makes plans for a GPU that is not, within what trainers' plans have."""
import os
import sys
import unittest

from tool_test import BUILD, ROOT

sys.path.insert(0, os.path.join(ROOT, "test", "codegen"))
import cudnn_plans  # noqa: E402

FOLDERS = cudnn_plans.folders()
LLAMA = "batch=1,queries=4096,heads=32,groups=8,dim=128,causal=1"


class CudnnPlans(unittest.TestCase):
    @unittest.skipUnless(
        FOLDERS, "there is no libcudnn.so.9: it comes with CUDA, or PyPI's nvidia-cudnn-cu13"
    )
    def test_take_no_more_than_the_plan_has(self):
        _, lines = cudnn_plans.plans(BUILD, FOLDERS[0], [LLAMA, *cudnn_plans.SHAPES[::3]])
        self.assertEqual(len(lines), 2 * (1 + len(cudnn_plans.SHAPES[::3])))
        for line in lines:
            with self.subTest(shape=line["of"], direction=line["direction"]):
                self.assertEqual(cudnn_plans.faults(line), [])
                if line["direction"] == "forward":
                    self.assertEqual(line["taken"], "forward")
        forward, backward = lines[:2]
        self.assertEqual(forward["planned"], 256)
        # The queries' gradient, heads' gradients of keys and values, and deltas.
        rows = 32 * 4096
        sums = rows * 128 * 4 + rows * 256 * 2 + rows * 4
        for way, most in (("atomic", sums + 1024), ("ordered", backward["planned"])):
            if "bytes" in backward["ways"][way]:
                self.assertGreaterEqual(backward["ways"][way]["bytes"], sums)
                self.assertLessEqual(backward["ways"][way]["bytes"], most)
        scores = backward["ways"]["scores"]
        self.assertGreater(scores["bytes"], 32 * 4096 * 4096 * 2)
        # All of them have no room; half of the heads have.
        self.assertFalse(scores["fits"])
        self.assertLess(backward["planned"], 0.6 * scores["bytes"])
        self.assertEqual(backward["taken"], "scores")


if __name__ == "__main__":
    unittest.main()
