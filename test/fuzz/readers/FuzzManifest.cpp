// manifest.json of a checkpoint. Of every second input the hash is made right,
// so that what lies behind it is reached.
#include "runtime/base/Hash.h"
#include "runtime/checkpoint/Manifest.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  if (size % 2 == 0)
    text += ",\n \"xxh3\": \"" +
            runtime::hashText(runtime::hashOf(text.data(), text.size())) +
            "\"\n}\n";
  fuzz::read([&] {
    auto read = runtime::Manifest::parse(text, "manifest.json");
    // What was read is written, and read again.
    std::string again = read.text();
    fuzz::require(runtime::Manifest::parse(again, "manifest.json").text() ==
                  again);
  });
  return 0;
}
