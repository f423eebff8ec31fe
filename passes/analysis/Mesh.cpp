// Parsing of --mesh and --strategy, with the lines that users read when they
// are wrong.
#include "passes/analysis/Mesh.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

static Error meshError(StringRef text, const Twine &what) {
  return createStringError(inconvertibleErrorCode(),
                           "mesh " + text + ": " + what);
}

Expected<SmallVector<int64_t>> shardc::parseMesh(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  SmallVector<int64_t> dims;
  int64_t ranks = 1;
  for (StringRef part : parts) {
    if (part.empty() || !all_of(part, isDigit))
      return meshError(text, "expected a number of ranks (8) or two (2x8)");
    int64_t size = 0;
    // Digits that do not fit count as many.
    bool tooMany = part.getAsInteger(10, size) || size > mostRanks;
    if (!tooMany && size < 1)
      return meshError(text, "a mesh dimension must be at least 1");
    if (tooMany || (ranks *= size) > mostRanks)
      return meshError(text,
                       "a mesh has at most " + Twine(mostRanks) + " ranks");
    dims.push_back(size);
  }
  if (dims.size() > 2)
    return meshError(text, "a mesh has one or two dimensions, got " +
                               Twine(dims.size()));
  return dims;
}

Error shardc::checkStrategy(StringRef strategy) {
  if (strategy == "full" || strategy == "none")
    return Error::success();
  return createStringError(
      inconvertibleErrorCode(),
      "strategy " + strategy +
          ": there are full (parameters, gradients and optimizer "
          "state sharded) and none (all on every rank)");
}
