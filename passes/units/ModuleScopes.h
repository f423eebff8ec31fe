// Module paths of a model's parameters, for choosing among them and for saying
// which there are.
#ifndef SHARDC_PASSES_UNITS_MODULESCOPES_H
#define SHARDC_PASSES_UNITS_MODULESCOPES_H

#include "passes/units/UnitModel.h"

#include <map>
#include <string>

namespace shardc {

/// The paths of the modules that hold parameters, their numbers collapsed:
/// "layers.{0..31}.attn, layers.{0..31}.mlp, norm". At most a dozen and a half,
/// then how many more.
std::string describeScopes(llvm::ArrayRef<BlockParameter> parameters);

/// Modules of each class that hold parameters, the shorter class name.
std::map<std::string, int64_t> countClasses(const UnitModel &model);

/// "LlamaDecoderLayer" of "transformers.models.llama.LlamaDecoderLayer".
llvm::StringRef shortClassName(llvm::StringRef name);

/// Calls `visit` with every module that a path lies in, outermost first:
/// "layers", "layers.0" for layers.0.weight.
void forEachModule(llvm::StringRef path,
                   llvm::function_ref<void(llvm::StringRef)> visit);

} // namespace shardc

#endif
