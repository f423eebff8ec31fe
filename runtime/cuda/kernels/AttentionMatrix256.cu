// Attention by matrix units, of head dims above 192 and up to 256.
#include "runtime/cuda/kernels/AttentionMatrixForward.h"
#include "runtime/cuda/kernels/AttentionMatrixGrad.h"

SHARDC_MATRIX_KERNELS(256, bf16, Bf16)
SHARDC_MATRIX_KERNELS(256, f16, F16)
