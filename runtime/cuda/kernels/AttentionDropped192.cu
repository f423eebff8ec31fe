// Attention that drops probabilities, by matrix units, of head dims above 128 and up to 192.
#include "runtime/cuda/kernels/AttentionMatrixForward.h"
#include "runtime/cuda/kernels/AttentionMatrixGrad.h"

SHARDC_MATRIX_KERNELS(attention_dropped, 192, true, bf16, Bf16)
SHARDC_MATRIX_KERNELS(attention_dropped, 192, true, f16, F16)
