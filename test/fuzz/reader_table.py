"""The table of docs/fuzzing.md: how many inputs each libFuzzer target has been given."""
import os
import re

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "fuzzing.md")
HEAD = "| target | with AddressSanitizer | without | last |"
ROW = re.compile(r"^\| ([a-z-]+) \| ([\d,]+) \| ([\d,]+) \| ([\d-]*) \|$")


class Table:
    """Rows of [inputs with AddressSanitizer, without, the last day] by target."""

    def __init__(self, before, rows, after):
        self.before, self.rows, self.after = before, rows, after

    @classmethod
    def read(cls, path=PATH):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        begin = lines.index(HEAD) + 2
        end = next(i for i in range(begin, len(lines)) if not lines[i].startswith("|"))
        rows = {}
        for line in lines[begin:end]:
            name, sanitized, fast, day = ROW.match(line).groups()
            rows[name] = [int(sanitized.replace(",", "")), int(fast.replace(",", "")), day]
        return cls(lines[:begin], rows, lines[end:])

    def inputs(self, name):
        sanitized, fast, _ = self.rows.get(name, (0, 0, ""))
        return sanitized + fast

    def add(self, name, sanitized, inputs, day):
        row = self.rows.setdefault(name, [0, 0, ""])
        row[0 if sanitized else 1] += inputs
        row[2] = str(day)

    def write(self, path=PATH):
        rows = [
            f"| {name} | {sanitized:,} | {fast:,} | {day} |"
            for name, (sanitized, fast, day) in self.rows.items()
        ]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*self.before, *rows, *self.after]))
