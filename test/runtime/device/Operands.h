// The tensors of an entry, and what becomes of each.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_OPERANDS_H
#define SHARDC_TEST_RUNTIME_DEVICE_OPERANDS_H

#include "runtime/device/Entries.h"

namespace shardc::runtime {

enum class Access {
  Read,
  Write,  // all of it, and nothing is read
  Update, // read and written
  /// Bytes that hold nothing before and after.
  Scratch,
  /// What an entry may leave as it is.
  MayWrite,
};

/// Calls visit(tensor, access, name) for every tensor that an entry has. Entry:
/// one of entry::Any's kinds, const or not. For StartX: what the collective
/// does until it has ended.
template <typename Entry, typename Visit>
void forOperands(Entry &entry, Visit &&visit) {
  using Kind = std::remove_const_t<Entry>;
  auto each = [&](auto &tensor, Access access, const char *name) {
    if (tensor)
      visit(tensor, access, name);
  };
  auto attention = [&](auto &of) {
    each(of.query, Access::Read, "query");
    each(of.key, Access::Read, "key");
    each(of.value, Access::Read, "value");
    each(of.bias, Access::Read, "bias");
    each(of.keyMask, Access::Read, "key_mask");
  };
  if constexpr (std::is_same_v<Kind, entry::Launch>) {
    for (auto &input : entry.inputs)
      each(input, Access::Read, "input");
    for (auto &output : entry.outputs)
      each(output, Access::Write, "output");
  } else if constexpr (std::is_same_v<Kind, entry::Gemm>) {
    each(entry.a.tensor, Access::Read, "a");
    each(entry.b.tensor, Access::Read, "b");
    each(entry.bias, Access::Read, "bias");
    each(entry.c.tensor, entry.accumulate ? Access::Update : Access::Write,
         "c");
    each(entry.workspace, Access::Scratch, "workspace");
  } else if constexpr (std::is_same_v<Kind, entry::Attention>) {
    attention(entry.operands);
    each(entry.output, Access::Write, "output");
    each(entry.logSumExp, Access::Write, "log_sum_exp");
    each(entry.workspace, Access::Scratch, "workspace");
  } else if constexpr (std::is_same_v<Kind, entry::AttentionGrad>) {
    attention(entry.operands);
    each(entry.gradient, Access::Read, "gradient");
    each(entry.output, Access::Read, "output");
    each(entry.logSumExp, Access::Read, "log_sum_exp");
    each(entry.queryGradient, Access::Write, "query_gradient");
    each(entry.keyGradient, Access::Write, "key_gradient");
    each(entry.valueGradient, Access::Write, "value_gradient");
    each(entry.workspace, Access::Scratch, "workspace");
  } else if constexpr (std::is_same_v<Kind, entry::CrossEntropy>) {
    each(entry.logits, Access::Read, "logits");
    each(entry.labels.labels, Access::Read, "labels");
    each(entry.scale, Access::Read, "scale");
    each(entry.loss, Access::Write, "loss");
    each(entry.workspace, Access::Scratch, "workspace");
  } else if constexpr (std::is_same_v<Kind, entry::CrossEntropyGrad>) {
    each(entry.gradient, Access::Read, "gradient");
    each(entry.logits, Access::Read, "logits");
    each(entry.labels.labels, Access::Read, "labels");
    each(entry.scale, Access::Read, "scale");
    each(entry.logitsGradient, Access::Write, "logits_gradient");
  } else if constexpr (std::is_same_v<Kind, entry::LinearCrossEntropy>) {
    each(entry.input, Access::Read, "input");
    each(entry.weight, Access::Read, "weight");
    each(entry.bias, Access::Read, "bias");
    each(entry.labels.labels, Access::Read, "labels");
    each(entry.scale, Access::Read, "scale");
    each(entry.loss, Access::Write, "loss");
    each(entry.inputGradient, Access::Write, "input_gradient");
    each(entry.weightGradient, Access::Write, "weight_gradient");
    each(entry.biasGradient, Access::Write, "bias_gradient");
    each(entry.workspace, Access::Scratch, "workspace");
  } else if constexpr (std::is_same_v<Kind, entry::Embedding>) {
    each(entry.table, Access::Read, "table");
    each(entry.ids, Access::Read, "ids");
    each(entry.output, Access::Write, "output");
  } else if constexpr (std::is_same_v<Kind, entry::EmbeddingGrad>) {
    each(entry.gradient, Access::Read, "gradient");
    each(entry.ids, Access::Read, "ids");
    each(entry.tableGradient, entry.accumulate ? Access::Update : Access::Write,
         "table_gradient");
  } else if constexpr (std::is_same_v<Kind, entry::Copy>) {
    each(entry.source, Access::Read, "source");
    each(entry.destination, Access::Write, "destination");
  } else if constexpr (std::is_same_v<Kind, entry::Fill>) {
    each(entry.destination, Access::Write, "destination");
  } else if constexpr (std::is_same_v<Kind, entry::IndexCall>) {
    for (auto &input : entry.inputs)
      each(input, Access::Read, "input");
    for (auto &output : entry.outputs)
      each(output, Access::Write, "output");
  } else if constexpr (std::is_same_v<Kind, entry::GradientNorm>) {
    for (auto &gradient : entry.gradients)
      each(gradient, Access::Read, "gradient");
    each(entry.result, Access::Write, "result");
  } else if constexpr (std::is_same_v<Kind, entry::Accumulate>) {
    each(entry.value, Access::Update, "value");
    each(entry.accumulator, Access::MayWrite, "accumulator");
  } else if constexpr (std::is_same_v<Kind, entry::OptimizerStep>) {
    each(entry.gradient, Access::Read, "gradient");
    each(entry.norm, Access::Read, "norm");
    each(entry.loss, Access::Read, "loss");
    each(entry.master, Access::Update, "master");
    for (auto &state : entry.states)
      each(state, Access::Update, "state");
    each(entry.copy, Access::MayWrite, "parameters");
    each(entry.skipped, Access::MayWrite, "skipped");
  } else if constexpr (std::is_same_v<Kind, entry::Metric>) {
    each(entry.value, Access::Read, "value");
    each(entry.slot, Access::Write, "slot");
  } else if constexpr (std::is_same_v<Kind, entry::StartAllGather>) {
    each(entry.shard, Access::Read, "shard");
    each(entry.gathered, Access::Write, "gathered");
  } else if constexpr (std::is_same_v<Kind, entry::StartReduceScatter>) {
    each(entry.flat, Access::Read, "flat");
    each(entry.shard, Access::Write, "shard");
  } else if constexpr (std::is_same_v<Kind, entry::StartAllReduce>) {
    for (auto &value : entry.values)
      each(value, Access::Update, "value");
  } else {
    static_assert(std::is_same_v<Kind, entry::StartBarrier> ||
                      std::is_same_v<Kind, entry::Wait> ||
                      std::is_same_v<Kind, entry::Finish>,
                  "an entry kind without a list of its operands");
  }
}

} // namespace shardc::runtime

#endif
