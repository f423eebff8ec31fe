// One rank's part of a self-test: collectives as its device runs them.
#ifndef SHARDC_RUNTIME_SELFTEST_METER_H
#define SHARDC_RUNTIME_SELFTEST_METER_H

#include "runtime/selftest/SelfTest.h"

#include <cstddef>
#include <vector>

namespace shardc::runtime {

class Meter {
public:
  /// Allocates what the largest collective takes.
  Meter(Communicator &world, Device &device, const SelfTestEffort &effort);

  /// Adds the times of a level's collectives. Throws an Error where one brings
  /// what it should not. All ranks call it.
  void run(LevelTimes &level);

private:
  /// A collective's start, and its wait.
  std::unique_ptr<DeviceProgram> programOf(const char *name,
                                           entry::Any collective);
  void runOnce(DeviceProgram &program);
  /// The median of several runs, of the slowest rank.
  double time(DeviceProgram &program);
  double slowest(double seconds);

  Tensor allocate(const char *name, plan::DType dtype);
  void fill(const Tensor &tensor, float value);
  void expect(const char *what, const Tensor &tensor, int64_t element,
              float value);

  Communicator &world;
  Device &device;
  const SelfTestEffort &effort;
  Tensor flat, part, workspace;
};

} // namespace shardc::runtime

#endif
