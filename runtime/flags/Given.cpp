// The flags that are given, and those of them that change nothing.
#include "runtime/flags/Given.h"

#include "runtime/base/Error.h"

namespace shardc::runtime::cli {

std::string placeOf(const Given &given, std::string_view flag) {
  auto place = given.find(flag);
  return place == given.end() || place->second.empty() ? ""
                                                       : place->second + ": ";
}

void refuseIdle(const Given &given, const std::vector<Effect> &effects) {
  for (const Effect &effect : effects)
    if (!effect.there && given.contains(effect.flag))
      fail(placeOf(given, effect.flag), effect.flag, " has no effect",
           effect.otherwise);
}

} // namespace shardc::runtime::cli
