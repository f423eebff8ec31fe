// A trainer's main, for any kind of device.
#ifndef SHARDC_RUNTIME_TRAINERMAIN_H
#define SHARDC_RUNTIME_TRAINERMAIN_H

#include "runtime/device/Platform.h"

namespace shardc::runtime {

/// Returns the exit code; errors have been printed in one line.
int trainerMain(int argc, char **argv, Platform &platform);

} // namespace shardc::runtime

#endif
