// The entries of a step.program as messages: one function per op.
#include "codegen/emit/EmitEntries.h"

#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

plan::DType dtypeOf(Type type) {
  return llvm::TypeSwitch<Type, plan::DType>(type)
      .Case([](Float32Type) { return plan::FLOAT32; })
      .Case([](Float64Type) { return plan::FLOAT64; })
      .Case([](BFloat16Type) { return plan::BFLOAT16; })
      .Case([](Float16Type) { return plan::FLOAT16; })
      .Case([](IntegerType integer) {
        switch (integer.getWidth()) {
        case 64:
          return plan::INT64;
        case 32:
          return plan::INT32;
        case 8:
          return integer.isUnsigned() ? plan::UINT8 : plan::INT8;
        case 1:
          return plan::BOOL;
        default:
          return plan::INVALID;
        }
      })
      .Default(plan::INVALID);
}

void emitTensor(Value value, const PlanIndices &indices, plan::Tensor *tensor) {
  step::View view = step::View::of(value);
  tensor->set_buffer(indices.buffers.lookup(view.buffer.getDefiningOp()));
  tensor->set_offset(view.offset);
  tensor->set_dtype(dtypeOf(view.elementType));
  for (int64_t size : view.shape)
    tensor->add_shape(size);
  if (!cast<MemRefType>(value.getType()).getLayout().isIdentity())
    for (int64_t stride : view.strides)
      tensor->add_strides(stride);
}

namespace {

class EntryEmitter {
public:
  EntryEmitter(const PlanIndices &indices) : indices(indices) {}

  llvm::Error emit(Operation *op, plan::Entry *entry);

private:
  // `set(message->mutable_x(), value)` would make absent operands present.
  template <typename Message>
  void set(Message *message, plan::Tensor *(Message::*mutableField)(),
           Value view) {
    if (view)
      emitTensor(view, indices, (message->*mutableField)());
  }
  void describe(Operation *op, plan::Entry *entry);
  llvm::Error kernel(step::KernelOp op, plan::Launch *message);
  void gemm(step::GemmOp op, plan::Gemm *message);
  void attention(step::AttentionOp op, plan::Attention *message);
  void attentionGrad(step::AttentionGradOp op, plan::AttentionGrad *message);
  void crossEntropy(step::CrossEntropyOp op, plan::CrossEntropy *message);
  void crossEntropyGrad(step::CrossEntropyGradOp op,
                        plan::CrossEntropy *message);
  void linearCrossEntropy(step::LinearCrossEntropyOp op,
                          plan::LinearCrossEntropy *message);
  void collective(Operation *op, plan::Entry *entry);
  uint32_t bufferOf(Value buffer) {
    return indices.buffers.lookup(buffer.getDefiningOp());
  }
  uint32_t groupOf(StringRef name) { return indices.groups.lookup(name); }

  const PlanIndices &indices;
  llvm::DenseMap<Value, uint32_t> tokens;
  llvm::StringMap<int64_t> names;
};

void addNodes(Location loc, llvm::SetVector<StringRef> &nodes) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    nodes.insert(name.getName());
    addNodes(name.getChildLoc(), nodes);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      addNodes(part, nodes);
  }
}

void EntryEmitter::describe(Operation *op, plan::Entry *entry) {
  auto text = [&](StringRef attribute) {
    auto value = op->getAttrOfType<StringAttr>(attribute);
    return value ? value.getValue().str() : std::string();
  };
  entry->set_unit(text("step.unit"));
  entry->set_phase(text("step.phase"));
  entry->set_last(op->hasAttr("step.last"));
  if (auto flops = op->getAttrOfType<IntegerAttr>("step.flops"))
    entry->set_flops(flops.getInt());
  llvm::SetVector<StringRef> nodes;
  addNodes(op->getLoc(), nodes);
  for (StringRef node : nodes)
    entry->add_nodes(node.str());

  // "layers.0/gemm", the second one of the program "layers.0/gemm.1".
  std::string name = entry->unit();
  if (!name.empty())
    name += "/";
  if (auto call = dyn_cast<step::KernelOp>(op))
    name += call.getKernel().getLeafReference().str();
  else
    name += op->getName().stripDialect().str();
  if (int64_t count = names[name]++)
    name += "." + std::to_string(count);
  entry->set_name(name);
}

