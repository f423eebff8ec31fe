"""Which passes name ops, rather than ask for what these are."""
import re
import unittest

from test_structure import files, text, without_comments_and_strings

# Passes ask for traits and interfaces (NN.td, NNInterfaces.td), not for ops. How often these name
# one, each for a reason of its own; constants and parameters, which are values alone, are apart.
OPS_THAT_PASSES_NAME = {
    # The rows that travel are those of lookups.
    "passes/FSDPExchangeRows.cpp": 2,
    # A broadcast's gradient adds up, a cast's does not; of the fused loss one result is not wide.
    "passes/GradientTypes.cpp": 3,
    # The graph's own loss, and its labels behind slices.
    "passes/NNAttachLoss.cpp": 3,
    # What stops gradients, and casts, between whose types gradients are chosen.
    "passes/NNDifferentiate.cpp": 2,
    # Tables, weights, and what is added or subtracted as a vector: a bias.
    "passes/NNMarkParameters.cpp": 4,
    # Casts are what it makes.
    "passes/NNPrecision.cpp": 2,
    # Heads that rotate are stacked as such.
    "passes/NNStackLinears.cpp": 2,
    # An integer sum is divided behind its cast.
    "passes/NNSumOverRanks.cpp": 1,
    # Which roots have gradients at zero: a formula.
    "passes/NNWarnRoots.cpp": 10,
    # The fused loss multiplies in its weight's type.
    "passes/analyses/ComputeTypes.cpp": 1,
    # Classes of --remat that are one op have its name.
    "passes/analyses/OpClasses.cpp": 3,
    # How a mean or a sum of losses is written out: a formula.
    "passes/analyses/OwnLoss.cpp": 6,
    # Of views, the one that repeats; a cast is repeated, too.
    "passes/analyses/ParameterUses.cpp": 2,
    # What the library adds to a product.
    "passes/analyses/RecomputationRules.cpp": 2,
    # Moves that say by themselves how far apart samples are behind them.
    "passes/analyses/SampleStrides.cpp": 3,
    # Which ops add, and along which dims products do: what is linear is a formula.
    "passes/analyses/SampleSums.cpp": 17,
    # What makes probabilities of logits, behind casts.
    "passes/loss/Probabilities.cpp": 3,
    # A gradient may be made before it is reshaped.
    "passes/shard/Reductions.cpp": 1,
    # A head that is one op with its loss is the product that it was; of a table that only lookups
    # read, rows may travel.
    "passes/units/UnitModel.cpp": 2,
}
OPS_THAT_NAME_A_VALUE = {"ConstantOp", "GetParameterOp", "ParameterOp"}


class NamedOps(unittest.TestCase):
    def test_passes_name_few_ops(self):
        asked = re.compile(
            r"\b(?:(?:isa|cast|dyn_cast)(?:_\w+)?|getDefiningOp|Case)<([^<>]*)>"
            r"|\bCase\(\s*\[[^\]]*\]\s*\(([^)]*)\)"
        )
        found = {}
        for name in files():
            if name.startswith("passes/") and name.endswith((".cpp", ".h")):
                named = [
                    op
                    for types in asked.findall(without_comments_and_strings(text(name)))
                    for op in re.findall(r"\bnn::(\w+Op)\b", " ".join(types))
                    if op not in OPS_THAT_NAME_A_VALUE
                ]
                if named:
                    found[name] = len(named)
        self.assertEqual(found, OPS_THAT_PASSES_NAME)

    def test_code_generation_has_no_lists_of_ops(self):
        several = re.compile(r"\b(?:isa|dyn_cast)(?:_\w+)?<\s*nn::\w+Op,\s*nn::\w+Op")
        self.assertEqual(
            [
                name
                for name in files()
                if name.startswith("codegen/")
                and name.endswith((".cpp", ".h"))
                and several.search(text(name))
            ],
            [],
        )


if __name__ == "__main__":
    unittest.main()
