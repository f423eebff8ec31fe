"""python -m shardc is the command shardc."""
import sys

from shardc.cli import main

sys.exit(main())
