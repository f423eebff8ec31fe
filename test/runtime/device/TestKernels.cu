// The kernels of TestedDevices.h as device code, one element or row a thread.
#include "runtime/cuda/kernels/Device.h"

using shardc::runtime::cuda::Count;
using shardc::runtime::cuda::firstElement;

SHARDC_KERNEL void scale_and_add(const float *x, const float *y, float *z) {
  Count i = firstElement();
  if (i < 40000)
    z[i] = 2 * x[i] + y[i];
}

SHARDC_KERNEL void row_sums(const float *x, double *sums) {
  Count row = firstElement();
  if (row >= 37)
    return;
  double sum = 0;
  for (Count column = 0; column < 1001; ++column)
    sum += x[row * 1001 + column];
  sums[row] = sum;
}

SHARDC_KERNEL void increment(const int *from, int *values) {
  Count i = firstElement();
  if (i < 40000)
    ++values[i];
}
