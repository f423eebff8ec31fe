// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @shapes_must_agree(%x: tensor<2xf32>, %y: tensor<3xi1>) {
  // expected-error @below {{requires the same shape for all operands and results}}
  %z = nn.select %y, %x, %x : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @booleans_have_no_sum(%x: tensor<2xi1>) {
  // expected-error @below {{op operand #0 must be statically shaped tensor}}
  %z = nn.add %x, %x : tensor<2xi1>
  return
}

// -----

func.func @shapes_are_static(%x: tensor<?xf32>) {
  // expected-error @below {{op operand #0 must be statically shaped tensor}}
  %z = nn.exp %x : tensor<?xf32>
  return
}
