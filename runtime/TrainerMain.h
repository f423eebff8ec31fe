// A trainer's main, for any kind of device and any world of ranks.
#ifndef SHARDC_RUNTIME_TRAINERMAIN_H
#define SHARDC_RUNTIME_TRAINERMAIN_H

#include "runtime/device/Platform.h"
#include "runtime/launch/World.h"

namespace shardc::runtime {

/// Returns the exit code; errors have been printed in one line. `platformOf`
/// makes what a plan's ranks run on, `makeWorld` is asked once a run is certain:
/// their errors say why there can be none. Outputs are opened, and anything but
/// errors printed, where the world leads alone.
int trainerMain(int argc, char **argv, const PlatformFactory &platformOf,
                const WorldFactory &makeWorld);

} // namespace shardc::runtime

#endif
