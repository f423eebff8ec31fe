// Graphs become descriptors of cuDNN, and those a plan.
#include "runtime/cuda/CudnnPlan.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace shardc::runtime::cuda {

CudnnDescriptor::CudnnDescriptor(const Cudnn &library,
                                 cudnnBackendDescriptorType_t type)
    : library(library) {
  library.check(library.cudnnBackendCreateDescriptor(type, &descriptor),
                "cudnnBackendCreateDescriptor");
}
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor)
    library.cudnnBackendDestroyDescriptor(descriptor);
}
CudnnDescriptor::CudnnDescriptor(CudnnDescriptor &&other) noexcept
    : library(other.library),
      descriptor(std::exchange(other.descriptor, nullptr)) {}

void CudnnDescriptor::setMany(cudnnBackendAttributeName_t name,
                              cudnnBackendAttributeType_t type, int64_t count,
                              const void *elements) {
  library.check(
      library.cudnnBackendSetAttribute(descriptor, name, type, count, elements),
      "cudnnBackendSetAttribute");
}
void CudnnDescriptor::finish() {
  library.check(library.cudnnBackendFinalize(descriptor),
                "cudnnBackendFinalize");
}

CudnnTarget::CudnnTarget(const Cudnn &library, cudnnHandle_t handle,
                         int capability)
    : library(library), handle(handle), capability(capability) {}

CudnnTarget::CudnnTarget(const Cudnn &library, std::string_view json,
                         int capability)
    : library(library), description(std::make_unique<CudnnDescriptor>(
                            library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)),
      capability(capability) {
  description->setAll(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                      CUDNN_TYPE_CHAR, json);
  description->finish();
}

