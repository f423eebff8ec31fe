// Graphs become descriptors of cuDNN, and those a plan.
#include "runtime/cuda/attention/CudnnPlan.h"

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

/// A graph's descriptors.
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
    whole = all.descriptor;
    kept.push_back(std::move(all));
  }
  const cudnnBackendDescriptor_t &descriptor() const { return whole; }
  /// The graph's, and all that it consists of.
  std::vector<CudnnDescriptor> kept;

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
  std::vector<cudnnBackendDescriptor_t> tensors;
  cudnnBackendDescriptor_t whole = nullptr;
};

/// The configurations of the heuristic, best first.
std::vector<CudnnDescriptor> configurations(const CudnnTarget &target,
                                            const LoweredGraph &graph) {
  const Cudnn &library = target.library;
  CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                CUDNN_TYPE_BACKEND_DESCRIPTOR, graph.descriptor());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                CUDNN_HEUR_MODE_A);
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

/// The configuration of one engine; `parts` get what it consists of.
CudnnDescriptor configuration(const CudnnTarget &target,
                              const LoweredGraph &graph,
                              const CudnnEngine &from,
                              std::vector<CudnnDescriptor> &parts) {
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
    parts.push_back(std::move(knob));
  }
  CudnnDescriptor result(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  result.set(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             engine.descriptor);
  result.setAll(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                CUDNN_TYPE_BACKEND_DESCRIPTOR, knobs);
  result.finish();
  parts.push_back(std::move(engine));
  return result;
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
                                           int64_t workspaceBytes,
                                           std::string &why,
                                           const CudnnEngine *engine) try {
  LoweredGraph lowered(target, graph);
  std::vector<CudnnDescriptor> candidates;
  if (engine)
    candidates.push_back(configuration(target, lowered, *engine, lowered.kept));
  else
    candidates = configurations(target, lowered);
  why = "cuDNN has no engine for it";
  for (const CudnnDescriptor &each : candidates) {
    try {
      CudnnDescriptor made = planOf(target, each);
      int64_t bytes = workspaceOf(made);
      if (bytes > workspaceBytes) {
        why = concat("cuDNN wants ", bytes,
                     " bytes of workspace, and the plan has ",
                     std::max<int64_t>(0, workspaceBytes));
        continue;
      }
      std::shared_ptr<CudnnPlan> plan(new CudnnPlan(std::move(made)));
      plan->workspaceBytes = bytes;
      plan->parts = std::move(lowered.kept);
      for (CudnnDescriptor &other : candidates)
        plan->parts.push_back(std::move(other));
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

void CudnnPlan::enqueue(const CudnnTarget &target, const TensorGraph &graph,
                        CUdeviceptr workspace) const {
  std::vector<int64_t> ids;
  std::vector<const void *> addresses;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor &tensor = graph.tensors[i];
    if (tensor.isVirtual())
      continue;
    ids.push_back(int64_t(i) + 1);
    // Numbers are read from the host's memory by this call.
    addresses.push_back(tensor.isNumber
                            ? static_cast<const void *>(&tensor.number)
                            : reinterpret_cast<const void *>(tensor.address));
  }
  CudnnDescriptor pack(target.library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.setAll(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
  pack.setAll(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
              addresses);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finish();
  target.library.check(target.library.cudnnBackendExecute(
                           target.handle, plan.descriptor, pack.descriptor),
                       "cudnnBackendExecute");
}

} // namespace shardc::runtime::cuda
