// The attributes of nn.parameter: where values are stored, and who reads them.
#include "frontend/onnx/ParameterSymbols.h"

#include "frontend/nn/NN.h"
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;

namespace shardc::onnx {

/// Under which initializers a parameter is stored, and which node inputs read
/// each.
static ArrayAttr bindingsOf(const ImportedModel &model,
                            const Parameter &parameter, Builder &builder) {
  SmallVector<Attribute> bindings;
  for (const Binding &binding : parameter.bindings) {
    SmallVector<Attribute> uses;
    for (auto [node, input] : binding.uses)
      uses.push_back(
          builder.getStringAttr(model.nodes[node].name + ":" + Twine(input)));
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("initializer",
                             builder.getStringAttr(binding.initializer->name)),
        builder.getNamedAttr("uses", builder.getArrayAttr(uses))};
    if (binding.transposed)
      entries.push_back(
          builder.getNamedAttr("transposed", builder.getUnitAttr()));
    bindings.push_back(builder.getDictionaryAttr(entries));
  }
  return builder.getArrayAttr(bindings);
}

static llvm::Error createParameter(const ImportedModel &model,
                                   const Parameter &parameter,
                                   OpBuilder &builder) {
  Type element = elementType(builder.getContext(), parameter.dtype);
  const Binding &stored = parameter.bindings[0];
  // Symbols of the module that later phases add.
  if (llvm::is_contained({"model", "train", "eval", "kernels"}, parameter.name))
    return llvm::createStringError(
        "'" + model.file->path() + "': initializer '" +
        stored.initializer->name + "': a parameter cannot be named '" +
        parameter.name +
        "'; model, train, eval and kernels name parts of the "
        "program; rename it in the model");
  // The trainer reads parameters by byte range.
  if (!stored.initializer->bytes && !stored.initializer->missing)
    return llvm::createStringError(
        "'" + model.file->path() + "': initializer '" +
        stored.initializer->name + "' stores " +
        dtypeName(stored.initializer->dtype) +
        " values one by one, not as bytes; save the model with "
        "raw_data or external data");
  ByteRange range = stored.initializer->bytes.value_or(ByteRange());
  auto optional = [&](const std::string &text) {
    return text.empty() ? StringAttr() : builder.getStringAttr(text);
  };
  auto op = nn::ParameterOp::create(
      builder, NameLoc::get(builder.getStringAttr(parameter.name)),
      builder.getStringAttr(parameter.name),
      TypeAttr::get(RankedTensorType::get(parameter.dims, element)),
      builder.getStringAttr(stored.initializer->name),
      builder.getStringAttr(range.file),
      builder.getI64IntegerAttr(range.offset),
      builder.getI64IntegerAttr(range.length), TypeAttr::get(element),
      stored.transposed ? builder.getUnitAttr() : UnitAttr(),
      parameter.trainable ? builder.getUnitAttr() : UnitAttr(),
      parameter.frozen ? builder.getUnitAttr() : UnitAttr(),
      optional(parameter.scope), optional(parameter.init),
      bindingsOf(model, parameter, builder));
  if (parameter.running && parameter.trainable)
    op->setAttr(nn::optimizerAttr, builder.getStringAttr(nn::runningOptimizer));
  if (!parameter.aliases.empty()) {
    SmallVector<StringRef> aliases(parameter.aliases.begin(),
                                   parameter.aliases.end());
    op->setAttr(nn::aliasesAttr, builder.getStrArrayAttr(aliases));
  }
  return llvm::Error::success();
}

llvm::Error createParameters(const ImportedModel &model, OpBuilder &builder) {
  for (const Parameter &parameter : model.parameters.parameters())
    if (llvm::Error error = createParameter(model, parameter, builder))
      return error;
  return llvm::Error::success();
}
} // namespace shardc::onnx
