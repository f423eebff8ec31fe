// What a line of --metrics says: the numbers of a step, an evaluation and a
// checkpoint under the names that all outputs of JSON have for them.
#ifndef SHARDC_RUNTIME_METRICS_LINES_H
#define SHARDC_RUNTIME_METRICS_LINES_H

#include "runtime/metrics/Figures.h"

namespace shardc::runtime {

/// `unit`: that of RunFigures.
nlohmann::ordered_json lineOf(const StepFigures &figures,
                              const std::string &unit);
nlohmann::ordered_json lineOf(const EvaluationFigures &figures);
nlohmann::ordered_json lineOf(const CheckpointFigures &figures);

/// As it stands in the file, with all digits of numbers, without its end.
std::string textOf(const nlohmann::ordered_json &line);

} // namespace shardc::runtime

#endif
