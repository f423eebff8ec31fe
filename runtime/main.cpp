// The executable that shardc copies and appends a plan to: the place where its
// device and its world are chosen.
#include "runtime/TrainerMain.h"
#include "runtime/cpu/CpuPlatform.h"
#include "runtime/launch/Launcher.h"

int main(int argc, char **argv) {
  shardc::runtime::cpu::CpuPlatform platform;
  return shardc::runtime::trainerMain(argc, argv, platform,
                                      shardc::runtime::launchedWorld);
}
