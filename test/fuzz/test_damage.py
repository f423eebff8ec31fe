"""A hundred damaged files; `./dev fuzz damage --seeds A..B` runs others."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import damage  # noqa: E402


class DamagedFiles(unittest.TestCase):
    def test_damaged_files_are_refused_or_harmless(self):
        counts, findings = damage.damage_all(range(100))
        self.assertEqual(findings, [])
        refused = sum(
            count for (_, outcome), count in counts.items() if outcome.startswith("refused")
        )
        self.assertGreater(refused, 30, counts)  # else nothing was damaged
        self.assertEqual({target for target, _ in counts}, set(damage.TARGETS))


if __name__ == "__main__":
    unittest.main()
