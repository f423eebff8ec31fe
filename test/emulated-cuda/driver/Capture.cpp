// How actions become nodes.
#include "Capture.h"

#include "Mutant.h"
#include "Objects.h"

namespace shardc::test::cuda {

static std::set<Capture *> &captures() {
  static std::set<Capture *> all;
  return all;
}

void Capture::join(Stream &stream, const std::vector<size_t> &nodes) {
  captures().insert(this);
  auto [branch, isNew] = branches.try_emplace(&stream);
  if (isNew)
    branch->second.number = unsigned(branches.size() - 1);
  for (size_t node : nodes)
    if (std::find(branch->second.ends.begin(), branch->second.ends.end(),
                  node) == branch->second.ends.end())
      branch->second.ends.push_back(node);
}

void Capture::append(Stream &stream, std::shared_ptr<const Action> action) {
  Branch &branch = branches.at(&stream);
  graph.nodes.push_back({std::move(action), branch.ends, branch.number});
  branch.ends = {graph.nodes.size() - 1};
}

bool Capture::isJoined() const {
  std::vector<bool> reached(graph.nodes.size());
  for (size_t node : branches.at(&origin).ends)
    reached[node] = true;
  for (size_t node = graph.nodes.size(); node-- > 0;)
    if (reached[node])
      for (size_t before : graph.nodes[node].behind)
        reached[before] = true;
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

void Capture::release() {
  graph.branches = unsigned(branches.size());
  captures().erase(this);
  // The last stream may hold the last reference to this.
  std::vector<std::shared_ptr<Capture>> keep;
  for (auto &[stream, branch] : branches)
    keep.push_back(std::move(stream->capture));
}

bool breaksCapture() {
  bool any = false;
  for (Capture *each : captures())
    if (each->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
        (each->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
         each->thread == std::this_thread::get_id()))
      each->invalid = any = true;
  return any;
}

CUresult usable(Context &context, CUstream stream) {
  if (!stream)
    finding(
        "a call uses the legacy default stream, which waits for all others: "
        "create a stream");
  if (!isLive(stream) || &stream->context != &context)
    return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

std::string describeCall(std::string what, bool inCapture) {
  return what + (inCapture ? " in a capture" : "");
}

void Capture::appendEarly(Stream &stream,
                          std::shared_ptr<const Action> action) {
  auto *other = new Stream(stream.context); // lives as long as the graph
  join(*other, {});
  append(*other, std::move(action));
  join(stream, ends(*other));
}

/// Without a capture.
static void enqueueEarly(Stream &stream, std::shared_ptr<const Action> action) {
  auto *other = new Stream(stream.context);
  other->enqueue(std::move(action));
  stream.await(other->record());
}

CUresult submit(Context &context, CUstream stream,
                std::shared_ptr<const Action> action, const char *call) {
  std::lock_guard lock(driverMutex);
  bool isEarly = false;
  if (hasMutant()) {
    std::string what =
        describeCall(call + action->name, stream && stream->capture);
    if (isMutated("drop", what))
      return CUDA_SUCCESS;
    if (isMutated("default", what))
      stream = nullptr;
    isEarly = isMutated("early", what);
    if (stream)
      stream->last = call + action->name;
  }
  if (CUresult result = usable(context, stream); result != CUDA_SUCCESS)
    return result;
  if (!stream->capture) {
    isEarly ? enqueueEarly(*stream, std::move(action))
            : stream->enqueue(std::move(action));
    return CUDA_SUCCESS;
  }
  if (stream->capture->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  isEarly ? stream->capture->appendEarly(*stream, std::move(action))
          : stream->capture->append(*stream, std::move(action));
  return CUDA_SUCCESS;
}

} // namespace shardc::test::cuda
