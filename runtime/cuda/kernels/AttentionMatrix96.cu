// Attention by matrix units, of head dims above 64 and up to 96.
#include "runtime/cuda/kernels/AttentionMatrixForward.h"
#include "runtime/cuda/kernels/AttentionMatrixGrad.h"

SHARDC_MATRIX_KERNELS(96, bf16, Bf16)
SHARDC_MATRIX_KERNELS(96, f16, F16)
