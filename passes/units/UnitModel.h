// What the choice of units needs to know of a model: its parameters, where they
// are used, and what flows between the uses. It is built from a function, and
// used without MLIR.
#ifndef SHARDC_PASSES_UNITS_UNITMODEL_H
#define SHARDC_PASSES_UNITS_UNITMODEL_H

#include "passes/units/NamedBlocks.h"

#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <string>
#include <vector>

namespace shardc {

/// Returns a parameter's name with its module path: the scope tells the path
/// where the name does not.
std::string modulePath(nn::ParameterOp parameter);

/// Whether it is a parameter, trained or frozen, rather than a buffer.
bool isModelParameter(nn::ParameterOp parameter);

struct UnitModel {
  /// An op that computes with a parameter.
  struct Use {
    size_t parameter = 0;
    size_t position = 0; // of the op in the function; uses ascend
    /// The kind is equal for alike uses: op, operand, shapes of parameter and
    /// result.
    size_t kind = 0;
    /// The loose kind is that of op and operand alone; the fused loss of a head
    /// counts as the product in it.
    size_t looseKind = 0;
    /// The floating-point operations of the op, and of those after it up to the
    /// next use.
    double flops = 0;
    /// Rows of the parameter that an embedding looks up; -1: it is another op.
    int64_t lookups = -1;
  };
  /// A value that an op computes from parameters; a view counts as what it
  /// shows.
  struct Activation {
    size_t made = 0; // positions; activations ascend by this
    size_t lastUsed = 0;
  };

  std::vector<BlockParameter> parameters; // by first use
  std::vector<nn::ParameterOp> symbols;   // of each parameter
  std::vector<Use> uses;
  std::vector<Activation> activations;
  /// The class of each module inside the model ("layers.0":
  /// "pkg.LlamaDecoderLayer"). It is empty where the file does not tell.
  std::map<std::string, std::string> classes;

  /// Reads `function`, and `nn.scope_classes` of its module.
  static UnitModel of(mlir::func::FuncOp function);

  int64_t elements(size_t parameter) const;
  /// The operations of all uses of a parameter.
  double flops(size_t parameter) const { return parameterFlops[parameter]; }
  /// The index of a parameter's first use.
  size_t firstUse(size_t parameter) const { return firstUses[parameter]; }
  /// The fewest values that pass a border between the uses `border` - 1 and
  /// `border`, of those made since the use `start`. It is noBorder
  /// (RepeatedRuns.h) where one op has both uses.
  int64_t crossing(size_t start, size_t border) const;

  /// Fills firstUse and flops from `uses`.
  void index();

private:
  std::vector<size_t> firstUses;
  std::vector<double> parameterFlops;
};

} // namespace shardc

#endif