namespace {

/// A graph's descriptors, of which the last one is the graph.
class LoweredGraph {
public:
  LoweredGraph(const CudnnTarget &target, const TensorGraph &graph)
      : target(target), graph(graph) {
    for (size_t i = 0; i < graph.tensors.size(); ++i)
      addTensor(int64_t(i));
    std::vector<cudnnBackendDescriptor_t> operations;
    for (const GraphOperation &each : graph.operations) {
      CudnnDescriptor operation = lowered(each);
      operation.finish();
      operations.push_back(operation.descriptor);
      kept.push_back(std::move(operation));
    }
    CudnnDescriptor all(target.library,
                        CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    all.setAll(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               operations);
    if (target.handle)
      all.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
              target.handle);
    all.finish();
    kept.push_back(std::move(all));
  }
  const cudnnBackendDescriptor_t &descriptor() const {
    return kept.back().descriptor;
  }

private:
  void addTensor(int64_t id) {
    const GraphTensor &from = graph.tensors[id];
    CudnnDescriptor to(target.library, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    to.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id + 1);
    to.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, from.type);
    to.setAll(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, from.shape);
    to.setAll(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, from.strides);
    to.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t(16));
    to.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, from.isVirtual());
    to.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, from.isNumber);
    to.finish();
    tensors.push_back(to.descriptor);
    kept.push_back(std::move(to));
  }

  void point(CudnnDescriptor &operation, cudnnBackendAttributeName_t name,
             int tensor) {
    if (tensor >= 0)
      operation.set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, tensors[tensor]);
  }
  /// What an operation is, apart from its tensors.
  void describe(CudnnDescriptor &operation, cudnnBackendAttributeName_t name,
                CudnnDescriptor description) {
    description.finish();
    operation.set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, description.descriptor);
    kept.push_back(std::move(description));
  }

  CudnnDescriptor lowered(const GraphOperation &from) {
    switch (from.kind) {
    case GraphOperation::MatMul:
      return matMul(from);
    case GraphOperation::Pointwise:
      return pointwise(from);
    case GraphOperation::Reduce:
      return reduce(from);
    case GraphOperation::Reshape:
      break;
    }
    CudnnDescriptor to(target.library,
                       CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    point(to, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, from.a);
    point(to, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, from.result);
    return to;
  }
  CudnnDescriptor matMul(const GraphOperation &from) {
    CudnnDescriptor to(target.library,
                       CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    CudnnDescriptor how(target.library, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, from.computed);
    describe(to, CUDNN_ATTR_OPERATION_MATMUL_DESC, std::move(how));
    point(to, CUDNN_ATTR_OPERATION_MATMUL_ADESC, from.a);
    point(to, CUDNN_ATTR_OPERATION_MATMUL_BDESC, from.b);
    point(to, CUDNN_ATTR_OPERATION_MATMUL_CDESC, from.result);
    return to;
  }
  CudnnDescriptor pointwise(const GraphOperation &from) {
    CudnnDescriptor to(target.library,
                       CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    CudnnDescriptor how(target.library, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, from.mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
            from.computed);
    if (from.mode == CUDNN_POINTWISE_GEN_INDEX)
      how.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, from.axis);
    describe(to, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, std::move(how));
    point(to, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from.a);
    point(to, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, from.b);
    point(to, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, from.c);
    point(to, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, from.result);
    return to;
  }
  CudnnDescriptor reduce(const GraphOperation &from) {
    CudnnDescriptor to(target.library,
                       CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    CudnnDescriptor how(target.library, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
            from.reduction);
    how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
            from.computed);
    describe(to, CUDNN_ATTR_OPERATION_REDUCTION_DESC, std::move(how));
    point(to, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, from.a);
    point(to, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, from.result);
    return to;
  }

  const CudnnTarget &target;
  const TensorGraph &graph;
  std::vector<CudnnDescriptor> kept;
  std::vector<cudnnBackendDescriptor_t> tensors;
};

/// The configurations of a heuristic, best first.
std::vector<CudnnDescriptor> configurations(const CudnnTarget &target,
                                            const LoweredGraph &graph,
                                            cudnnBackendHeurMode_t mode) {
  const Cudnn &library = target.library;
  CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                CUDNN_TYPE_BACKEND_DESCRIPTOR, graph.descriptor());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (target.description)
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  target.description->descriptor);
  heuristic.finish();
  int64_t count = 0;
  auto get = [&](int64_t wanted, void *results) {
    library.check(library.cudnnBackendGetAttribute(
                      heuristic.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                      CUDNN_TYPE_BACKEND_DESCRIPTOR, wanted, &count, results),
                  "cudnnBackendGetAttribute");
  };
  get(0, nullptr);
  std::vector<CudnnDescriptor> results;
  std::vector<cudnnBackendDescriptor_t> descriptors;
  for (int64_t i = 0; i < count; ++i) {
    results.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    descriptors.push_back(results.back().descriptor);
  }
  if (count > 0)
    get(count, descriptors.data());
  while (std::ssize(results) > count)
    results.pop_back();
  return results;
}

/// The configuration of one engine; keeps what it consists of.
struct Chosen {
  std::vector<CudnnDescriptor> kept;
  Chosen(const CudnnTarget &target, const LoweredGraph &graph,
         const CudnnEngine &from) {
    const Cudnn &library = target.library;
    CudnnDescriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               graph.descriptor());
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, from.index);
    if (target.description)
      engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 target.description->descriptor);
    engine.finish();
    std::vector<cudnnBackendDescriptor_t> knobs;
    for (const auto &[type, value] : from.knobs) {
      CudnnDescriptor knob(library, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, value);
      knob.finish();
      knobs.push_back(knob.descriptor);
      kept.push_back(std::move(knob));
    }
    CudnnDescriptor config(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               engine.descriptor);
    config.setAll(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, knobs);
    config.finish();
    kept.push_back(std::move(engine));
    kept.push_back(std::move(config));
  }
};

