// nn-precision: one type for all floats.
#include "passes/Passes.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNPRECISION
#include "passes/Passes.h.inc"

namespace {

struct NNPrecision : impl::NNPrecisionBase<NNPrecision> {
  using NNPrecisionBase::NNPrecisionBase;

  void runOnOperation() override {
    Builder builder(&getContext());
    FloatType target;
    if (precision == "float32")
      target = builder.getF32Type();
    else if (precision == "float64")
      target = builder.getF64Type();
    if (!target) {
      emitError(getOperation().getLoc())
          << "--precision: expects float32 or float64, got '" << precision
          << "'";
      return signalPassFailure();
    }
    getOperation().walk([&](Operation *op) { convert(op, target); });
    // Between equal types nothing is left to convert.
    getOperation().walk([](nn::CastOp cast) {
      if (cast.getInput().getType() != cast.getResult().getType())
        return;
      cast.getResult().replaceAllUsesWith(cast.getInput());
      cast.erase();
    });
  }

private:
  static Type converted(Type type, FloatType target) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isa<FloatType>(tensor.getElementType()))
      return type;
    return tensor.clone(target);
  }

  static void convert(Operation *op, FloatType target) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(converted(argument.getType(), target));
    if (auto constant = dyn_cast<nn::ConstantOp>(op))
      if (auto values = dyn_cast<DenseFPElementsAttr>(constant.getValue()))
        constant.setValueAttr(convertValues(values, target));
    if (auto parameter = dyn_cast<nn::ParameterOp>(op))
      parameter.setType(converted(parameter.getType(), target));
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      auto convertAll = [&](TypeRange types) {
        return llvm::map_to_vector(
            types, [&](Type type) { return converted(type, target); });
      };
      FunctionType type = function.getFunctionType();
      function.setType(FunctionType::get(op->getContext(),
                                         convertAll(type.getInputs()),
                                         convertAll(type.getResults())));
    }
    for (OpResult result : op->getResults())
      result.setType(converted(result.getType(), target));
  }

  // Widening keeps each value exactly; narrowing rounds to nearest.
  static ElementsAttr convertValues(DenseFPElementsAttr values,
                                    FloatType target) {
    return values.mapValues(target, [&](const APFloat &value) {
      APFloat copy = value;
      bool lossy;
      copy.convert(target.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &lossy);
      return copy.bitcastToAPInt();
    });
  }
};

} // namespace
} // namespace shardc
