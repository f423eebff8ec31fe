// The outputs of a run's figures that its flags ask for.
#ifndef SHARDC_RUNTIME_TRAIN_OPENSINKS_H
#define SHARDC_RUNTIME_TRAIN_OPENSINKS_H

#include "runtime/train/Trainer.h"

namespace shardc::runtime {

/// To be called where the world leads. Throws an Error for a file that cannot
/// be written.
void openSinks(Run &run);

} // namespace shardc::runtime

#endif
