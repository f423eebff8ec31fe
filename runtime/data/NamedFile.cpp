// What a flag gives for an input.
#include "runtime/data/NamedFile.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace shardc::runtime {

void SourceKeys::refuseBut(std::initializer_list<const char *> known,
                           const std::string &what) const {
  for (const std::string &key : given) {
    if (std::ranges::find(known, key) != known.end())
      continue;
    std::string all;
    for (const char *name : known)
      all += concat(all.empty() ? ", which has the keys " : ", ", name);
    fail(key, " has no effect: ", what, all);
  }
}

} // namespace shardc::runtime
