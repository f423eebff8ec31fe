// Every differentiable op against finite differences, in float64. Each function
// is a test: its float arguments are what is differentiated (except those marked
// test.constant), its results are summed with a weight per element.
// RUN: shardc-opt %s -test-nn-gradients=require-all 2>&1 | FileCheck %s --implicit-check-not=error
// RUN: not shardc-opt %s -test-nn-gradients=tolerance=1e-20 -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: shardc-opt %s -test-nn-kernels=differentiate -o /dev/null
// STRICT: error: expects the gradient of argument

// CHECK-COUNT-78: gradients agree with finite differences

//===--- Elementwise ---===//

func.func @neg(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.neg %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @abs(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.abs %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @exp(%x: tensor<5xf64>) -> tensor<5xf64> {
  %y = nn.exp %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @log(%x: tensor<5xf64> {test.range = array<f64: 0.5, 2.0>}) -> tensor<5xf64> {
  %y = nn.log %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @sqrt(%x: tensor<5xf64> {test.range = array<f64: 0.5, 2.0>}) -> tensor<5xf64> {
  %y = nn.sqrt %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @rsqrt(%x: tensor<5xf64> {test.range = array<f64: 0.5, 2.0>}) -> tensor<5xf64> {
  %y = nn.rsqrt %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @reciprocal(%x: tensor<5xf64> {test.range = array<f64: -2.0, -0.5>}) -> tensor<5xf64> {
  %y = nn.reciprocal %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @sin_of_cos(%x: tensor<5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<5xf64> {
  %c = nn.cos %x : tensor<5xf64>
  %y = nn.sin %c : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @asin(%x: tensor<5xf64> {test.range = array<f64: -0.9, 0.9>}) -> tensor<5xf64> {
  %y = nn.asin %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @acos(%x: tensor<5xf64> {test.range = array<f64: -0.9, 0.9>}) -> tensor<5xf64> {
  %y = nn.acos %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @atan(%x: tensor<5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<5xf64> {
  %y = nn.atan %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @asinh(%x: tensor<5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<5xf64> {
  %y = nn.asinh %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @acosh(%x: tensor<5xf64> {test.range = array<f64: 1.2, 4.0>}) -> tensor<5xf64> {
  %y = nn.acosh %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @atanh(%x: tensor<5xf64> {test.range = array<f64: -0.9, 0.9>}) -> tensor<5xf64> {
  %y = nn.atanh %x : tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @tanh(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.tanh %x : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @erf(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.erf %x : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @sigmoid(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.sigmoid %x : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @softplus(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.softplus %x : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @expm1(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.expm1 %x : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @relu(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.relu %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @silu(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.silu %x : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @gelu(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.gelu %x : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @gelu_by_tanh(%x: tensor<9xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<9xf64> {
  %y = nn.gelu %x {tanh} : tensor<9xf64>
  return %y : tensor<9xf64>
}
func.func @floor_and_ceil_are_flat(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %f = nn.floor %x : tensor<4xf64>
  %c = nn.ceil %y : tensor<4xf64>
  %a = nn.mul %f, %y : tensor<4xf64>
  %b = nn.mul %c, %x : tensor<4xf64>
  %z = nn.add %a, %b : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @round_is_flat(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %r = nn.round %x : tensor<4xf64>
  %z = nn.mul %r, %y : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @add_and_sub(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %s = nn.add %x, %y : tensor<2x3xf64>
  %d = nn.sub %s, %x : tensor<2x3xf64>
  %e = nn.sub %d, %s : tensor<2x3xf64>
  return %e : tensor<2x3xf64>
}
func.func @mul(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %z = nn.mul %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}
func.func @product_with_itself(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %z = nn.mul %x, %x : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}
func.func @div(%x: tensor<2x3xf64>, %y: tensor<2x3xf64> {test.range = array<f64: 0.5, 2.0>}) -> tensor<2x3xf64> {
  %z = nn.div %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}
func.func @pow(%x: tensor<2x3xf64> {test.range = array<f64: 0.5, 2.0>}, %y: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %z = nn.pow %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}
func.func @square_of_negative_and_zero(%x: tensor<4xf64> {test.values = dense<[-2.0, -0.5, 0.0, 3.0]> : tensor<4xf64>}) -> tensor<4xf64> {
  %two = nn.constant dense<2.0> : tensor<4xf64>
  %z = nn.pow %x, %two : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @other_constant_powers(%x: tensor<4xf64> {test.values = dense<[-2.0, -0.5, 0.0, 3.0]> : tensor<4xf64>}) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %three = nn.constant dense<3.0> : tensor<4xf64>
  %one = nn.constant dense<1.0> : tensor<4xf64>
  %zero = nn.constant dense<0.0> : tensor<4xf64>
  %a = nn.pow %x, %three : tensor<4xf64>
  %b = nn.pow %x, %one : tensor<4xf64>
  %c = nn.pow %x, %zero : tensor<4xf64>
  return %a, %b, %c : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}
func.func @different_powers(%x: tensor<4xf64> {test.values = dense<[-2.0, -0.5, 4.0, 3.0]> : tensor<4xf64>}) -> tensor<4xf64> {
  %p = nn.constant dense<[2.0, 3.0, 0.5, -1.0]> : tensor<4xf64>
  %z = nn.pow %x, %p : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @max_and_min(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> (tensor<3x4xf64>, tensor<3x4xf64>) {
  %a = nn.max %x, %y : tensor<3x4xf64>
  %b = nn.min %x, %y : tensor<3x4xf64>
  return %a, %b : tensor<3x4xf64>, tensor<3x4xf64>
}
// At a tie the central difference sees the mean of both sides.
func.func @ties_share(%x: tensor<2xf64> {test.values = dense<[1.0, 2.0]> : tensor<2xf64>}, %y: tensor<2xf64> {test.values = dense<[1.0, 2.0]> : tensor<2xf64>}) -> (tensor<2xf64>, tensor<2xf64>) {
  %a = nn.max %x, %y : tensor<2xf64>
  %b = nn.min %x, %y : tensor<2xf64>
  return %a, %b : tensor<2xf64>, tensor<2xf64>
}
func.func @mod(%x: tensor<4xf64> {test.values = dense<[2.5, -2.5, 7.25, -0.7]> : tensor<4xf64>}, %y: tensor<4xf64> {test.values = dense<[1.0, 2.0, -3.0, 0.375]> : tensor<4xf64>}) -> (tensor<4xf64>, tensor<4xf64>) {
  %shifted = nn.constant dense<0.125> : tensor<4xf64>
  %a = nn.add %x, %shifted : tensor<4xf64>
  %r = nn.mod %a, %y : tensor<4xf64>
  %f = nn.mod %a, %y {fmod} : tensor<4xf64>
  return %r, %f : tensor<4xf64>, tensor<4xf64>
}
func.func @select(%c: tensor<3x4xi1>, %x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = nn.select %c, %x, %y : (tensor<3x4xi1>, tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @casts_to_and_from_integers_do_not_count(%x: tensor<4xf64>, %i: tensor<4xi64>) -> tensor<4xf64> {
  %f = nn.cast %i : (tensor<4xi64>) -> tensor<4xf64>
  %y = nn.mul %x, %f : tensor<4xf64>
  %same = nn.cast %y : (tensor<4xf64>) -> tensor<4xf64>
  return %same : tensor<4xf64>
}
func.func @comparisons_choose(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %c = nn.compare lt %x, %y : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  %z = nn.select %c, %x, %y : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %z : tensor<4xf64>
}

//===--- Shape ---===//

func.func @reshape(%x: tensor<2x6xf64>) -> tensor<3x4xf64> {
  %y = nn.reshape %x : (tensor<2x6xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @reshape_of_a_scalar(%x: tensor<f64>) -> tensor<1x1xf64> {
  %y = nn.reshape %x : (tensor<f64>) -> tensor<1x1xf64>
  return %y : tensor<1x1xf64>
}
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  %y = nn.transpose %x [2, 0, 1] : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  return %y : tensor<4x2x3xf64>
}
func.func @broadcast(%x: tensor<2x1x3x1xf64>) -> tensor<2x4x3x2xf64> {
  %y = nn.broadcast %x : (tensor<2x1x3x1xf64>) -> tensor<2x4x3x2xf64>
  return %y : tensor<2x4x3x2xf64>
}
func.func @broadcast_of_leading_dims(%x: tensor<1x1x5xf64>) -> tensor<2x3x5xf64> {
  %y = nn.broadcast %x : (tensor<1x1x5xf64>) -> tensor<2x3x5xf64>
  return %y : tensor<2x3x5xf64>
}
func.func @slice(%x: tensor<5x6xf64>) -> tensor<2x3xf64> {
  %y = nn.slice %x [1, 0] to [4, 6] by [2, 2] : (tensor<5x6xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
func.func @reverse(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = nn.reverse %x [0, 2] : tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}
func.func @concat(%x: tensor<2x1x3xf64>, %y: tensor<2x2x3xf64>) -> tensor<2x4x3xf64> {
  %z = nn.concat %x, %y, %x {axis = 1 : i64} : (tensor<2x1x3xf64>, tensor<2x2x3xf64>, tensor<2x1x3xf64>) -> tensor<2x4x3xf64>
  return %z : tensor<2x4x3xf64>
}
func.func @pad(%x: tensor<2x3xf64>) -> tensor<5x9xf64> {
  %y = nn.pad %x [1, 0] [1, 2] [1, 2] : (tensor<2x3xf64>) -> tensor<5x9xf64>
  return %y : tensor<5x9xf64>
}

//===--- Indexing ---===//

func.func @embedding_with_an_id_twice(%t: tensor<4x3xf64>, %ids: tensor<2x3xi64> {test.range = array<f64: 0.0, 4.0>}) -> tensor<2x3x3xf64> {
  %y = nn.embedding %t, %ids : (tensor<4x3xf64>, tensor<2x3xi64>) -> tensor<2x3x3xf64>
  return %y : tensor<2x3x3xf64>
}
func.func @gather_along_the_middle_with_negative_indices(%x: tensor<2x3x2xf64>, %i: tensor<2x2xi64> {test.values = dense<[[0, -1], [2, -3]]> : tensor<2x2xi64>}) -> tensor<2x2x2x2xf64> {
  %y = nn.gather %x, %i {axis = 1 : i64} : (tensor<2x3x2xf64>, tensor<2x2xi64>) -> tensor<2x2x2x2xf64>
  return %y : tensor<2x2x2x2xf64>
}
func.func @gather_of_one(%x: tensor<3x2xf64>, %i: tensor<i64>) -> tensor<2xf64> {
  %y = nn.gather %x, %i {axis = 0 : i64} : (tensor<3x2xf64>, tensor<i64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}
func.func @gather_nd(%x: tensor<3x4x2xf64>, %i: tensor<5x2xi64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<5x2xf64> {
  %y = nn.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<3x4x2xf64>, tensor<5x2xi64>) -> tensor<5x2xf64>
  return %y : tensor<5x2xf64>
}
func.func @gather_nd_with_batch_dims(%x: tensor<2x3x4xf64>, %i: tensor<2x3x1xi64> {test.range = array<f64: 0.0, 3.0>}) -> tensor<2x3x4xf64> {
  %y = nn.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3x4xf64>, tensor<2x3x1xi64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}
func.func @gather_grad(%x: tensor<2x2x2x2xf64>, %i: tensor<2x2xi64> {test.values = dense<[[0, -1], [2, 2]]> : tensor<2x2xi64>}) -> tensor<2x3x2xf64> {
  %y = nn.gather_grad %x, %i {axis = 1 : i64} : (tensor<2x2x2x2xf64>, tensor<2x2xi64>) -> tensor<2x3x2xf64>
  return %y : tensor<2x3x2xf64>
}
func.func @largest_and_smallest(%x: tensor<2x1x5xf64> {test.values = dense<[[[0.5, -0.25, 1.0, 0.0, -1.0]], [[0.1, 0.2, -0.3, 0.4, -0.5]]]> : tensor<2x1x5xf64>}) -> (tensor<2x1x2xf64>, tensor<2x1x5xf64>) {
  %y, %i = nn.top_k %x : (tensor<2x1x5xf64>) -> (tensor<2x1x2xf64>, tensor<2x1x2xi64>)
  %z, %j = nn.top_k %x {smallest} : (tensor<2x1x5xf64>) -> (tensor<2x1x5xf64>, tensor<2x1x5xi64>)
  return %y, %z : tensor<2x1x2xf64>, tensor<2x1x5xf64>
}
func.func @largest_of_all(%x: tensor<5xf64>) -> tensor<1xf64> {
  %y, %i = nn.top_k %x : (tensor<5xf64>) -> (tensor<1xf64>, tensor<1xi64>)
  return %y : tensor<1xf64>
}
func.func @cumsum(%x: tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x4x3xf64>) {
  %y = nn.cumsum %x {axis = 1 : i64} : tensor<2x4x3xf64>
  %z = nn.cumsum %x {axis = 2 : i64, exclusive, reverse} : tensor<2x4x3xf64>
  return %y, %z : tensor<2x4x3xf64>, tensor<2x4x3xf64>
}

//===--- Reduction ---===//

func.func @sums(%x: tensor<2x3x4xf64>) -> (tensor<2x3x1xf64>, tensor<1x1x4xf64>, tensor<2x1x4xf64>, tensor<1x3x1xf64>) {
  %a = nn.reduce_sum %x [2] : (tensor<2x3x4xf64>) -> tensor<2x3x1xf64>
  %b = nn.reduce_sum %x [0, 1] : (tensor<2x3x4xf64>) -> tensor<1x1x4xf64>
  %c = nn.reduce_sum %x [1] : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  %d = nn.reduce_sum %x [2, 0] : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %a, %b, %c, %d : tensor<2x3x1xf64>, tensor<1x1x4xf64>, tensor<2x1x4xf64>, tensor<1x3x1xf64>
}
func.func @means(%x: tensor<2x3x4xf64>) -> (tensor<2x3x1xf64>, tensor<1x1x1xf64>) {
  %a = nn.reduce_mean %x [2] : (tensor<2x3x4xf64>) -> tensor<2x3x1xf64>
  %b = nn.reduce_mean %x [0, 1, 2] : (tensor<2x3x4xf64>) -> tensor<1x1x1xf64>
  return %a, %b : tensor<2x3x1xf64>, tensor<1x1x1xf64>
}
func.func @max_and_min_over_dims(%x: tensor<3x4xf64>) -> (tensor<3x1xf64>, tensor<1x4xf64>) {
  %a = nn.reduce_max %x [1] : (tensor<3x4xf64>) -> tensor<3x1xf64>
  %b = nn.reduce_min %x [0] : (tensor<3x4xf64>) -> tensor<1x4xf64>
  return %a, %b : tensor<3x1xf64>, tensor<1x4xf64>
}
func.func @two_largest_share(%x: tensor<2xf64> {test.values = dense<[1.0, 1.0]> : tensor<2xf64>}) -> tensor<1xf64> {
  %a = nn.reduce_max %x [0] : (tensor<2xf64>) -> tensor<1xf64>
  return %a : tensor<1xf64>
}
func.func @products_of_none_one_and_two_zeros(%x: tensor<3x3xf64> {test.values = dense<[[1.5, -2.0, 0.5], [0.0, 3.0, 2.0], [0.0, 1.0, 0.0]]> : tensor<3x3xf64>}) -> tensor<3x1xf64> {
  %a = nn.reduce_prod %x [1] : (tensor<3x3xf64>) -> tensor<3x1xf64>
  return %a : tensor<3x1xf64>
}

//===--- Normalization ---===//

func.func @softmax(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = nn.softmax %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @log_softmax(%x: tensor<2x3x5xf64>) -> tensor<2x3x5xf64> {
  %y = nn.log_softmax %x : tensor<2x3x5xf64>
  return %y : tensor<2x3x5xf64>
}
func.func @layer_norm(%x: tensor<2x3x6xf64>, %g: tensor<6xf64>, %b: tensor<6xf64>) -> tensor<2x3x6xf64> {
  %y, %m, %r = nn.layer_norm %x, %g, %b {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xf64>, tensor<6xf64>, tensor<6xf64>) -> (tensor<2x3x6xf64>, tensor<2x3x1xf64>, tensor<2x3x1xf64>)
  return %y : tensor<2x3x6xf64>
}
func.func @batch_norm(%x: tensor<7x3xf64>, %g: tensor<3xf64>, %b: tensor<3xf64>, %rm: tensor<3xf64> {test.constant}, %rv: tensor<3xf64> {test.constant}) -> tensor<7x3xf64> {
  %y, %m, %v = nn.batch_norm %x, %g, %b, %rm, %rv {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64, site = 0 : i64} : (tensor<7x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<7x3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y : tensor<7x3xf64>
}
func.func @layer_norm_without_beta(%x: tensor<4x6xf64>, %g: tensor<6xf64>) -> tensor<4x6xf64> {
  %y, %m, %r = nn.layer_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<4x6xf64>, tensor<6xf64>) -> (tensor<4x6xf64>, tensor<4x1xf64>, tensor<4x1xf64>)
  return %y : tensor<4x6xf64>
}
func.func @rms_norm(%x: tensor<2x3x6xf64>, %g: tensor<6xf64>) -> tensor<2x3x6xf64> {
  %y, %r = nn.rms_norm %x, %g {epsilon = 1.0e-3 : f64} : (tensor<2x3x6xf64>, tensor<6xf64>) -> (tensor<2x3x6xf64>, tensor<2x3x1xf64>)
  return %y : tensor<2x3x6xf64>
}

//===--- MatMul ---===//

func.func @matmul(%a: tensor<2x3x4xf64>, %b: tensor<2x4x5xf64>) -> tensor<2x3x5xf64> {
  %c = nn.matmul %a, %b : (tensor<2x3x4xf64>, tensor<2x4x5xf64>) -> tensor<2x3x5xf64>
  return %c : tensor<2x3x5xf64>
}
func.func @matmul_lhs_transposed(%a: tensor<4x3xf64>, %b: tensor<4x5xf64>) -> tensor<3x5xf64> {
  %c = nn.matmul %a, %b {transpose_lhs} : (tensor<4x3xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return %c : tensor<3x5xf64>
}
func.func @matmul_rhs_transposed(%a: tensor<2x3x4xf64>, %b: tensor<2x5x4xf64>) -> tensor<2x3x5xf64> {
  %c = nn.matmul %a, %b {transpose_rhs} : (tensor<2x3x4xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>
  return %c : tensor<2x3x5xf64>
}
func.func @matmul_both_transposed(%a: tensor<2x4x3xf64>, %b: tensor<2x5x4xf64>) -> tensor<2x3x5xf64> {
  %c = nn.matmul %a, %b {transpose_lhs, transpose_rhs} : (tensor<2x4x3xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>
  return %c : tensor<2x3x5xf64>
}
func.func @linear(%x: tensor<2x3x4xf64>, %w: tensor<4x5xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %y = nn.linear %x, %w, %b : (tensor<2x3x4xf64>, tensor<4x5xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>
  return %y : tensor<2x3x5xf64>
}
func.func @linear_as_torch_keeps_it(%x: tensor<3x4xf64>, %w: tensor<5x4xf64>) -> tensor<3x5xf64> {
  %y = nn.linear %x, %w {transpose_weight} : (tensor<3x4xf64>, tensor<5x4xf64>) -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @linear_with_residual(%x: tensor<3x4xf64>, %w: tensor<5x4xf64>, %r: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = nn.linear %x, %w residual %r {transpose_weight} : (tensor<3x4xf64>, tensor<5x4xf64>, tensor<3x5xf64>) -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @stacked_linear(%x: tensor<2x3x4xf64>, %v: tensor<5x4xf64>, %w: tensor<2x4xf64>, %a: tensor<5xf64>, %b: tensor<2xf64>) -> tensor<2x3x7xf64> {
  %y = nn.stacked_linear %x weights(%v, %w) biases(%a, %b) {transpose_weight} : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<2x4xf64>, tensor<5xf64>, tensor<2xf64>) -> tensor<2x3x7xf64>
  return %y : tensor<2x3x7xf64>
}
func.func @stacked_linear_the_other_way(%x: tensor<3x7xf64>, %v: tensor<5x4xf64>, %w: tensor<2x4xf64>) -> tensor<3x4xf64> {
  %y = nn.stacked_linear %x weights(%v, %w) : (tensor<3x7xf64>, tensor<5x4xf64>, tensor<2x4xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

//===--- Attention ---===//

func.func @attention(%q: tensor<2x3x4x2xf64>, %k: tensor<2x5x2x2xf64>, %v: tensor<2x5x2x3xf64>) -> tensor<2x3x4x3xf64> {
  %o, %l = nn.attention %q, %k, %v {scale = 0.7 : f64} : (tensor<2x3x4x2xf64>, tensor<2x5x2x2xf64>, tensor<2x5x2x3xf64>) -> (tensor<2x3x4x3xf64>, tensor<2x4x3xf64>)
  return %o : tensor<2x3x4x3xf64>
}
// Query 0 sees no key at all: 3 queries meet 2 keys, and key 0 is masked in batch 1.
func.func @causal_attention_with_masked_rows(%q: tensor<2x3x2x2xf64>, %k: tensor<2x2x1x2xf64>, %v: tensor<2x2x1x2xf64>,
    %bias: tensor<1x2x1x2xf64> {test.constant}, %mask: tensor<2x2xi1> {test.values = dense<[[1, 1], [0, 1]]> : tensor<2x2xi1>}) -> tensor<2x3x2x2xf64> {
  %o, %l = nn.attention %q, %k, %v bias %bias key_mask %mask {scale = 0.7 : f64, causal}
    : (tensor<2x3x2x2xf64>, tensor<2x2x1x2xf64>, tensor<2x2x1x2xf64>, tensor<1x2x1x2xf64>, tensor<2x2xi1>) -> (tensor<2x3x2x2xf64>, tensor<2x2x3xf64>)
  return %o : tensor<2x3x2x2xf64>
}
func.func @attention_through_windows(%q: tensor<1x6x2x2xf64>, %k: tensor<1x6x2x2xf64>, %v: tensor<1x6x2x2xf64>) -> tensor<1x6x2x2xf64> {
  %a, %0 = nn.attention %q, %k, %v {scale = 0.7 : f64, causal, left = 2 : i64} : (tensor<1x6x2x2xf64>, tensor<1x6x2x2xf64>, tensor<1x6x2x2xf64>) -> (tensor<1x6x2x2xf64>, tensor<1x2x6xf64>)
  %b, %1 = nn.attention %a, %k, %v {scale = 0.7 : f64, left = 0 : i64, right = 3 : i64} : (tensor<1x6x2x2xf64>, tensor<1x6x2x2xf64>, tensor<1x6x2x2xf64>) -> (tensor<1x6x2x2xf64>, tensor<1x2x6xf64>)
  return %b : tensor<1x6x2x2xf64>
}
func.func @attention_of_capped_scores(%q: tensor<1x4x2x2xf64>, %k: tensor<1x5x1x2xf64>, %v: tensor<1x5x1x3xf64>, %bias: tensor<1x2x4x5xf64> {test.constant}) -> tensor<1x4x2x3xf64> {
  %y, %l = nn.attention %q, %k, %v bias %bias {scale = 0.9 : f64, causal, softcap = 0.7 : f64}
    : (tensor<1x4x2x2xf64>, tensor<1x5x1x2xf64>, tensor<1x5x1x3xf64>, tensor<1x2x4x5xf64>) -> (tensor<1x4x2x3xf64>, tensor<1x2x4xf64>)
  return %y : tensor<1x4x2x3xf64>
}
// Query 0 sees its sink alone.
func.func @attention_with_sinks(%q: tensor<2x3x4x2xf64>, %k: tensor<2x2x2x2xf64>, %v: tensor<2x2x2x3xf64>, %sinks: tensor<4xf64>) -> tensor<2x3x4x3xf64> {
  %y, %l = nn.attention %q, %k, %v sinks %sinks {scale = 0.9 : f64, causal, softcap = 2.0 : f64}
    : (tensor<2x3x4x2xf64>, tensor<2x2x2x2xf64>, tensor<2x2x2x3xf64>, tensor<4xf64>) -> (tensor<2x3x4x3xf64>, tensor<2x4x3xf64>)
  return %y : tensor<2x3x4x3xf64>
}
func.func @rope(%x: tensor<2x3x2x4xf64>, %cos: tensor<1x3x4xf64> {test.constant}, %sin: tensor<1x3x4xf64> {test.constant}) -> tensor<2x3x2x4xf64> {
  %y = nn.rope %x, %cos, %sin : (tensor<2x3x2x4xf64>, tensor<1x3x4xf64>, tensor<1x3x4xf64>) -> tensor<2x3x2x4xf64>
  return %y : tensor<2x3x2x4xf64>
}
func.func @rope_of_some_heads(%x: tensor<2x3x3x4xf64>, %cos: tensor<1x3x4xf64> {test.constant}, %sin: tensor<1x3x4xf64> {test.constant}) -> tensor<2x3x3x4xf64> {
  %y = nn.rope %x, %cos, %sin {heads = 2 : i64} : (tensor<2x3x3x4xf64>, tensor<1x3x4xf64>, tensor<1x3x4xf64>) -> tensor<2x3x3x4xf64>
  return %y : tensor<2x3x3x4xf64>
}
func.func @rope_of_neighbours(%x: tensor<2x3x2x4xf64>, %cos: tensor<2x3x4xf64> {test.constant}, %sin: tensor<2x3x4xf64> {test.constant}) -> tensor<2x3x2x4xf64> {
  %y = nn.rope %x, %cos, %sin {interleaved} : (tensor<2x3x2x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>) -> tensor<2x3x2x4xf64>
  return %y : tensor<2x3x2x4xf64>
}

//===--- Loss ---===//

func.func @cross_entropy(%x: tensor<2x3x5xf64>, %l: tensor<2x3xi64> {test.values = dense<[[0, -100, 4], [2, 2, 1]]> : tensor<2x3xi64>}, %s: tensor<f64> {test.constant}) -> tensor<f64> {
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 1 : i64} : (tensor<2x3x5xf64>, tensor<2x3xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @cross_entropy_of_smoothed_labels(%x: tensor<2x3x5xf64>, %l: tensor<2x3xi64> {test.values = dense<[[0, -100, 4], [2, 2, 1]]> : tensor<2x3xi64>}, %s: tensor<f64> {test.constant}) -> tensor<f64> {
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 0 : i64, smoothing = 0.3 : f64} : (tensor<2x3x5xf64>, tensor<2x3xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @cross_entropy_of_weighted_classes(%x: tensor<2x3x5xf64>, %l: tensor<2x3xi64> {test.values = dense<[[0, -100, 4], [2, 2, 1]]> : tensor<2x3xi64>}, %s: tensor<f64> {test.constant}, %c: tensor<5xf64> {test.constant}) -> tensor<f64> {
  %y = nn.cross_entropy %x, %l, %s class_weights %c {ignore_index = -100 : i64, shift = 1 : i64, smoothing = 0.3 : f64} : (tensor<2x3x5xf64>, tensor<2x3xi64>, tensor<f64>, tensor<5xf64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @linear_cross_entropy_of_weighted_classes(%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>, %l: tensor<2x3xi64> {test.range = array<f64: 0.0, 5.0>}, %s: tensor<f64> {test.constant}, %c: tensor<5xf64> {test.constant}) -> tensor<f64> {
  %y = nn.linear_cross_entropy %x, %w labels %l, %s class_weights %c {ignore_index = 3 : i64, shift = 0 : i64, transpose_weight}
    : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<2x3xi64>, tensor<f64>, tensor<5xf64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @linear_cross_entropy(%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>, %b: tensor<5xf64>, %l: tensor<2x3xi64> {test.range = array<f64: 0.0, 5.0>}, %s: tensor<f64> {test.constant}) -> tensor<f64> {
  %y = nn.linear_cross_entropy %x, %w bias %b labels %l, %s {ignore_index = 3 : i64, shift = 0 : i64, transpose_weight}
    : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<5xf64>, tensor<2x3xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @linear_cross_entropy_of_capped_logits(%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>, %b: tensor<5xf64>, %l: tensor<2x3xi64> {test.range = array<f64: 0.0, 5.0>}, %s: tensor<f64> {test.constant}) -> tensor<f64> {
  %y = nn.linear_cross_entropy %x, %w bias %b labels %l, %s {ignore_index = 3 : i64, shift = 1 : i64, softcap = 0.8 : f64, transpose_weight}
    : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<5xf64>, tensor<2x3xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @linear_cross_entropy_of_smoothed_labels(%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>, %b: tensor<5xf64>, %l: tensor<2x3xi64> {test.range = array<f64: 0.0, 5.0>}, %s: tensor<f64> {test.constant}) -> tensor<f64> {
  %y = nn.linear_cross_entropy %x, %w bias %b labels %l, %s {ignore_index = 3 : i64, shift = 1 : i64, smoothing = 0.2 : f64, softcap = 0.8 : f64, transpose_weight}
    : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<5xf64>, tensor<2x3xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @linear_cross_entropy_of_a_frozen_input(%x: tensor<3x4xf64> {test.constant}, %w: tensor<4x5xf64>, %l: tensor<3xi64> {test.range = array<f64: 0.0, 5.0>}, %s: tensor<f64> {test.constant}) -> tensor<f64> {
  %y = nn.linear_cross_entropy %x, %w labels %l, %s {ignore_index = -1 : i64, shift = 0 : i64}
    : (tensor<3x4xf64>, tensor<4x5xf64>, tensor<3xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}

//===--- Where values come from ---===//

// Nowhere stopped: where it is, finite differences know nothing of it. nn-differentiate.mlir has that.
func.func @stop_gradient_nowhere(%x: tensor<3xf64>, %m: tensor<3xi1> {test.values = dense<[0, 0, 0]> : tensor<3xi1>}) -> tensor<3xf64> {
  %y = nn.stop_gradient %x where %m : (tensor<3xf64>, tensor<3xi1>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

// To what has the same slope; nn-differentiate.mlir has others.
func.func @straight_through(%x: tensor<3xf64>) -> tensor<3xf64> {
  %v = nn.tanh %x : tensor<3xf64>
  %t = nn.tanh %x : tensor<3xf64>
  %y = nn.straight_through %v to %t : tensor<3xf64>
  return %y : tensor<3xf64>
}

//===--- Random ---===//

func.func @dropout(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %words = nn.constant dense<[5, 3, 4, -1073741824, 1431655765, 1073042773, 0, 0]> : tensor<8xi32>
  %y = nn.dropout %x drawn %words {samples = 2 : i64, sample_stride = 12 : i64} : (tensor<2x3x4xf64>, tensor<8xi32>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @dropped_attention(%q: tensor<2x3x4x2xf64>, %k: tensor<2x5x2x2xf64>, %v: tensor<2x5x2x3xf64>, %sinks: tensor<4xf64>) -> tensor<2x3x4x3xf64> {
  %words = nn.constant dense<[5, 3, 4, -1073741824, 1431655765, 1073042773, 0, 0]> : tensor<8xi32>
  %y, %l = nn.attention %q, %k, %v sinks %sinks drawn %words {scale = 0.9 : f64, causal, softcap = 2.0 : f64, samples = 2 : i64, sample_stride = 60 : i64}
    : (tensor<2x3x4x2xf64>, tensor<2x5x2x2xf64>, tensor<2x5x2x3xf64>, tensor<4xf64>, tensor<8xi32>) -> (tensor<2x3x4x3xf64>, tensor<2x4x3xf64>)
  return %y : tensor<2x3x4x3xf64>
}

// What is drawn depends on nothing.
func.func @draw(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %words = nn.constant dense<[5, 3, 4, 0, 0, 0, 0, 0]> : tensor<8xi32>
  %n = nn.draw normal like %x drawn %words {samples = 2 : i64, sample_stride = 12 : i64} : (tensor<2x3x4xf64>, tensor<8xi32>) -> tensor<2x3x4xf64>
  %y = nn.mul %x, %n : tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}
