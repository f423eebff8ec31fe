// What the values of a stored tensor say about where they come from: trained
// values follow no rule, tables that a program computes do.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_STOREDFORM_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_STOREDFORM_H

#include "frontend/onnx/file/ModelFile.h"

namespace shardc::onnx {

enum class StoredForm {
  Unknown, ///< the values are missing or not stored as bytes
  Free,    ///< none of the following
  Uniform, ///< one value everywhere
  Mask,    ///< 0 and one value that excludes (-1e4 or less), or 0 and 1 (2-d+)
  Sines,   ///< columns of sines and cosines of the row, as position tables are
  Series,  ///< columns that are arithmetic or geometric series of the row
};

/// "a table of sines"; empty for what no table is.
llvm::StringRef formText(StoredForm form);

/// The form of `values`, a row-major matrix of `columns` columns. Sines and
/// series of equal steps obey x[i+1] + x[i-1] = c x[i] with one c per column, and
/// sines beside their cosines x^2 + y^2 = 1 whatever the steps (an image's rows
/// one behind the other); rows of zeros (that of a padding index) are left out.
/// `tolerance`: error of a value, relative to the column's largest.
StoredForm formOfValues(llvm::ArrayRef<double> values, int64_t columns,
                        double tolerance);

/// The form of a float initializer, by its first rows along its first dim of
/// more than one element.
StoredForm formOf(const ModelFile &file, const Initializer &initializer);

/// The one row of zeros of a matrix of floats: what torch.nn.Embedding begins
/// with at its padding_idx. None where there is no such row, or several. Of
/// large tables the first and the last rows are looked at.
std::optional<int64_t> onlyZeroRow(const ModelFile &file,
                                   const Initializer &initializer);

} // namespace shardc::onnx

#endif