llvm::Error EntryEmitter::kernel(step::KernelOp op, plan::Launch *message) {
  StringRef symbol = op.getKernel().getLeafReference();
  auto found = indices.kernels.find(symbol);
  if (found == indices.kernels.end())
    return llvm::createStringError("kernel '" + symbol + "' was not compiled");
  message->set_kernel(found->second);
  for (Value view : op.getOperands())
    emitTensor(view, indices, message->add_arguments());
  message->set_results(static_cast<uint32_t>(op.getOutputs().size()));
  return llvm::Error::success();
}

void EntryEmitter::gemm(step::GemmOp op, plan::Gemm *message) {
  set(message, &plan::Gemm::mutable_a, op.getA());
  set(message, &plan::Gemm::mutable_b, op.getB());
  set(message, &plan::Gemm::mutable_c, op.getC());
  set(message, &plan::Gemm::mutable_bias, op.getBias());
  set(message, &plan::Gemm::mutable_workspace, op.getWorkspace());
  message->set_transpose_a(op.getTransposeA());
  message->set_transpose_b(op.getTransposeB());
  message->set_accumulate(op.getAccumulate());
}

void EntryEmitter::attention(step::AttentionOp op, plan::Attention *message) {
  using M = plan::Attention;
  set(message, &M::mutable_query, op.getQuery());
  set(message, &M::mutable_key, op.getKey());
  set(message, &M::mutable_value, op.getValue());
  set(message, &M::mutable_output, op.getOutput());
  set(message, &M::mutable_log_sum_exp, op.getLogSumExp());
  set(message, &M::mutable_bias, op.getBias());
  set(message, &M::mutable_key_mask, op.getKeyMask());
  set(message, &M::mutable_workspace, op.getWorkspace());
  message->set_scale(op.getScale().convertToDouble());
  message->set_causal(op.getCausal());
}

void EntryEmitter::attentionGrad(step::AttentionGradOp op,
                                 plan::AttentionGrad *message) {
  using M = plan::AttentionGrad;
  set(message, &M::mutable_gradient, op.getGradient());
  set(message, &M::mutable_query, op.getQuery());
  set(message, &M::mutable_key, op.getKey());
  set(message, &M::mutable_value, op.getValue());
  set(message, &M::mutable_output, op.getOutput());
  set(message, &M::mutable_log_sum_exp, op.getLogSumExp());
  set(message, &M::mutable_bias, op.getBias());
  set(message, &M::mutable_key_mask, op.getKeyMask());
  set(message, &M::mutable_query_gradient, op.getQueryGradient());
  set(message, &M::mutable_key_gradient, op.getKeyGradient());
  set(message, &M::mutable_value_gradient, op.getValueGradient());
  set(message, &M::mutable_workspace, op.getWorkspace());
  message->set_scale(op.getScale().convertToDouble());
  message->set_causal(op.getCausal());
}

void EntryEmitter::crossEntropy(step::CrossEntropyOp op,
                                plan::CrossEntropy *message) {
  using M = plan::CrossEntropy;
  set(message, &M::mutable_logits, op.getLogits());
  set(message, &M::mutable_labels, op.getLabels());
  set(message, &M::mutable_scale, op.getScale());
  set(message, &M::mutable_loss, op.getLoss());
  set(message, &M::mutable_workspace, op.getWorkspace());
  message->set_ignore_index(op.getIgnoreIndex());
  message->set_shift(op.getShift());
}

