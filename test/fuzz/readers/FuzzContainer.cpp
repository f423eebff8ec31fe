// The trainer's reader of itself. Checksums are made right again, so that what
// lies behind them is reached.
#include "runtime/TrainerFile.h"
#include "test/fuzz/MendChecksums.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile file;
  std::string bytes(reinterpret_cast<const char *>(data), size);
  if (size % 2 == 0)
    fuzz::mendChecksums(bytes);
  file.hold(std::as_bytes(std::span(bytes)));
  fuzz::read([&] {
    runtime::TrainerFile trainer(file.path());
    trainer.checkLargeSections(1);
    if (trainer.plans().empty())
      return;
    runtime::EmbeddedWeights weights = trainer.embeddedWeights();
    fuzz::require(weights.offset <= size &&
                  weights.length <= size - weights.offset &&
                  trainer.kernels(0).size() <= size &&
                  trainer.kernels(trainer.plans().size() - 1).size() <= size &&
                  trainer.exportTemplate().size() <= size);
  });
  return 0;
}
