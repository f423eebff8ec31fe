// What the user should know of how parameters were recovered.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_PARAMETERWARNINGS_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_PARAMETERWARNINGS_H

#include "frontend/onnx/parameters/Parameters.h"

#include <string>
#include <vector>

namespace shardc::onnx {

/// One line each, with the export that leaves nothing to warn of.
std::vector<std::string> parameterWarnings(const ParameterTable &parameters,
                                           bool isPyTorchs);

} // namespace shardc::onnx

#endif
