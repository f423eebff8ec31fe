// Values that people recognise, where there are such.
#include "runtime/train/RunFacts.h"

#include "runtime/base/Text.h"
#include "runtime/data/Fingerprint.h"

namespace shardc::runtime {

static void addData(const char *flag, const Dataset &data, Facts &facts) {
  facts.emplace_back(concat("the samples of ", flag),
                     std::to_string(data.samples()));
  for (const auto &[name, fingerprint] : fingerprintsOfFiles(data))
    facts.emplace_back(concat(flag, " ", name), fingerprint);
}

Facts factsOf(const Options &options, const RunSettings &settings,
              const Dataset &data, const Dataset *evalData) {
  Facts facts = options.shared;
  facts.emplace_back("the step that the run begins with",
                     std::to_string(settings.start.step));
  // Ranks tell each other of it, wherever each has its file.
  facts.emplace_back("--tune", options.tune ? "a file" : "none");
  addData("--data", data, facts);
  if (evalData)
    addData("--eval-data", *evalData, facts);
  return facts;
}

} // namespace shardc::runtime
