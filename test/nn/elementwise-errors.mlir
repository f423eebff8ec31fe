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

// -----

func.func @bits_of_integers(%x: tensor<4xi32>) -> tensor<4xui32> {
  // expected-error@+1 {{expects a float type and an integer type, got 'i32' and 'ui32'}}
  %y = nn.bitcast %x : (tensor<4xi32>) -> tensor<4xui32>
  return %y : tensor<4xui32>
}

// -----

func.func @bits_of_another_width(%x: tensor<4xf32>) -> tensor<4xi64> {
  // expected-error@+1 {{expects types of one width, got 'f32' and 'i64'}}
  %y = nn.bitcast %x : (tensor<4xf32>) -> tensor<4xi64>
  return %y : tensor<4xi64>
}
