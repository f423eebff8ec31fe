// A step's timeline for people: as a trace, as a picture, and in numbers.
#ifndef SHARDC_CODEGEN_TIMELINE_DRAWTIMELINE_H
#define SHARDC_CODEGEN_TIMELINE_DRAWTIMELINE_H

#include "codegen/timeline/ReadProgram.h"

namespace shardc::timeline {

/// A program that was simulated, and what stands above it.
struct Drawing {
  const TimedProgram &program;
  const Timeline &timeline;
  std::string title; // "model.onnx, mesh 8, dgx-h100"
};

/// What is started.
struct CollectiveName {
  llvm::StringRef kind, phase, unit; // the latter two may be empty
  /// "all_gather backward layers.3"
  std::string text() const;
};
CollectiveName nameCollective(mlir::Operation *start);

/// What compute stood still for, of one kind.
struct WaitSum {
  std::string what; // "all_gather backward layers.3"
  int64_t count = 0;
  double seconds = 0;
};
/// The longest first, without what was never waited for.
std::vector<WaitSum> waitsOf(const TimedProgram &program,
                             const Timeline &timeline);

/// Chrome's trace event format, which Perfetto takes: a thread for compute, one
/// for each stream, and one for waits; an event per entry, in microseconds.
std::string traceText(const Drawing &drawing);
/// A picture without anything from elsewhere. Entries of one unit and phase
/// that follow each other are one bar.
std::string svgText(const Drawing &drawing);
/// The same for a page that says the title itself.
std::string untitledSvgText(const Drawing &drawing);
/// A page with that picture and a table of waits, which needs no network.
std::string htmlText(const Drawing &drawing);

} // namespace shardc::timeline

#endif
