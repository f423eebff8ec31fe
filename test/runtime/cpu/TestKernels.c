/* A kernel library as the compiler would make it, for KernelLibraryTest. */
#include <stdint.h>

void twice(void *const *arguments, int64_t begin, int64_t end) {
  const float *in = arguments[0];
  float *out = arguments[1];
  for (int64_t i = begin; i < end; ++i)
    out[i] = 2 * in[i];
}

void negate(void *const *arguments, int64_t begin, int64_t end) {
  const double *in = arguments[0];
  double *out = arguments[1];
  for (int64_t i = begin; i < end; ++i)
    out[i] = -in[i];
}
