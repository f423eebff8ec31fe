// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @rope_turns_pairs(%x: tensor<1x4x2x7xf32>, %c: tensor<1x4x7xf32>) {
  // expected-error @below {{expects an even head_dim, got 7}}
  %y = nn.rope %x, %c, %c : (tensor<1x4x2x7xf32>, tensor<1x4x7xf32>, tensor<1x4x7xf32>) -> tensor<1x4x2x7xf32>
  return
}

// -----

func.func @rope_has_an_angle_per_position(%x: tensor<2x4x2x6xf32>, %c: tensor<1x3x6xf32>) {
  // expected-error @below {{expects dim 1 of cos to be 4, got 3}}
  %y = nn.rope %x, %c, %c : (tensor<2x4x2x6xf32>, tensor<1x3x6xf32>, tensor<1x3x6xf32>) -> tensor<2x4x2x6xf32>
  return
}

// -----

func.func @rope_turns_heads_that_there_are(%x: tensor<2x4x2x6xf32>, %c: tensor<1x4x6xf32>) {
  // expected-error @below {{expects heads of 0 to 2, got 3}}
  %y = nn.rope %x, %c, %c {heads = 3 : i64} : (tensor<2x4x2x6xf32>, tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<2x4x2x6xf32>
  return
}
