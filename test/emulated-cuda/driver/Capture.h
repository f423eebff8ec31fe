// Streams that are captured, and the graphs that come of it.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_CAPTURE_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_CAPTURE_H

#include "Stream.h"

#include <map>

namespace shardc::test::cuda {

struct GraphNode {
  std::shared_ptr<const Action> action;
  /// Indices of earlier nodes.
  std::vector<size_t> behind;
  /// Branch 0 is the stream that was captured, others are those that joined.
  unsigned branch = 0;
};

struct Graph {
  std::vector<GraphNode> nodes;
  unsigned branches = 1;
};

/// Each branch behind the first has a stream of its own.
struct GraphExec {
  Context *context = nullptr;
  Graph graph;
  std::vector<std::unique_ptr<Stream>> branches;
  std::shared_ptr<Record> end; // of the last launch

  /// With driverMutex held.
  void launch(Stream &stream);
};

/// Is shared by all streams of it.
class Capture {
public:
  Capture(Stream &origin, CUstreamCaptureMode mode)
      : origin(origin), mode(mode), thread(std::this_thread::get_id()) {
    join(origin, {});
  }

  void append(Stream &stream, std::shared_ptr<const Action> action);
  /// For a mutant: behind nothing, and before what comes next.
  void appendEarly(Stream &stream, std::shared_ptr<const Action> action);
  /// The stream is captured from here on, behind the nodes.
  void join(Stream &stream, const std::vector<size_t> &nodes);
  const std::vector<size_t> &ends(Stream &stream) {
    return branches.at(&stream).ends;
  }
  /// Whether all that was captured is before the origin's end.
  bool isJoined() const;
  /// Ends it for all streams.
  void release();

  Stream &origin;
  const CUstreamCaptureMode mode;
  const std::thread::id thread;
  bool invalid = false;
  Graph graph;

private:
  struct Branch {
    unsigned number = 0;
    std::vector<size_t> ends; // what is next comes behind these
  };
  std::map<Stream *, Branch> branches;
};

/// Whether a call that is not allowed while streams are captured (in the mode
/// global: by any thread) is made now; it invalidates them.
bool breaksCapture();

/// Enqueues the action, or captures it. `stream` belongs to `context`. `call`:
/// what a mutant knows it by, before its name.
CUresult submit(Context &context, CUstream stream,
                std::shared_ptr<const Action> action, const char *call = "");
/// What a mutant knows a call by.
std::string describeCall(std::string what, bool inCapture);
/// Finds the legacy default stream; fails where it is none of the context.
CUresult usable(Context &context, CUstream stream);

} // namespace shardc::test::cuda

struct shardc::cuda::CUgraph_st : shardc::test::cuda::Graph {};
struct shardc::cuda::CUgraphExec_st : shardc::test::cuda::GraphExec {};

#endif