bool isDeterministic(const Cudnn &library,
                     const CudnnDescriptor &configuration) {
  CudnnDescriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  int64_t count = 0;
  library.check(library.cudnnBackendGetAttribute(configuration.descriptor,
                                                 CUDNN_ATTR_ENGINECFG_ENGINE,
                                                 CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                 1, &count, &engine.descriptor),
                "cudnnBackendGetAttribute");
  cudnnBackendNumericalNote_t notes[2 * CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  library.check(library.cudnnBackendGetAttribute(
                    engine.descriptor, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                    CUDNN_TYPE_NUMERICAL_NOTE, std::ssize(notes), &count,
                    notes),
                "cudnnBackendGetAttribute");
  return std::find(notes, notes + count,
                   CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == notes + count;
}

/// A configuration's plan. Throws a CudnnError where the device cannot run it.
CudnnDescriptor planOf(const CudnnTarget &target,
                       const CudnnDescriptor &configuration) {
  CudnnDescriptor plan(target.library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
           CUDNN_TYPE_BACKEND_DESCRIPTOR, configuration.descriptor);
  if (target.description)
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
             CUDNN_TYPE_BACKEND_DESCRIPTOR, target.description->descriptor);
  else
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
             target.handle);
  plan.finish();
  return plan;
}

int64_t workspaceOf(const CudnnDescriptor &plan) {
  int64_t bytes = 0, count = 0;
  plan.library.check(plan.library.cudnnBackendGetAttribute(
                         plan.descriptor,
                         CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                         CUDNN_TYPE_INT64, 1, &count, &bytes),
                     "cudnnBackendGetAttribute");
  return bytes;
}

} // namespace

std::shared_ptr<CudnnPlan> CudnnPlan::make(const CudnnTarget &target,
                                           const TensorGraph &graph,
                                           const CudnnLimits &limits,
                                           std::string &why,
                                           const CudnnEngine *engine) try {
  LoweredGraph lowered(target, graph);
  std::vector<CudnnDescriptor> candidates;
  std::unique_ptr<Chosen> chosen;
  if (engine) {
    chosen = std::make_unique<Chosen>(target, lowered, *engine);
    candidates.push_back(std::move(chosen->kept.back()));
  } else {
    candidates = configurations(target, lowered, CUDNN_HEUR_MODE_A);
  }
  why = "it has no engine for it";
  for (const CudnnDescriptor &each : candidates) {
    if (limits.deterministic && !isDeterministic(target.library, each)) {
      why = "it has no engine whose runs give the same bits";
      continue;
    }
    try {
      CudnnDescriptor made = planOf(target, each);
      int64_t bytes = workspaceOf(made);
      if (bytes > limits.workspaceBytes) {
        why =
            concat("it wants ", bytes, " bytes of workspace, and the plan has ",
                   limits.workspaceBytes);
        continue;
      }
      std::shared_ptr<CudnnPlan> plan(new CudnnPlan(std::move(made)));
      plan->workspaceBytes = bytes;
      for (size_t i = 0; i < graph.tensors.size(); ++i)
        if (const GraphTensor &tensor = graph.tensors[i]; !tensor.isVirtual()) {
          plan->ids.push_back(int64_t(i) + 1);
          plan->addresses.push_back(tensor.address);
          plan->numbers.push_back(tensor.number);
        }
      return plan;
    } catch (const CudnnError &error) {
      why = error.what();
    }
  }
  return nullptr;
} catch (const CudnnError &error) {
  why = error.what();
  return nullptr;
}

void CudnnPlan::enqueue(const CudnnTarget &target,
                        CUdeviceptr workspace) const {
  // Numbers are read from the host's memory by this call.
  std::vector<void *> pointers;
  for (size_t i = 0; i < ids.size(); ++i)
    pointers.push_back(addresses[i] ? reinterpret_cast<void *>(addresses[i])
                                    : const_cast<float *>(&numbers[i]));
  CudnnDescriptor pack(target.library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.setAll(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
  pack.setAll(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
              pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finish();
  target.library.check(target.library.cudnnBackendExecute(
                           target.handle, plan.descriptor, pack.descriptor),
                       "cudnnBackendExecute");
}

} // namespace shardc::runtime::cuda
