// Numbers of the fields of ONNX's messages that weights are read from and
// written to: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#ifndef SHARDC_RUNTIME_WEIGHTS_ONNXFIELDS_H
#define SHARDC_RUNTIME_WEIGHTS_ONNXFIELDS_H

namespace shardc::runtime {

enum OnnxModelField { modelGraph = 7 };
enum OnnxGraphField { graphInitializer = 5 };
enum OnnxTensorField {
  tensorDims = 1,
  tensorDataType = 2,
  tensorFloatData = 4,
  tensorName = 8,
  tensorRawData = 9,
  tensorDoubleData = 10,
  tensorExternalData = 13,
  tensorDataLocation = 14,
};
/// Of StringStringEntryProto.
enum OnnxEntryField { entryKey = 1, entryValue = 2 };

} // namespace shardc::runtime

#endif
