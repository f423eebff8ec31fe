// All ops of the dialect, for one run of tablegen.
include "passes/fsdp/Symbols.td"
include "passes/fsdp/Parameters.td"
include "passes/fsdp/Gradients.td"
include "passes/fsdp/Statistics.td"
include "passes/fsdp/StepEnd.td"
include "passes/fsdp/Matrices.td"
include "passes/fsdp/Rows.td"
