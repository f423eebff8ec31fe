"""The table of inputs that ./dev fuzz readers --record keeps."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reader_seeds import TARGETS  # noqa: E402
from reader_table import PATH, Table  # noqa: E402


class ReaderTable(unittest.TestCase):
    def test_every_target_has_a_row(self):
        self.assertEqual(set(Table.read().rows), set(TARGETS))

    def test_adding_changes_one_row_and_nothing_else(self):
        table = Table.read()
        before = {name: list(row) for name, row in table.rows.items()}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "fuzzing.md")
            table.write(path)
            with open(path, encoding="utf-8") as file:
                same = file.read()
            table.add("npy", False, 1234567, "2030-01-02")
            table.write(path)
            after = Table.read(path)
        with open(os.path.join("docs", "fuzzing.md"), encoding="utf-8") as file:
            self.assertEqual(same, file.read())
        self.assertEqual(
            after.rows.pop("npy"), [before["npy"][0], before["npy"][1] + 1234567, "2030-01-02"]
        )
        del before["npy"]
        self.assertEqual(after.rows, before)


if __name__ == "__main__":
    unittest.main()
