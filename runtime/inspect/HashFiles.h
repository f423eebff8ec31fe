// The files of --hash-entries, for those who write and for those who read them.
#ifndef SHARDC_RUNTIME_INSPECT_HASHFILES_H
#define SHARDC_RUNTIME_INSPECT_HASHFILES_H

#include <cstdint>
#include <string>
#include <string_view>

namespace shardc::runtime {

/// "rank-00003.jsonl".
inline std::string hashFileName(int64_t rank) {
  constexpr size_t digits = 5;
  std::string number = std::to_string(rank);
  return "rank-" +
         std::string(number.size() < digits ? digits - number.size() : 0, '0') +
         number + ".jsonl";
}

inline bool isHashFileName(std::string_view name) {
  return name.starts_with("rank-") && name.ends_with(".jsonl");
}

} // namespace shardc::runtime

#endif
