// Attention by matrix units, of head dims above 96 and up to 128.
#include "runtime/cuda/kernels/AttentionMatrixForward.h"
#include "runtime/cuda/kernels/AttentionMatrixGrad.h"

SHARDC_MATRIX_KERNELS(attention_matrix, 128, false, bf16, Bf16)
SHARDC_MATRIX_KERNELS(attention_matrix, 128, false, f16, F16)
