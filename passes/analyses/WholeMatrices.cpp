// Matrices by role and by where they stand, or by name.
#include "passes/analyses/WholeMatrices.h"

#include "passes/analyses/ParameterUses.h"
#include "passes/options/UnitsOption.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace shardc {

static bool isMatrix(nn::ParameterOp parameter) {
  return cast<RankedTensorType>(parameter.getType()).getRank() == 2;
}

/// Of `forward`, the ops behind which no other matrix is.
static llvm::DenseSet<Operation *>
lastProducts(ModuleOp module, func::FuncOp forward, const ParameterUses &uses) {
  SymbolTable symbols(module);
  llvm::DenseSet<Operation *> products;
  for (const ParameterUses::Use &use : uses.uses()) {
    auto parameter = symbols.lookup<nn::ParameterOp>(use.parameter);
    // A table that is added is no product; a loss may have one inside.
    Operation *op = use.operand->getOwner();
    if (parameter && isMatrix(parameter) &&
        (op->hasTrait<nn::IsProduct>() || op->hasTrait<nn::IsLoss>()))
      products.insert(op);
  }
  llvm::DenseSet<Operation *> last, seen;
  SmallVector<Value> open{
      forward.getBody().front().getTerminator()->getOperand(0)};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (products.contains(op))
      last.insert(op);
    else
      open.append(op->operand_begin(), op->operand_end());
  }
  return last;
}

static FailureOr<llvm::DenseSet<Operation *>>
findByName(ModuleOp module, ArrayRef<nn::ParameterOp> matrices,
           ArrayRef<std::string> patterns) {
  llvm::DenseSet<Operation *> found;
  for (const std::string &pattern : patterns) {
    llvm::Regex regex(translatePattern(pattern));
    std::string problem;
    if (!regex.isValid(problem))
      return emitError(module.getLoc())
             << "--muon " << pattern << ": no regular expression: " << problem;
    bool matches = false;
    for (nn::ParameterOp parameter : matrices)
      if (regex.match(parameter.getSymName())) {
        found.insert(parameter);
        matches = true;
      }
    if (!matches)
      return emitError(module.getLoc())
             << "--muon " << pattern
             << ": is found in the name of no trained matrix";
  }
  return found;
}

FailureOr<llvm::DenseSet<Operation *>>
wholeMatrices(ModuleOp module, func::FuncOp forward,
              ArrayRef<std::string> patterns) {
  SmallVector<nn::ParameterOp> matrices;
  for (auto parameter : module.getOps<nn::ParameterOp>())
    if (parameter.getTrainable() && isMatrix(parameter))
      matrices.push_back(parameter);
  if (!patterns.empty())
    return findByName(module, matrices, patterns);

  ParameterUses uses(forward);
  llvm::DenseSet<Operation *> last = lastProducts(module, forward, uses);
  llvm::DenseSet<StringAttr> ofHead;
  for (const ParameterUses::Use &use : uses.uses())
    if (last.contains(use.operand->getOwner()))
      ofHead.insert(use.parameter);
  llvm::DenseSet<Operation *> found;
  for (nn::ParameterOp parameter : matrices) {
    auto role = parameter->getAttrOfType<StringAttr>(nn::parameterRoleAttr);
    if ((!role || role.getValue() == "weight") &&
        !ofHead.contains(parameter.getSymNameAttr()))
      found.insert(parameter);
  }
  if (found.empty())
    return emitError(module.getLoc())
           << "--optimizer muon: the model trains no matrix but embeddings and "
              "its head; name some with --muon REGEX, or take another "
              "optimizer";
  return found;
}

} // namespace shardc
