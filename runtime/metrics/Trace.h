// --trace: what every rank did when, in the Trace Event Format that Perfetto
// and chrome://tracing read ("Trace Event Format", Google, 2016).
#ifndef SHARDC_RUNTIME_METRICS_TRACE_H
#define SHARDC_RUNTIME_METRICS_TRACE_H

#include "runtime/files/OutputFile.h"
#include "runtime/metrics/RankRecord.h"
#include "runtime/plan.pb.h"

#include <string>
#include <vector>

namespace shardc::runtime {

class Trace {
public:
  /// Creates the file's temporary form. Throws an Error with the path.
  explicit Trace(const std::string &path) : file(path) {}

  /// An interval of a step that is no entry: "step 3", "data".
  struct Span {
    std::string name;
    double begin, end; // monotonicSeconds()
  };

  /// Writes the events that the ranks recorded: a process per rank, its entries
  /// in one thread, its collectives, from start to the end of the wait, as
  /// asynchronous events beside it. `spans`: of the leader.
  void write(const plan::Plan &plan, const std::vector<RankRecord> &ranks,
             const std::vector<Span> &spans);

private:
  OutputFile file;
};

} // namespace shardc::runtime

#endif