void EntryEmitter::crossEntropyGrad(step::CrossEntropyGradOp op,
                                    plan::CrossEntropy *message) {
  using M = plan::CrossEntropy;
  set(message, &M::mutable_gradient, op.getGradient());
  set(message, &M::mutable_logits, op.getLogits());
  set(message, &M::mutable_labels, op.getLabels());
  set(message, &M::mutable_scale, op.getScale());
  set(message, &M::mutable_logits_gradient, op.getLogitsGradient());
  message->set_ignore_index(op.getIgnoreIndex());
  message->set_shift(op.getShift());
}

void EntryEmitter::linearCrossEntropy(step::LinearCrossEntropyOp op,
                                      plan::LinearCrossEntropy *message) {
  using M = plan::LinearCrossEntropy;
  set(message, &M::mutable_input, op.getInput());
  set(message, &M::mutable_weight, op.getWeight());
  set(message, &M::mutable_bias, op.getBias());
  set(message, &M::mutable_labels, op.getLabels());
  set(message, &M::mutable_scale, op.getScale());
  set(message, &M::mutable_loss, op.getLoss());
  set(message, &M::mutable_input_gradient, op.getInputGradient());
  set(message, &M::mutable_weight_gradient, op.getWeightGradient());
  set(message, &M::mutable_bias_gradient, op.getBiasGradient());
  set(message, &M::mutable_workspace, op.getWorkspace());
  message->set_chunk_rows(op.getChunkRows());
  message->set_ignore_index(op.getIgnoreIndex());
  message->set_shift(op.getShift());
  message->set_transpose_weight(op.getTransposeWeight());
}

void EntryEmitter::collective(Operation *op, plan::Entry *entry) {
  // A collective's id is its number in the program.
  uint32_t id = tokens.size();
  if (op->getNumResults())
    tokens[op->getResult(0)] = id;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](step::AllGatherStartOp start) {
        auto *message = entry->mutable_all_gather_start();
        message->set_id(id);
        message->set_unit(indices.units.lookup(start.getUnit()));
        message->set_gathered(bufferOf(start.getGathered()));
        message->set_group(groupOf(start.getGroup()));
        if (start.getKept())
          emitTensor(start.getKept(), indices, message->mutable_kept());
      })
      .Case([&](step::KeepOp keep) {
        auto *message = entry->mutable_keep();
        message->set_unit(indices.units.lookup(keep.getUnit()));
        message->set_gathered(bufferOf(keep.getGathered()));
        message->set_group(groupOf(keep.getGroup()));
        emitTensor(keep.getKept(), indices, message->mutable_kept());
      })
      .Case([&](step::ReduceScatterStartOp start) {
        auto *message = entry->mutable_reduce_scatter_start();
        message->set_id(id);
        message->set_unit(indices.units.lookup(start.getUnit()));
        message->set_group(groupOf(start.getGroup()));
        emitTensor(start.getFlat(), indices, message->mutable_flat());
        emitTensor(start.getShard(), indices, message->mutable_shard());
      })
      .Case([&](step::AllReduceStartOp start) {
        auto *message = entry->mutable_all_reduce_start();
        message->set_id(id);
        message->set_group(groupOf(start.getGroup()));
        for (Value value : start.getValues())
          emitTensor(value, indices, message->add_values());
        for (bool norm : start.getNorms())
          message->add_norms(norm);
        if (start.getUnit()) {
          message->set_gradients(true);
          message->set_unit(indices.units.lookup(*start.getUnit()));
        }
      })
      .Case([&](step::AllGatherUpdatesStartOp start) {
        auto *message = entry->mutable_all_gather_updates_start();
        message->set_id(id);
        message->set_unit(indices.units.lookup(start.getUnit()));
        message->set_group(groupOf(start.getGroup()));
      })
      .Case([&](step::AccumulateOp sum) {
        auto *message = entry->mutable_accumulate();
        emitTensor(sum.getValue(), indices, message->mutable_value());
        emitTensor(sum.getAccumulator(), indices,
                   message->mutable_accumulator());
      })
      .Case([&](step::WaitOp wait) {
        entry->mutable_wait()->set_id(tokens.lookup(wait.getToken()));
      });
}

