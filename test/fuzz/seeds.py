"""The seeds that a command line names."""
import argparse


def seeds_of(text):
    """A..B (B not included), or one seed."""
    first, _, last = text.partition("..")
    try:
        return range(int(first), int(last) if last else int(first) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expects A..B or a number, got '{text}'") from None
