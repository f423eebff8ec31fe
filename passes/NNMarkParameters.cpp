// nn-mark-parameters: what is not to be trained, and what each parameter is to
// the model.
#include "passes/Passes.h"
#include "passes/analyses/ParameterUses.h"
#include "passes/options/UnitsOption.h"

#include "llvm/Support/Regex.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNMARKPARAMETERS
#include "passes/Passes.h.inc"

namespace {

/// What an operand is to its op.
StringRef roleAt(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (op->hasTrait<nn::IsNorm>())
    return "norm";
  if (isa<nn::EmbeddingOp>(op))
    return operand.getOperandNumber() == 0 ? "embedding" : "weight";
  if (auto linear = dyn_cast<nn::LinearOp>(op))
    return operand.get() == linear.getBias() ? "bias" : "weight";
  return "weight";
}

/// A vector that is added is a bias, a table (of positions) an embedding.
StringRef roleOfAdded(nn::ParameterOp parameter) {
  return cast<RankedTensorType>(parameter.getType()).getRank() > 1 ? "embedding"
                                                                   : "bias";
}

/// Whether the name is found, or one of those that the parameter is tied under.
bool isFound(llvm::Regex &regex, nn::ParameterOp parameter) {
  if (regex.match(parameter.getSymName()))
    return true;
  auto aliases = parameter->getAttrOfType<ArrayAttr>(nn::aliasesAttr);
  return aliases &&
         llvm::any_of(aliases.getAsRange<StringAttr>(), [&](StringAttr alias) {
           return regex.match(alias.getValue());
         });
}

struct NNMarkParameters : impl::NNMarkParametersBase<NNMarkParameters> {
  using NNMarkParametersBase::NNMarkParametersBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto parameter : getOperation().getOps<nn::ParameterOp>())
      if (parameter.getTrainable() || parameter.getFrozen())
        parameters.push_back(parameter);
    if (failed(mark("--trainable", trainable, /*freezes=*/false)) ||
        failed(mark("--freeze", freeze, /*freezes=*/true)))
      return signalPassFailure();
    if (!parameters.empty() && llvm::all_of(parameters, [](nn::ParameterOp p) {
          return p.getFrozen() || p->hasAttr(nn::optimizerAttr);
        })) {
      emitError(getOperation().getLoc())
          << "no parameter is left to train: "
          << (trainable.empty() ? "--freeze matches"
                                : "--freeze and --trainable leave out")
          << " all " << parameters.size();
      return signalPassFailure();
    }
    markRoles(symbols);
  }

private:
  /// Freezes what one of the regular expressions is found in, or (trainable)
  /// what none is.
  LogicalResult mark(StringRef flag, ArrayRef<std::string> patterns,
                     bool freezes) {
    if (patterns.empty())
      return success();
    llvm::DenseSet<Operation *> found;
    for (const std::string &pattern : patterns) {
      llvm::Regex regex(translatePattern(pattern));
      std::string problem;
      if (!regex.isValid(problem))
        return emitError(getOperation().getLoc())
               << flag << " " << pattern
               << ": no regular expression: " << problem;
      bool matches = false;
      for (nn::ParameterOp parameter : parameters)
        if (isFound(regex, parameter)) {
          found.insert(parameter);
          matches = true;
        }
      if (!matches)
        return emitError(getOperation().getLoc())
               << flag << " " << pattern << ": matches no parameter; there are "
               << someNames();
    }
    for (nn::ParameterOp parameter : parameters)
      // Running statistics follow whatever is trained.
      if (found.contains(parameter) == freezes &&
          (freezes || !parameter->hasAttr(nn::optimizerAttr))) {
        parameter.setFrozen(true);
        parameter.setTrainable(false);
        parameter->removeAttr(nn::optimizerAttr);
      }
    return success();
  }

  std::string someNames() {
    constexpr size_t most = 12;
    std::string text = llvm::join(
        llvm::map_range(ArrayRef(parameters).take_front(most),
                        [](nn::ParameterOp p) { return p.getSymName(); }),
        ", ");
    if (parameters.size() > most)
      text += ", ... (" + std::to_string(parameters.size()) + " in all)";
    return text;
  }

  /// By the first use that says more than "weight".
  void markRoles(SymbolTable &symbols) {
    auto model = symbols.lookup<func::FuncOp>("model");
    if (!model)
      return;
    ParameterUses uses(model);
    for (const ParameterUses::Use &use : uses.uses()) {
      auto parameter = symbols.lookup<nn::ParameterOp>(use.parameter);
      if (!parameter || !(parameter.getTrainable() || parameter.getFrozen()))
        continue; // a buffer
      StringRef role = isa<nn::AddOp, nn::SubOp>(use.operand->getOwner())
                           ? roleOfAdded(parameter)
                           : roleAt(*use.operand);
      auto known = parameter->getAttrOfType<StringAttr>(nn::parameterRoleAttr);
      if (!known || known.getValue() == "weight")
        parameter->setAttr(nn::parameterRoleAttr,
                           StringAttr::get(&getContext(), role));
    }
  }

  SmallVector<nn::ParameterOp> parameters;
};

} // namespace
} // namespace shardc
