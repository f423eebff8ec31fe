// Classes of ops that --remat class: names. Nothing of LLVM, for the command
// line.
#ifndef SHARDC_PASSES_OPTIONS_REMATCLASSES_H
#define SHARDC_PASSES_OPTIONS_REMATCLASSES_H

#include <string>

namespace shardc {

constexpr const char *rematClasses[] = {
    "norm",      "activation", "softmax", "attention",   "product", "rope",
    "embedding", "reduction",  "cast",    "elementwise", "movement"};

/// "norm, activation, ..."
inline std::string rematClassesText() {
  std::string text;
  for (const char *name : rematClasses)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

} // namespace shardc

#endif
