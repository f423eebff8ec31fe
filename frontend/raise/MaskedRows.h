// What exporters write behind a softmax lest rows of which every score is masked
// become NaN.
#ifndef SHARDC_FRONTEND_RAISE_MASKEDROWS_H
#define SHARDC_FRONTEND_RAISE_MASKEDROWS_H

#include "frontend/raise/Match.h"

namespace shardc::raise {

/// p of select(guard, 0, p), with a guard that holds in fully masked rows alone,
/// where nn.attention gives zeros itself; null of what is none. A guard is one of
///   - is_nan(p);
///   - all of x == -inf along the rows, as a reduction of booleans or as their
///     largest x being -inf, where p is a softmax behind casts between float
///     types, and x its scores or what is added to them.
/// Both ways round, by a negated guard.
mlir::Value behindRowGuard(mlir::Operation *op);

} // namespace shardc::raise

#endif
