// What a rank's optimizer slice has of each trained parameter, and where the
// parameter's states lie.
#ifndef SHARDC_RUNTIME_ENGINE_TRAINEDPARTS_H
#define SHARDC_RUNTIME_ENGINE_TRAINEDPARTS_H

#include "runtime/engine/RankState.h"

#include <string_view>

namespace shardc::runtime {

/// What a rank's optimizer slice has of a trained parameter: neither padding
/// nor frozen ones are.
struct TrainedPart {
  uint32_t parameter;
  int64_t begin, end; // in the slice
  int64_t before;     // elements of the parameter in slices before it
  bool isMatrix;      // updated as a whole matrix
  bool isRunning;     // running statistics
  /// Where it begins in states behind the first: of an optimizer of whole
  /// matrices, whose matrices have none of these, the other parts lie there one
  /// behind the other.
  int64_t laterStates;
};

/// In the order in which they lie.
std::vector<TrainedPart> trainedParts(const RankState &state,
                                      const plan::Unit &unit);

/// Returns a state of a unit as a vector: the first has as many elements as the
/// rank's optimizer slice, the others what their buffers have room for.
Tensor stateVector(const RankState &state, const plan::Unit &unit, int index);

} // namespace shardc::runtime

#endif
