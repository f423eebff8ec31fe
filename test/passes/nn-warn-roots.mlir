// RUN: shardc-opt %s --nn-warn-roots --split-input-file --verify-diagnostics

nn.parameter @w : tensor<4x8xf32> {initializer = "w", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<4x8xf32>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<4x8xf32>
  %h = nn.mul %x, %w : tensor<4x8xf32>
  %squares = nn.mul %h, %h : tensor<4x8xf32>
  %sum = nn.reduce_sum %squares [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // expected-warning @below {{is NaN where all that is summed is 0 (and 1 more such roots), as in PyTorch; add a small number}}
  %norm = nn.sqrt %sum : tensor<4x1xf32>
  %all = nn.reduce_sum %norm [0, 1] : (tensor<4x1xf32>) -> tensor<1x1xf32>
  // A mean of squares, and a power of 1/2.
  %two = nn.constant dense<2.0> : tensor<4x8xf32>
  %half = nn.constant dense<0.5> : tensor<4x1xf32>
  %again = nn.pow %h, %two : tensor<4x8xf32>
  %mean = nn.reduce_mean %again [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %scaled = nn.mul %mean, %half : tensor<4x1xf32>
  %other = nn.pow %scaled, %half : tensor<4x1xf32>
  %rest = nn.reduce_sum %other [0, 1] : (tensor<4x1xf32>) -> tensor<1x1xf32>
  %both = nn.add %all, %rest : tensor<1x1xf32>
  %loss = nn.reshape %both : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Nothing is said of a sum with something added, of one for which another number stands where it is 0, of what no parameter reaches,
// and of a root of something else.
nn.parameter @w : tensor<4x8xf32> {initializer = "w", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<4x8xf32>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<4x8xf32>
  %h = nn.mul %x, %w : tensor<4x8xf32>
  %squares = nn.mul %h, %h : tensor<4x8xf32>
  %sum = nn.reduce_sum %squares [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %small = nn.constant dense<1.0e-6> : tensor<4x1xf32>
  %more = nn.add %sum, %small : tensor<4x1xf32>
  %a = nn.sqrt %more : tensor<4x1xf32>
  %zero = nn.constant dense<0.0> : tensor<4x1xf32>
  %is = nn.compare eq %sum, %zero : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xi1>
  %safe = nn.select %is, %small, %sum : (tensor<4x1xi1>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %b = nn.sqrt %safe : tensor<4x1xf32>
  %x2 = nn.mul %x, %x : tensor<4x8xf32>
  %s2 = nn.reduce_sum %x2 [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %c = nn.sqrt %s2 : tensor<4x1xf32>
  %s3 = nn.reduce_sum %h [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = nn.sqrt %s3 : tensor<4x1xf32>
  %ab = nn.add %a, %b : tensor<4x1xf32>
  %cd = nn.add %c, %d : tensor<4x1xf32>
  %abcd = nn.add %ab, %cd : tensor<4x1xf32>
  %all = nn.reduce_sum %abcd [0, 1] : (tensor<4x1xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %all : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
