// What a file says of a batch norm's training.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_BATCHNORM_H
#define SHARDC_FRONTEND_ONNX_GRAPH_BATCHNORM_H

#include "onnx/onnx.pb.h"

#include <optional>

namespace shardc::onnx {

/// Whether a BatchNormalization is by the statistics of the batch, as
/// training_mode says; none where the file does not tell. The dynamo exporter
/// leaves training_mode out, and tells by its metadata alone:
/// _native_batch_norm_legit_functional(input, weight, bias, running_mean,
/// running_var, training, momentum, eps), batch_norm with the same first
/// arguments. Before opset 14, outputs behind the first told.
std::optional<bool> isByBatch(const ::onnx::NodeProto &node);

/// Whether such a norm reads a running statistic as that input.
bool isRunningStatistic(const ::onnx::NodeProto &node, int input);

} // namespace shardc::onnx

#endif
