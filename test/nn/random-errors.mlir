// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @rates(%x: tensor<4xf32>) {
  // expected-error @below {{expects a rate in [0, 1], got 1.5}}
  %y = nn.dropout %x {rate = 1.5 : f64, site = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sites(%x: tensor<4xf32>) {
  // expected-error @below {{expects a site of 0 or more, got -1}}
  %y = nn.dropout %x {rate = 0.5 : f64, site = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @draws_have_the_site(%x: tensor<4xf32>, %draws: tensor<6xi32>) {
  // expected-error @below {{expects at least 11 draws for site 1, got 6}}
  %y = nn.dropout %x drawn %draws {rate = 0.5 : f64, site = 1 : i64} : (tensor<4xf32>, tensor<6xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @draws_are_a_row(%x: tensor<4xf32>, %draws: tensor<2x3xi32>) {
  // expected-error @below {{expects draws to have 1 dims, got 2}}
  %y = nn.dropout %x drawn %draws {rate = 0.5 : f64, site = 0 : i64} : (tensor<4xf32>, tensor<2x3xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @samples_have_a_stride(%x: tensor<4xf32>, %draws: tensor<6xi32>) {
  // expected-error @below {{expects samples and their stride, or neither, got 2 and 0}}
  %y = nn.dropout %x drawn %draws {rate = 0.5 : f64, site = 0 : i64, samples = 2 : i64} : (tensor<4xf32>, tensor<6xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @samples_divide_the_elements(%x: tensor<4xf32>, %draws: tensor<6xi32>) {
  // expected-error @below {{expects elements that 3 samples of stride 1 divide, got 4}}
  %y = nn.dropout %x drawn %draws {rate = 0.5 : f64, site = 0 : i64, samples = 3 : i64, sample_stride = 1 : i64} : (tensor<4xf32>, tensor<6xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @floats_of_one_type(%x: tensor<4xf32>) {
  // expected-error @below {{failed to verify that all of {input, result} have same type}}
  %y = nn.dropout %x {rate = 0.5 : f64, site = 0 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
  return
}
