// All ops of the dialect, for one run of tablegen.
include "codegen/step/Call.td"
include "codegen/step/Plan.td"
include "codegen/step/Entries.td"
include "codegen/step/Collectives.td"
include "codegen/step/Matrices.td"
include "codegen/step/Transfers.td"
include "codegen/step/Rows.td"
