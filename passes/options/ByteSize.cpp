// The parser of amounts of memory.
#include "passes/options/ByteSize.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

std::optional<double> shardc::parseByteSize(StringRef text) {
  StringRef number = text.take_while(
      [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  double unit = StringSwitch<double>(text.drop_front(number.size()).trim())
                    .Case("", 1)
                    .Case("B", 1)
                    .Case("kB", 1e3)
                    .Case("MB", 1e6)
                    .Case("GB", 1e9)
                    .Case("KiB", 1024.0)
                    .Case("MiB", 1024.0 * 1024)
                    .Case("GiB", 1024.0 * 1024 * 1024)
                    .Default(0);
  double amount = 0;
  if (number.empty() || number.getAsDouble(amount) || unit == 0 ||
      amount * unit < 1)
    return std::nullopt;
  return amount * unit;
}
