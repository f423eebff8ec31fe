// RUN: shardc-opt %s -nn-raise -verify-diagnostics
// What is written out has a limit.

func.func @too_large(%x: tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
  // expected-error @below {{a constant of shape 8192, 8192 has 67108864 elements to be written out, more than the limit of 16777216}}
  %mask = nn.constant #nn.strided<dense<1.0> : tensor<16383xf32>, start 8191, strides [-1, 1]> : tensor<8192x8192xf32>
  %0 = nn.add %x, %mask : tensor<8192x8192xf32>
  return %0 : tensor<8192x8192xf32>
}
