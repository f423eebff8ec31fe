// Every pass that decides what the training step is. One entry here, one .cpp, one lit test, all of one name.
// Descriptions have four parts: Needs, Before, After, Why here.
#ifndef SHARDC_PASSES_PASSES_TD
#define SHARDC_PASSES_PASSES_TD
include "mlir/Pass/PassBase.td"
#endif
