"""Trainers made of another runtime than the one that ships, beside those that shardc makes."""
import os
import tempfile
import unittest

from reference import BUILD, SHARDC


class OtherRuntime(unittest.TestCase):
    runtime = None  # the executable in the build's bin/

    @classmethod
    def setUpClass(cls):
        # shardc takes the runtime that lies beside it.
        cls.folder = tempfile.TemporaryDirectory(dir=BUILD)
        cls.addClassCleanup(cls.folder.cleanup)
        cls.shardc = os.path.join(cls.folder.name, "shardc")
        for name, file in (
            ("shardc", SHARDC),
            ("shardc-runtime", os.path.join(BUILD, "bin", cls.runtime)),
        ):
            os.link(os.path.realpath(file), os.path.join(cls.folder.name, name))
