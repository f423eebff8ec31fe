// A program's entries with the times at which they run, and what is put between
// them.
#ifndef SHARDC_CODEGEN_OFFLOAD_TIMEDENTRIES_H
#define SHARDC_CODEGEN_OFFLOAD_TIMEDENTRIES_H

#include "codegen/offload/HostLink.h"
#include "codegen/timeline/ReadProgram.h"

#include "mlir/IR/Builders.h"

#include <functional>

namespace shardc::offload {

/// Whether a buffer lies in the pool host.
bool isOnHost(mlir::Value buffer);

/// Places are numbers of entries: what is put at a place stands before that
/// entry, or at the end.
class TimedEntries {
public:
  TimedEntries(step::ProgramOp program, const Cluster &cluster);

  size_t size() const { return entries.size(); }
  mlir::Operation *operator[](size_t place) const { return entries[place]; }
  /// Of any op that is an entry.
  size_t placeOf(mlir::Operation *entry) const { return places.lookup(entry); }
  /// When it begins, in seconds since the program began; of size(): when it
  /// ends.
  double timeAt(size_t place) const { return times[place]; }
  /// Lets everything from a place on begin so much later.
  void delay(size_t place, double seconds);
  /// The first place that is not before `time`, and the last one that is not
  /// behind it.
  size_t firstFrom(double time) const;
  size_t lastUntil(double time) const;
  /// The first entry of a phase, or size().
  size_t beginOf(llvm::StringRef phase) const;
  /// Takes the times of the transfers that the program has.
  void takeTransfers(HostLink &link) const;

private:
  std::vector<mlir::Operation *> entries;
  std::vector<double> times;
  llvm::DenseMap<mlir::Operation *, size_t> places;
  std::vector<std::pair<HostLink::Direction, timeline::Span>> transfers;
};

/// What makes ops, each at a place and in a time; at one place they are made in
/// the order of their times, and at one time in that of add().
class Insertions {
public:
  explicit Insertions(const TimedEntries &entries) : entries(entries) {}

  void add(size_t place, double time,
           std::function<void(mlir::OpBuilder &)> make);
  void apply(step::ProgramOp program);

private:
  struct Insertion {
    size_t place;
    double time;
    std::function<void(mlir::OpBuilder &)> make;
  };
  const TimedEntries &entries;
  std::vector<Insertion> all;
};

/// A transfer between views, which belongs to the phase and the unit of
/// `entry`; returns its token.
mlir::Value startTransfer(mlir::OpBuilder &builder, mlir::Operation *entry,
                          mlir::Value source, mlir::Value destination);
void waitFor(mlir::OpBuilder &builder, mlir::Operation *entry,
             mlir::Value token);
/// Says on an op that it belongs to the phase and the unit of `entry`.
void annotate(mlir::Operation *op, mlir::Operation *entry);

} // namespace shardc::offload

#endif
