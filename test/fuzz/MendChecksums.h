// A damaged trainer whose checksums are made right again, so that what lies
// behind them is reached.
#ifndef SHARDC_TEST_FUZZ_MENDCHECKSUMS_H
#define SHARDC_TEST_FUZZ_MENDCHECKSUMS_H

#include "runtime/Container.h"

#include <cstring>
#include <string>

namespace shardc::fuzz {

/// As the compiler would have written these bytes: the checksums of the table
/// and of every section that lies in the file.
inline void mendChecksums(std::string &file) {
  using namespace container;
  Footer footer;
  if (file.size() < sizeof(footer))
    return;
  uint64_t most = file.size() - sizeof(footer);
  std::memcpy(&footer, file.data() + most, sizeof(footer));
  uint64_t tableBytes = uint64_t(footer.sections) * sizeof(Section);
  if (footer.tableOffset > most || tableBytes > most - footer.tableOffset)
    return;
  // A table elsewhere would be written into what lies there, the runtime's code
  // for one.
  bool isInPlace = footer.tableOffset + tableBytes == most;
  for (uint32_t i = 0; isInPlace && i < footer.sections; ++i) {
    char *entry =
        file.data() + footer.tableOffset + uint64_t(i) * sizeof(Section);
    Section section;
    std::memcpy(&section, entry, sizeof(section));
    if (section.offset > most || section.length > most - section.offset)
      continue;
    section.checksum =
        Checksum::of(file.data() + section.offset, section.length);
    std::memcpy(entry, &section, sizeof(section));
  }
  footer.tableChecksum =
      Checksum::of(file.data() + footer.tableOffset, tableBytes);
  std::memcpy(file.data() + most, &footer, sizeof(footer));
}

} // namespace shardc::fuzz

#endif
