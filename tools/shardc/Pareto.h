// --remat pareto: memory against time, a line for each policy.
#ifndef SHARDC_TOOLS_SHARDC_PARETO_H
#define SHARDC_TOOLS_SHARDC_PARETO_H

#include "passes/report/Report.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace shardc {

/// What a policy takes of a rank, planned, and of its step, estimated.
struct ParetoPoint {
  std::string policy;
  int64_t memoryBytes = 0, keptBytes = 0;
  double seconds = 0, stepSeconds = 0;
};

/// The policies that are compared; among them times, so that the points between
/// two policies are there as well.
std::vector<std::string> paretoPolicies();

/// Adds what was planned with a policy, unless the same stands there under
/// another name.
void addPoint(std::vector<ParetoPoint> &points, const std::string &policy,
              const CompileReport &report);

/// Prints the points from the quickest to the slowest, a bar for the memory of
/// each, and a star where no other takes less of both.
void printPareto(llvm::raw_ostream &os, std::vector<ParetoPoint> points);
llvm::json::Array toJson(llvm::ArrayRef<ParetoPoint> points);

} // namespace shardc

#endif
