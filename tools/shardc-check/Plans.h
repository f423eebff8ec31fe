// The plan's tables, asked by those who check: none of it may be out of range
// (checkIndices) before anything else looks.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_PLANS_H
#define SHARDC_TOOLS_SHARDC_CHECK_PLANS_H

#include "runtime/plan.pb.h"
#include "tools/shardc-check/Findings.h"
#include "tools/shardc-check/View.h"

#include <functional>

namespace shardc::check {

/// Bytes of an element; 0 for what is no type.
int64_t bytesOf(plan::DType type);
inline std::vector<int64_t> shapeOf(const plan::Tensor &tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}
int64_t product(const google::protobuf::RepeatedField<int64_t> &shape);
/// Where the tensor's elements begin, in bytes of its buffer.
View placesOf(const plan::Tensor &tensor);
bool isContiguous(const plan::Tensor &tensor);

/// Whether the buffer is kept from micro-batch to micro-batch.
bool isAccumulated(const plan::Plan &plan, uint32_t buffer);
/// Whether only transfers reach the buffer.
bool isOnHost(const plan::Plan &plan, uint32_t buffer);
/// By buffer: whether what is in it stays from step to step. In the pool host
/// that is master weights, optimizer state and parameters; else it is by the
/// pool.
std::vector<bool> outlivingBuffers(const plan::Plan &plan);

/// What an entry does with a tensor, by the entry's kind and the field's name.
/// This is the checker's own table: what each kind means, from plan.proto.
enum class Role {
  read,
  written,
  updated,     // read, and written
  scratch,     // written, and read by nobody else
  accumulator, // of a sum over micro-batches
};
struct Access {
  const plan::Tensor *tensor;
  Role role;
  std::string field;
  bool reads() const { return role == Role::read || role == Role::updated; }
  bool writes() const { return role != Role::read; }
};
/// The message of the entry's kind; null where it has none.
const google::protobuf::Message *messageOf(const plan::Entry &entry);
/// Tensors in the order of the fields. Reports fields that the table lacks.
std::vector<Access> accessesOf(const plan::Entry &entry, Findings &findings);
/// What else the kind's message says of what is computed: "scale=0.25;".
std::string attributesOf(const plan::Entry &entry);
/// The token that an entry starts a collective with.
std::optional<uint32_t> startedToken(const plan::Entry &entry);
/// The group of a collective or of a kept slice.
std::optional<uint32_t> groupOf(const plan::Entry &entry);

/// Whether the plan can be read at all: every number in range, every view
/// inside its buffer, every buffer inside its pool.
bool checkIndices(const plan::Plan &plan, Findings &findings);

/// A mean divides by what a run adds up of the loss's weights of classes: those
/// that the entries read.
void checkClassWeights(const plan::Plan &plan, Findings &findings);
/// Pools, units, kernels and the buffers that outlive a step.
void checkFrame(const plan::Plan &plan, Findings &findings);

} // namespace shardc::check

#endif
