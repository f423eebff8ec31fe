// --predict: an output of the graph for every sample of --eval-data.
#ifndef SHARDC_RUNTIME_TRAIN_PREDICTION_H
#define SHARDC_RUNTIME_TRAIN_PREDICTION_H

#include "runtime/engine/Executor.h"
#include "runtime/files/OutputFile.h"
#include "runtime/plan.pb.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/Options.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// The output that --predict names, or the only one. Throws an Error with those
/// that there are.
const plan::Output &findOutput(const plan::Plan &plan,
                               const PredictOption &option);

/// A .npy file of [samples, ...], written sample by sample. Elements of 16 bits
/// become float32, which numpy has.
class PredictionFile {
public:
  PredictionFile(const plan::Output &output, const std::string &path,
                 int64_t samples);
  void write(const void *rows, size_t bytes) { file.write(rows, bytes); }
  void commit() { file.commit(); }

private:
  OutputFile file;
};

class Gathering;

/// Outputs of an evaluation, on their way to files. Samples are in the order of
/// the data on any mesh.
class Predicting {
public:
  /// `files`: of the leader, one for each option; others have none. They
  /// outlive this.
  Predicting(const plan::Plan &plan, const std::vector<PredictOption> &options,
             int64_t samples, Rank &rank,
             std::vector<std::unique_ptr<PredictionFile>> &files);
  ~Predicting();

  /// Called by all ranks together, as what Evaluation is given.
  void take(int64_t first);
  /// Makes the files appear.
  void finish();

private:
  int64_t samples;
  std::vector<std::unique_ptr<PredictionFile>> &files;
  std::vector<Gathering> outputs;
};

} // namespace shardc::runtime

#endif
