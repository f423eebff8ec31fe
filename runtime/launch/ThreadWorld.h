// A world whose ranks all are threads of this process.
#ifndef SHARDC_RUNTIME_LAUNCH_THREADWORLD_H
#define SHARDC_RUNTIME_LAUNCH_THREADWORLD_H

#include "runtime/launch/World.h"

namespace shardc::runtime {

class ThreadProcess;

class ThreadWorld final : public World {
public:
  explicit ThreadWorld(int ranks);

  int ranks() const override { return local.end; }
  RankRange localRanks() const override { return local; }
  std::unique_ptr<Communicator> connect(int rank) override;
  std::vector<ProcessNotes> notes() const override;
  std::string abort(const std::string &text) override;
  std::string reasonOfAbort() const override;
  bool hasFailed() const override;

private:
  RankRange local;
  std::shared_ptr<ThreadProcess> process;
};

} // namespace shardc::runtime

#endif
