// Attention that drops probabilities, by matrix units, of head dims above 96 and up to 128.
#include "runtime/cuda/kernels/AttentionMatrixForward.h"
#include "runtime/cuda/kernels/AttentionMatrixGrad.h"

SHARDC_MATRIX_KERNELS(attention_dropped, 128, true, bf16, Bf16)
SHARDC_MATRIX_KERNELS(attention_dropped, 128, true, f16, F16)
