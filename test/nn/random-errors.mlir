// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @rates(%x: tensor<4xf32>) {
  // expected-error @below {{expects a rate in [0, 1], got 1.5}}
  %y = nn.dropout %x {rate = 1.5 : f64, site = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @something_is_drawn(%x: tensor<4xf32>) {
  // expected-error @below {{expects a rate and a site, or words}}
  %y = nn.dropout %x {rate = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @words_are_eight(%x: tensor<4xf32>, %words: tensor<6xi32>) {
  // expected-error @below {{expects dim 0 of words to be 8, got 6}}
  %y = nn.dropout %x drawn %words : (tensor<4xf32>, tensor<6xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @samples_have_a_stride(%x: tensor<4xf32>, %words: tensor<8xi32>) {
  // expected-error @below {{expects samples and their stride, or neither, got 2 and 0}}
  %y = nn.dropout %x drawn %words {samples = 2 : i64} : (tensor<4xf32>, tensor<8xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @samples_divide_the_elements(%x: tensor<4xf32>, %words: tensor<8xi32>) {
  // expected-error @below {{expects elements that 3 samples of stride 1 divide, got 4}}
  %y = nn.dropout %x drawn %words {samples = 3 : i64, sample_stride = 1 : i64} : (tensor<4xf32>, tensor<8xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @floats_of_one_type(%x: tensor<4xf32>) {
  // expected-error @below {{failed to verify that all of {input, result} have same type}}
  %y = nn.dropout %x {rate = 0.5 : f64, site = 0 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
  return
}

// -----

func.func @numbers_are_drawn_somewhere() {
  // expected-error @below {{expects a site, or words}}
  %y = nn.draw normal : () -> tensor<4xf32>
  return
}

// -----

func.func @like_has_the_shape(%x: tensor<3xf32>) {
  // expected-error @below {{expects dim 0 of like to be 4, got 3}}
  %y = nn.draw normal like %x {site = 0 : i64} : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @numbers_of_samples(%words: tensor<8xi32>) {
  // expected-error @below {{expects elements that 3 samples of stride 1 divide, got 4}}
  %y = nn.draw uniform drawn %words {samples = 3 : i64, sample_stride = 1 : i64} : (tensor<8xi32>) -> tensor<4xf32>
  return
}
