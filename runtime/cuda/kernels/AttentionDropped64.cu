// Attention that drops probabilities, by matrix units, of head dims above 16 and up to 64.
#include "runtime/cuda/kernels/AttentionMatrixForward.h"
#include "runtime/cuda/kernels/AttentionMatrixGrad.h"

SHARDC_MATRIX_KERNELS(attention_dropped, 64, true, bf16, Bf16)
SHARDC_MATRIX_KERNELS(attention_dropped, 64, true, f16, F16)
