// --eval-command: a program of the user's that makes metrics of predictions.
#ifndef SHARDC_RUNTIME_TRAIN_EVALUATIONCOMMAND_H
#define SHARDC_RUNTIME_TRAIN_EVALUATIONCOMMAND_H

#include "runtime/train/Evaluation.h"
#include "runtime/train/Trainer.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// The evaluation, with the metrics that the command makes of the outputs of
/// --predict, which it finds as .npy files whose paths are its last arguments.
/// Called by all ranks together; the leader runs it, and all get the metrics.
/// What is wrong with it is a warning, and the evaluation is without them.
EvaluationResult evaluateByCommand(Run &run, Evaluation &evaluation, Rank &rank,
                                   int64_t stepsDone);

/// Of the last line of what a command has printed: a JSON object of finite
/// numbers. Throws an Error for anything else, and for names that evaluations
/// have themselves.
std::vector<EvaluationMetric> parseMetrics(const std::string &printed);

} // namespace shardc::runtime

#endif
