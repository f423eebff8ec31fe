// What the tools that read MLIR text can read.
#ifndef SHARDC_TOOLS_DIALECTS_DIALECTS_H
#define SHARDC_TOOLS_DIALECTS_DIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace shardc {

/// Registers shardc's dialects, and all that come with MLIR.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace shardc

#endif // SHARDC_TOOLS_DIALECTS_DIALECTS_H
