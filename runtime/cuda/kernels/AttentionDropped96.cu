// Attention that drops probabilities, by matrix units, of head dims above 64 and up to 96.
#include "runtime/cuda/kernels/AttentionMatrixForward.h"
#include "runtime/cuda/kernels/AttentionMatrixGrad.h"

SHARDC_MATRIX_KERNELS(attention_dropped, 96, true, bf16, Bf16)
SHARDC_MATRIX_KERNELS(attention_dropped, 96, true, f16, F16)
