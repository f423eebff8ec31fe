#!/usr/bin/env python3
"""Which parameter each use means, in graphs with the metadata that the exporters leave.

    parameter_meanings.py SHARDC_OPT
"""
import sys
import unittest

from exporter_metadata import ParameterTest

# unittest.main() runs the tests of these classes.
from exporter_slips import Slips
from folded_meanings import Folded
from legacy_meanings import Legacy
from merged_meanings import Merged
from tied_meanings import Tied

if __name__ == "__main__":
    ParameterTest.shardc_opt = sys.argv.pop(1)
    unittest.main()
