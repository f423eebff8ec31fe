// Every pass that decides what the training step is, for one run of tablegen.
include "passes/NNPasses.td"
include "passes/FSDPPasses.td"
