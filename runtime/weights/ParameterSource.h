// Where initial values come from, as a rank sees it: any range of elements of
// any parameter.
#ifndef SHARDC_RUNTIME_WEIGHTS_PARAMETERSOURCE_H
#define SHARDC_RUNTIME_WEIGHTS_PARAMETERSOURCE_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace shardc::runtime {

/// Tells parameters from others; empty: takes all.
using ParameterChoice = std::function<bool(const plan::Parameter &parameter)>;

class ParameterSource {
public:
  virtual ~ParameterSource() = default;
  /// Elements [begin, end) of a parameter (index in the plan; row-major in
  /// PyTorch's orientation) as `dtype`. Safe to call from several threads.
  /// Throws an Error that names file and parameter.
  virtual void read(int parameter, int64_t begin, int64_t end,
                    plan::DType dtype, std::byte *destination) const = 0;
  /// Whether there is anything to read for it.
  virtual bool has(int parameter) const { return true; }
};

int64_t elementCount(const plan::Parameter &parameter);

/// Elements [sliceBegin, sliceBegin + sliceElements) of a unit's flat buffer as
/// `dtype`; padding becomes zero.
void readSlice(const plan::Plan &plan, const plan::Unit &unit,
               int64_t sliceBegin, int64_t sliceElements, plan::DType dtype,
               const ParameterSource &source, std::byte *slice);

} // namespace shardc::runtime

#endif
