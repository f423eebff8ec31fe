// RUN: not shardc-opt %s --fsdp-form-units=mesh=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not shardc-opt %s --fsdp-form-units=mesh=1000000000 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not shardc-opt %s --fsdp-form-units=mesh=99999999999999999999 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not shardc-opt %s --fsdp-form-units=mesh=1048576x1048576 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not shardc-opt %s --fsdp-form-units=mesh=-2 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2x 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2x2x2 2>&1 | FileCheck %s --check-prefix=DIMS
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2 strategy=hybrid" 2>&1 | FileCheck %s --check-prefix=STRATEGY

// ZERO: error: mesh 0: a mesh dimension must be at least 1
// MANY: error: mesh {{[0-9x]+}}: a mesh has at most 1048576 ranks
// FORM: error: mesh {{-2|2x}}: expected a number of ranks (8) or two (2x8)
// DIMS: error: mesh 2x2x2: a mesh has one or two dimensions, got 3
// STRATEGY: error: strategy hybrid: there are full (parameters, gradients and optimizer state sharded) and none (all on every rank)
module {}
