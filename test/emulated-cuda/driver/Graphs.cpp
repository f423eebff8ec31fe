// Calls about capture and graphs.
#include "Api.h"
#include "Mutant.h"

namespace shardc::test::cuda {

void GraphExec::launch(Stream &stream) {
  if (end)
    stream.await(end);
  std::shared_ptr<Record> begin = stream.record();
  auto streamOf = [&](unsigned branch) -> Stream & {
    return branch == 0 ? stream : *branches[branch - 1];
  };
  for (auto &each : branches)
    each->await(begin);
  // What nodes of other branches wait for.
  std::vector<std::shared_ptr<Record>> records(graph.nodes.size());
  std::vector<bool> isAwaited(graph.nodes.size());
  for (const GraphNode &node : graph.nodes)
    for (size_t before : node.behind)
      if (graph.nodes[before].branch != node.branch)
        isAwaited[before] = true;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode &node = graph.nodes[i];
    Stream &on = streamOf(node.branch);
    for (size_t before : node.behind)
      if (records[before] && graph.nodes[before].branch != node.branch)
        on.await(records[before]);
    on.enqueue(node.action);
    if (isAwaited[i])
      records[i] = on.record();
  }
  for (auto &each : branches)
    stream.await(each->record());
  end = stream.record();
}

} // namespace shardc::test::cuda

namespace shardc::cuda {
using namespace shardc::test::cuda;

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
    return result;
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
      mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    stream->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  stream->capture = std::make_shared<Capture>(*stream, mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  *graph = nullptr;
  if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
    return result;
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (&capture->origin != stream) {
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    capture->release(); // nobody can end it any more
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  bool isJoined = capture->isJoined();
  capture->release();
  if (capture->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!isJoined)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = made(new CUgraph_st{std::move(capture->graph)});
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
    return result;
  *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  std::lock_guard lock(driverMutex);
  // Nothing takes nodes, so there are no handles of them.
  if (!graph || !isLive(graph) || nodes || !count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                     unsigned long long flags) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (!graph || !isLive(graph) || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto *exec = made(new CUgraphExec_st);
  exec->context = context;
  exec->graph = *graph;
  for (unsigned i = 1; i < graph->branches; ++i)
    exec->branches.push_back(std::make_unique<Stream>(*context));
  *executable = exec;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (CUresult result = usable(*context, stream); result != CUDA_SUCCESS)
    return result;
  if (!executable || !isLive(executable) || executable->context != context)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    stream->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (hasMutant()) {
    stream->last = "cuGraphLaunch";
    if (isMutated("drop", stream->last))
      return CUDA_SUCCESS;
  }
  executable->launch(*stream);
  context->hasLaunchedGraphs = true;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  SHARDC_ENTER;
  {
    std::lock_guard lock(driverMutex);
    if (!executable || !isLive(executable))
      return CUDA_ERROR_INVALID_VALUE;
  }
  for (auto &each : executable->branches)
    each->finish();
  std::lock_guard lock(driverMutex);
  destroyed(executable);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  std::lock_guard lock(driverMutex);
  if (!graph || !isLive(graph))
    return CUDA_ERROR_INVALID_VALUE;
  destroyed(graph);
  return CUDA_SUCCESS;
}

} // extern "C"

} // namespace shardc::cuda