llvm::Error EntryEmitter::emit(Operation *op, plan::Entry *entry) {
  describe(op, entry);
  if (auto launch = dyn_cast<step::KernelOp>(op))
    return kernel(launch, entry->mutable_launch());
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](step::GemmOp op) { gemm(op, entry->mutable_gemm()); })
      .Case([&](step::AttentionOp op) {
        attention(op, entry->mutable_attention());
      })
      .Case([&](step::AttentionGradOp op) {
        attentionGrad(op, entry->mutable_attention_grad());
      })
      .Case([&](step::CrossEntropyOp op) {
        crossEntropy(op, entry->mutable_cross_entropy());
      })
      .Case([&](step::CrossEntropyGradOp op) {
        crossEntropyGrad(op, entry->mutable_cross_entropy());
      })
      .Case([&](step::LinearCrossEntropyOp op) {
        linearCrossEntropy(op, entry->mutable_linear_cross_entropy());
      })
      .Case([&](step::EmbeddingOp op) {
        auto *message = entry->mutable_embedding();
        emitTensor(op.getTable(), indices, message->mutable_table());
        emitTensor(op.getIds(), indices, message->mutable_ids());
        emitTensor(op.getOutput(), indices, message->mutable_output());
      })
      .Case([&](step::EmbeddingGradOp op) {
        auto *message = entry->mutable_embedding_grad();
        emitTensor(op.getGradient(), indices, message->mutable_gradient());
        emitTensor(op.getIds(), indices, message->mutable_ids());
        emitTensor(op.getTableGradient(), indices,
                   message->mutable_table_gradient());
        message->set_accumulate(bool(op.getBase()));
      })
      .Case([&](step::CopyOp op) {
        auto *message = entry->mutable_copy();
        emitTensor(op.getSource(), indices, message->mutable_source());
        emitTensor(op.getDestination(), indices,
                   message->mutable_destination());
      })
      .Case([&](step::FillOp op) {
        auto *message = entry->mutable_fill();
        emitTensor(op.getDestination(), indices,
                   message->mutable_destination());
        message->set_value(op.getValue().convertToDouble());
      })
      .Case([&](step::HostCallOp op) {
        auto *message = entry->mutable_host_call();
        message->set_function(op.getFunction().str());
        for (Value view : op.getOperands())
          emitTensor(view, indices, message->add_arguments());
        for (NamedAttribute number : op.getNumbers())
          (*message->mutable_attributes())[number.getName().str()] =
              cast<IntegerAttr>(number.getValue()).getInt();
      })
      .Case([&](step::GradientNormOp op) {
        auto *message = entry->mutable_gradient_norm();
        for (Value gradient : op.getGradients())
          emitTensor(gradient, indices, message->add_gradients());
        emitTensor(op.getResult(), indices, message->mutable_result());
        for (int64_t slices : op.getSlices())
          message->add_slices(slices);
      })
      .Case([&](step::OptimizerStepOp op) {
        auto *message = entry->mutable_optimizer_step();
        message->set_unit(indices.units.lookup(op.getUnit()));
        emitTensor(op.getGradient(), indices, message->mutable_gradient());
        emitTensor(op.getNorm(), indices, message->mutable_norm());
      })
      .Case([&](step::ReportOp op) {
        auto *message = entry->mutable_report();
        message->set_name(op.getName().str());
        emitTensor(op.getValue(), indices, message->mutable_value());
      })
      .Default([&](Operation *op) { collective(op, entry); });
  if (entry->kind_case() == plan::Entry::KIND_NOT_SET)
    return llvm::createStringError("'" + op->getName().getStringRef() +
                                   "' has no entry in the plan");
  return llvm::Error::success();
}

} // namespace

llvm::Error emitProgram(step::ProgramOp program, const PlanIndices &indices,
                        plan::Program *message) {
  EntryEmitter emitter(indices);
  for (Operation &op : program.getBody().front())
    if (step::isEntry(&op))
      if (llvm::Error error = emitter.emit(&op, message->add_entries()))
        return error;
  return llvm::Error::success();
}

} // namespace shardc
