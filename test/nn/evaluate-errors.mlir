// RUN: shardc-opt %s -test-nn-evaluate -split-input-file -verify-diagnostics

func.func @an_index_behind_the_end(%x: tensor<3xi64>, %i: tensor<1xi64> {test.values = dense<3> : tensor<1xi64>}) -> tensor<1xi64> {
  // expected-error @below {{expects indices in [-3, 3), got 3}}
  %y = nn.gather %x, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %y : tensor<1xi64>
}

// -----

func.func @an_id_does_not_count_from_the_end(%t: tensor<3x2xf32>, %i: tensor<1xi64> {test.values = dense<-1> : tensor<1xi64>}) -> tensor<1x2xf32> {
  // expected-error @below {{expects indices in [0, 3), got -1}}
  %y = nn.embedding %t, %i : (tensor<3x2xf32>, tensor<1xi64>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

func.func @a_label_is_a_class(%x: tensor<1x2xf32>, %l: tensor<1xi64> {test.values = dense<2> : tensor<1xi64>}, %s: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expects labels in [0, 2) or -100, got 2}}
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1x2xf32>, tensor<1xi64>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
