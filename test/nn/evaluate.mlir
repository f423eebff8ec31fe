// Reference evaluation against values worked out by hand, and how much of a
// broadcast tensor it writes out (test.stored).
// RUN: shardc-opt %s -test-nn-evaluate | FileCheck %s

// Integers divide towards zero; `mod` takes the divisor's sign, `fmod` the dividend's.
// CHECK-LABEL: @divides_integers
// CHECK-DAG: dense<[2, -2, -2, 2]>
// CHECK-DAG: dense<[1, 2, -2, -1]>
// CHECK-DAG: dense<[1, -1, 1, -1]>
func.func @divides_integers(%x: tensor<4xi64> {test.values = dense<[7, -7, 7, -7]> : tensor<4xi64>}, %y: tensor<4xi64> {test.values = dense<[3, 3, -3, -3]> : tensor<4xi64>}) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) {
  %q = nn.div %x, %y : tensor<4xi64>
  %m = nn.mod %x, %y : tensor<4xi64>
  %f = nn.mod %x, %y {fmod} : tensor<4xi64>
  return %q, %m, %f : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
}

// By zero quotients and remainders are zero, as ONNX's reference has them; what overflows wraps. A power with a negative exponent
// truncates to zero but for 1 and -1, and 0 to the 0 is 1.
// CHECK-LABEL: @integers_at_their_seams
// CHECK-DAG: dense<[0, 0, -9223372036854775808, 9, 0]>
// CHECK-DAG: dense<0> : tensor<5xi64>
// CHECK-DAG: dense<[1, 0, 0, -1, 0]>
func.func @integers_at_their_seams(%x: tensor<5xi64> {test.values = dense<[7, 0, -9223372036854775808, -9, 0]> : tensor<5xi64>}, %y: tensor<5xi64> {test.values = dense<[0, 0, -1, -1, -1]> : tensor<5xi64>}, %b: tensor<5xi64> {test.values = dense<[0, 0, 2, -1, 0]> : tensor<5xi64>}, %e: tensor<5xi64> {test.values = dense<[0, 3, -1, -3, -2]> : tensor<5xi64>}) -> (tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<5xi64>) {
  %q = nn.div %x, %y : tensor<5xi64>
  %m = nn.mod %x, %y : tensor<5xi64>
  %f = nn.mod %x, %y {fmod} : tensor<5xi64>
  %p = nn.pow %b, %e : tensor<5xi64>
  return %q, %m, %f, %p : tensor<5xi64>, tensor<5xi64>, tensor<5xi64>, tensor<5xi64>
}

// The first of equal elements comes first, and what is no number is the largest.
// CHECK-LABEL: @picks_the_largest
// CHECK-DAG: dense<{{\[\[}}3.000000e+00, 2.000000e+00], [0x7FC00000, 5.000000e+00]]>
// CHECK-DAG: dense<{{\[\[}}1, 0], [1, 2]]>
// CHECK-DAG: dense<{{\[\[}}-1.000000e+00, 2.000000e+00], [-4.000000e+00, 5.000000e+00]]>
// CHECK-DAG: dense<{{\[\[}}3, 0], [0, 2]]>
func.func @picks_the_largest(%x: tensor<2x4xf32> {test.values = dense<[[2.0, 3.0, 2.0, -1.0], [-4.0, 0x7FC00000, 5.0, 5.0]]> : tensor<2x4xf32>}) -> (tensor<2x2xf32>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<2x2xi64>) {
  %v, %i = nn.top_k %x : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  %w, %j = nn.top_k %x {smallest} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  return %v, %i, %w, %j : tensor<2x2xf32>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<2x2xi64>
}

// The largest integers stay exact: shapes arithmetic uses them for "to the end".
// CHECK-LABEL: @keeps_large_integers
// CHECK: dense<[9223372036854775807, -9223372036854775807]>
func.func @keeps_large_integers(%x: tensor<2xi64> {test.values = dense<[-9223372036854775807, 9223372036854775807]> : tensor<2xi64>}) -> tensor<2xi64> {
  %y = nn.neg %x : tensor<2xi64>
  return %y : tensor<2xi64>
}

// CHECK-LABEL: @truncates_casts
// CHECK-DAG: dense<[1, -1, 0, 9223372036854775807]>
// CHECK-DAG: dense<[true, true, false, true]>
func.func @truncates_casts(%x: tensor<4xf32> {test.values = dense<[1.7, -1.7, 0.0, 1.0e30]> : tensor<4xf32>}) -> (tensor<4xi64>, tensor<4xi1>) {
  %i = nn.cast %x : (tensor<4xf32>) -> tensor<4xi64>
  %b = nn.cast %x : (tensor<4xf32>) -> tensor<4xi1>
  return %i, %b : tensor<4xi64>, tensor<4xi1>
}

// Floats beyond an integer type become its ends.
// CHECK-LABEL: @saturates_casts
// CHECK-DAG: dense<[127, -128, 0, -1]> : tensor<4xi8>
// CHECK-DAG: dense<[255, 0, 0, 0]> : tensor<4xui8>
// CHECK-DAG: dense<[300, -2147483648, 0, -1]> : tensor<4xi32>
func.func @saturates_casts(%x: tensor<4xf32> {test.values = dense<[300.0, -1.0e10, 0x7FC00000, -1.5]> : tensor<4xf32>}) -> (tensor<4xi8>, tensor<4xui8>, tensor<4xi32>) {
  %a = nn.cast %x : (tensor<4xf32>) -> tensor<4xi8>
  %b = nn.cast %x : (tensor<4xf32>) -> tensor<4xui8>
  %c = nn.cast %x : (tensor<4xf32>) -> tensor<4xi32>
  return %a, %b, %c : tensor<4xi8>, tensor<4xui8>, tensor<4xi32>
}

// Each float32 op rounds to float32: 2^24 + 1 is not one.
// CHECK-LABEL: @rounds_float32
// CHECK-DAG: dense<0.000000e+00> : tensor<1xf32>
// CHECK-DAG: dense<1.000000e+00> : tensor<1xf64>
func.func @rounds_float32(%x: tensor<1xf32> {test.values = dense<16777216.0> : tensor<1xf32>}, %y: tensor<1xf64> {test.values = dense<16777216.0> : tensor<1xf64>}) -> (tensor<1xf32>, tensor<1xf64>) {
  %one = nn.constant dense<1.0> : tensor<1xf32>
  %a = nn.add %x, %one : tensor<1xf32>
  %b = nn.sub %a, %x : tensor<1xf32>
  %wide = nn.constant dense<1.0> : tensor<1xf64>
  %c = nn.add %y, %wide : tensor<1xf64>
  %d = nn.sub %c, %y : tensor<1xf64>
  return %b, %d : tensor<1xf32>, tensor<1xf64>
}

// A causal mask over batch and heads is computed once for all of them.
// CHECK-LABEL: @a_mask_is_written_once
// CHECK: test.stored = 4096 : i64
func.func @a_mask_is_written_once() -> tensor<4x8x64x64xi1> {
  %ones = nn.constant dense<1> : tensor<4x8x64x64xi64>
  %i = nn.cumsum %ones {axis = 2 : i64} : tensor<4x8x64x64xi64>
  %j = nn.cumsum %ones {axis = 3 : i64} : tensor<4x8x64x64xi64>
  %m = nn.compare le %j, %i : (tensor<4x8x64x64xi64>, tensor<4x8x64x64xi64>) -> tensor<4x8x64x64xi1>
  return %m : tensor<4x8x64x64xi1>
}

// mask[b, j] for all i, through a grid of index tuples made by Expand and Concat.
// CHECK-LABEL: @index_grids_stay_small
// CHECK-NEXT: nn.constant
// CHECK-SAME: test.stored = 6 : i64
func.func @index_grids_stay_small(%mask: tensor<2x3xi1> {test.values = dense<[[1, 1, 0], [1, 0, 1]]> : tensor<2x3xi1>}) -> tensor<2x1x1000x3xi1> {
  %b = nn.constant dense<[[[[[0]]]], [[[[1]]]]]> : tensor<2x1x1x1x1xi64>
  %j = nn.constant dense<[[[[[0], [1], [2]]]]]> : tensor<1x1x1x3x1xi64>
  %bs = nn.broadcast %b : (tensor<2x1x1x1x1xi64>) -> tensor<2x1x1000x3x1xi64>
  %js = nn.broadcast %j : (tensor<1x1x1x3x1xi64>) -> tensor<2x1x1000x3x1xi64>
  %tuples = nn.concat %bs, %js {axis = 4 : i64} : (tensor<2x1x1000x3x1xi64>, tensor<2x1x1000x3x1xi64>) -> tensor<2x1x1000x3x2xi64>
  %y = nn.gather_nd %mask, %tuples {batch_dims = 0 : i64} : (tensor<2x3xi1>, tensor<2x1x1000x3x2xi64>) -> tensor<2x1x1000x3xi1>
  return %y : tensor<2x1x1000x3xi1>
}

// A reshape that splits or joins other dims leaves a broadcast one alone.
// CHECK-LABEL: @reshapes_views
// CHECK: test.stored = 6 : i64
func.func @reshapes_views(%x: tensor<1x2x3xf32>) -> tensor<100x3x2xf32> {
  %y = nn.broadcast %x : (tensor<1x2x3xf32>) -> tensor<100x2x3xf32>
  %t = nn.transpose %y [0, 2, 1] : (tensor<100x2x3xf32>) -> tensor<100x3x2xf32>
  %f = nn.reshape %t : (tensor<100x3x2xf32>) -> tensor<100x6xf32>
  %g = nn.reshape %f : (tensor<100x6xf32>) -> tensor<100x3x2xf32>
  return %g : tensor<100x3x2xf32>
}

// CHECK-LABEL: @counts_from_the_end
// CHECK: dense<[30, 10, 30]>
func.func @counts_from_the_end(%x: tensor<3xi64> {test.values = dense<[10, 20, 30]> : tensor<3xi64>}, %i: tensor<3xi64> {test.values = dense<[-1, 0, 2]> : tensor<3xi64>}) -> tensor<3xi64> {
  %y = nn.gather %x, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %y : tensor<3xi64>
}

// CHECK-LABEL: @reverses_and_pads
// CHECK: dense<[0, 3, 0, 2, 0, 1, 0, 0]>
func.func @reverses_and_pads(%x: tensor<3xi64> {test.values = dense<[1, 2, 3]> : tensor<3xi64>}) -> tensor<8xi64> {
  %r = nn.reverse %x [0] : tensor<3xi64>
  %p = nn.pad %r [1] [2] [1] : (tensor<3xi64>) -> tensor<8xi64>
  return %p : tensor<8xi64>
}

// A row that sees no key gives zeros; its log-sum-exp is -inf.
// CHECK-LABEL: @masked_rows_give_zeros
// CHECK-DAG: dense<{{\[\[\[\[}}0.000000e+00]], {{\[\[}}5.000000e+00]]]]>
// CHECK-DAG: dense<{{\[\[\[}}0xFFF0000000000000, 1.000000e+00]]]>
func.func @masked_rows_give_zeros(%x: tensor<1x2x1x1xf64> {test.values = dense<1.0> : tensor<1x2x1x1xf64>}, %k: tensor<1x1x1x1xf64> {test.values = dense<1.0> : tensor<1x1x1x1xf64>}, %v: tensor<1x1x1x1xf64> {test.values = dense<5.0> : tensor<1x1x1x1xf64>}) -> (tensor<1x2x1x1xf64>, tensor<1x1x2xf64>) {
  %y, %l = nn.attention %x, %k, %v {scale = 1.0 : f64, causal} : (tensor<1x2x1x1xf64>, tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>) -> (tensor<1x2x1x1xf64>, tensor<1x1x2xf64>)
  return %y, %l : tensor<1x2x1x1xf64>, tensor<1x1x2xf64>
}

// Equal scores: means of what is seen, a key before and two behind.
// CHECK-LABEL: @windows
// CHECK: dense<{{\[\[\[\[}}2.000000e+00]], {{\[\[}}4.000000e+00]], {{\[\[}}5.000000e+00]], {{\[\[}}6.500000e+00]]]]>
func.func @windows(%x: tensor<1x4x1x1xf64> {test.values = dense<1.0> : tensor<1x4x1x1xf64>}, %v: tensor<1x4x1x1xf64> {test.values = dense<[[[[1.0]], [[2.0]], [[3.0]], [[10.0]]]]> : tensor<1x4x1x1xf64>}) -> tensor<1x4x1x1xf64> {
  %y, %l = nn.attention %x, %x, %v {scale = 1.0 : f64, left = 1 : i64, right = 2 : i64} : (tensor<1x4x1x1xf64>, tensor<1x4x1x1xf64>, tensor<1x4x1x1xf64>) -> (tensor<1x4x1x1xf64>, tensor<1x1x4xf64>)
  return %y : tensor<1x4x1x1xf64>
}

// Scores log 3 and a sink of log 2 (of 0 where it is capped to nearly nothing): parts 3 of 5, and 1 of 2.
// CHECK-LABEL: @caps_and_sinks
// CHECK-DAG: dense<6.0000{{.*}}> : tensor<1x1x1x1xf64>
// CHECK-DAG: dense<1.6094379124341{{.*}}> : tensor<1x1x1xf64>
// CHECK-DAG: dense<5.000{{.*}}> : tensor<1x1x1x1xf64>
func.func @caps_and_sinks(%x: tensor<1x1x1x1xf64> {test.values = dense<1.0> : tensor<1x1x1x1xf64>}, %v: tensor<1x1x1x1xf64> {test.values = dense<10.0> : tensor<1x1x1x1xf64>}, %two: tensor<1xf64> {test.values = dense<0.69314718055994531> : tensor<1xf64>}, %one: tensor<1xf64> {test.values = dense<0.0> : tensor<1xf64>}) -> (tensor<1x1x1x1xf64>, tensor<1x1x1xf64>, tensor<1x1x1x1xf64>) {
  %y, %l = nn.attention %x, %x, %v sinks %two {scale = 1.0986122886681098 : f64} : (tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>, tensor<1xf64>) -> (tensor<1x1x1x1xf64>, tensor<1x1x1xf64>)
  %z, %m = nn.attention %x, %x, %v sinks %one {scale = 1.0986122886681098 : f64, softcap = 1.0e-9 : f64} : (tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>, tensor<1xf64>) -> (tensor<1x1x1x1xf64>, tensor<1x1x1xf64>)
  return %y, %l, %z : tensor<1x1x1x1xf64>, tensor<1x1x1xf64>, tensor<1x1x1x1xf64>
}

// Position i is compared with label i + 1; ignored ones and the last do not count: log 2 of the one row left.
// CHECK-LABEL: @shifts_labels
// CHECK: dense<1.3862943611198906> : tensor<f64>
func.func @shifts_labels(%x: tensor<3x2xf64> {test.values = dense<0.0> : tensor<3x2xf64>}, %l: tensor<3xi64> {test.values = dense<[1, -100, 1]> : tensor<3xi64>}, %s: tensor<f64> {test.values = dense<2.0> : tensor<f64>}) -> tensor<f64> {
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 1 : i64} : (tensor<3x2xf64>, tensor<3xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}

// log 4 less (1/2 + 1/6) log 2: half is the label's, a sixth each class has.
// CHECK-LABEL: @smooths_labels
// CHECK: dense<0.92419624074659{{.*}}> : tensor<f64>
func.func @smooths_labels(%x: tensor<1x3xf64> {test.values = dense<[[0.0, 0.0, 0.69314718055994531]]> : tensor<1x3xf64>}, %l: tensor<1xi64> {test.values = dense<2> : tensor<1xi64>}, %s: tensor<f64> {test.values = dense<1.0> : tensor<f64>}) -> tensor<f64> {
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 0 : i64, smoothing = 0.5 : f64} : (tensor<1x3xf64>, tensor<1xi64>, tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}

// 2 (log 4 - log 2) of the label that weighs 2, half of it, and a sixth of each class's: 1 log 4 of
// the first, nothing of the second, 2 log 2 of the third.
// CHECK-LABEL: @weighs_classes
// CHECK: dense<1.15524530093{{.*}}> : tensor<f64>
func.func @weighs_classes(%x: tensor<1x3xf64> {test.values = dense<[[0.0, 0.0, 0.69314718055994531]]> : tensor<1x3xf64>}, %l: tensor<1xi64> {test.values = dense<2> : tensor<1xi64>}, %s: tensor<f64> {test.values = dense<1.0> : tensor<f64>}, %w: tensor<3xf64> {test.values = dense<[1.0, 0.0, 2.0]> : tensor<3xf64>}) -> tensor<f64> {
  %y = nn.cross_entropy %x, %l, %s class_weights %w {ignore_index = -100 : i64, shift = 0 : i64, smoothing = 0.5 : f64} : (tensor<1x3xf64>, tensor<1xi64>, tensor<f64>, tensor<3xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

// rotate_half of (1, 2, 3, 4) is (-3, -4, 1, 2); of neighbours (-2, 1, -4, 3).
// CHECK-LABEL: @rotates
// CHECK-DAG: dense<{{\[\[\[\[}}-3.000000e+00, -4.000000e+00, 1.000000e+00, 2.000000e+00]]]]>
// CHECK-DAG: dense<{{\[\[\[\[}}-2.000000e+00, 1.000000e+00, -4.000000e+00, 3.000000e+00]]]]>
func.func @rotates(%x: tensor<1x1x1x4xf64> {test.values = dense<[[[[1.0, 2.0, 3.0, 4.0]]]]> : tensor<1x1x1x4xf64>}, %cos: tensor<1x1x4xf64> {test.values = dense<0.0> : tensor<1x1x4xf64>}, %sin: tensor<1x1x4xf64> {test.values = dense<1.0> : tensor<1x1x4xf64>}) -> (tensor<1x1x1x4xf64>, tensor<1x1x1x4xf64>) {
  %y = nn.rope %x, %cos, %sin : (tensor<1x1x1x4xf64>, tensor<1x1x4xf64>, tensor<1x1x4xf64>) -> tensor<1x1x1x4xf64>
  %z = nn.rope %x, %cos, %sin {interleaved} : (tensor<1x1x1x4xf64>, tensor<1x1x4xf64>, tensor<1x1x4xf64>) -> tensor<1x1x1x4xf64>
  return %y, %z : tensor<1x1x1x4xf64>, tensor<1x1x1x4xf64>
}

// Rows of all weights are one matrix; sums over rows are a bias's gradient.
// CHECK-LABEL: @stacks_weights
// CHECK-DAG: dense<{{\[\[}}1.100000e+01, 2.200000e+01, 3.300000e+01], [1.300000e+01, 2.400000e+01, 3.700000e+01]]>
// CHECK-DAG: dense<{{\[\[}}1.000000e+01, 1.400000e+01], [1.400000e+01, 2.000000e+01]]>
// CHECK-DAG: dense<{{\[\[}}1.700000e+01, 2.400000e+01]]>
// CHECK-DAG: dense<[4.000000e+00, 6.000000e+00]>
// CHECK-DAG: dense<7.000000e+00>
func.func @stacks_weights(%x: tensor<2x2xf32> {test.values = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}, %v: tensor<2x2xf32> {test.values = dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>}, %w: tensor<1x2xf32> {test.values = dense<[[1.0, 1.0]]> : tensor<1x2xf32>}, %a: tensor<2xf32> {test.values = dense<[10.0, 20.0]> : tensor<2xf32>}, %b: tensor<1xf32> {test.values = dense<[30.0]> : tensor<1xf32>}, %dy: tensor<2x3xf32> {test.values = dense<[[1.0, 2.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>}) -> (tensor<2x3xf32>, tensor<2x2xf32>, tensor<1x2xf32>, tensor<2xf32>, tensor<1xf32>) {
  %y = nn.stacked_linear %x weights(%v, %w) biases(%a, %b) {transpose_weight} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x2xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %dv, %dw, %da, %db = nn.stacked_linear_weight_grad %dy, %x {biases} : (tensor<2x3xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<1x2xf32>, tensor<2xf32>, tensor<1xf32>)
  return %y, %dv, %dw, %da, %db : tensor<2x3xf32>, tensor<2x2xf32>, tensor<1x2xf32>, tensor<2xf32>, tensor<1xf32>
}

// CHECK-LABEL: @adds_a_residual_and_sums_a_bias_gradient
// CHECK-DAG: dense<{{\[\[}}6.000000e+00], [1.100000e+01]]>
// CHECK-DAG: dense<{{\[\[}}7.000000e+00], [1.000000e+01]]>
// CHECK-DAG: dense<3.000000e+00>
func.func @adds_a_residual_and_sums_a_bias_gradient(%x: tensor<2x2xf32> {test.values = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}, %w: tensor<2x1xf32> {test.values = dense<[[1.0], [1.0]]> : tensor<2x1xf32>}, %r: tensor<2x1xf32> {test.values = dense<[[3.0], [4.0]]> : tensor<2x1xf32>}, %dy: tensor<2x1xf32> {test.values = dense<[[1.0], [2.0]]> : tensor<2x1xf32>}) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<1xf32>) {
  %y = nn.linear %x, %w residual %r : (tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %dw, %db = nn.linear_weight_grad %x, %dy : (tensor<2x2xf32>, tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>)
  return %y, %dw, %db : tensor<2x1xf32>, tensor<2x1xf32>, tensor<1xf32>
}

// The words of the key (3, 4), samples 7 and 8, are by numpy (test/training/dropout_masks.py); 2^30 is the high word of
// the float64 2.
// CHECK-LABEL: @drops
// CHECK-DAG: dense<{{\[\[}}0.000000e+00, 4.000000e+00, 0.000000e+00], [8.000000e+00, 0.000000e+00, 1.200000e+01]]>
// CHECK-DAG: dense<{{\[\[}}2.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00]]>
// CHECK-DAG: dense<{{\[\[}}0.000000e+00, 4.000000e+00], [6.000000e+00, 0.000000e+00], [0.000000e+00, 1.200000e+01]]>
func.func @drops(%x: tensor<2x3xf32> {test.values = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>}, %t: tensor<3x2xf32> {test.values = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>}, %words: tensor<8xi32> {test.values = dense<[7, 3, 4, 0, 0, 1073741824, 0, 0]> : tensor<8xi32>}) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>) {
  %y = nn.dropout %x drawn %words {samples = 2 : i64, sample_stride = 3 : i64} : (tensor<2x3xf32>, tensor<8xi32>) -> tensor<2x3xf32>
  %one = nn.dropout %x drawn %words : (tensor<2x3xf32>, tensor<8xi32>) -> tensor<2x3xf32>
  %u = nn.dropout %t drawn %words {samples = 2 : i64, sample_stride = 1 : i64} : (tensor<3x2xf32>, tensor<8xi32>) -> tensor<3x2xf32>
  return %y, %one, %u : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>
}

// Of equal probabilities, by numpy (attention_factors there): the same words, two samples of two rows of three keys.
// CHECK-LABEL: @drops_probabilities
// CHECK: dense<{{\[\[\[\[}}2.000000e+00, 2.000000e+00, 0.000000e+00]], {{\[\[}}0.000000e+00, 0.000000e+00, 0.000000e+00]]], {{\[\[\[}}0.000000e+00, 0.000000e+00, 2.000000e+00]], {{\[\[}}0.000000e+00, 2.000000e+00, 2.000000e+00]]]]>
func.func @drops_probabilities(%q: tensor<2x2x1x1xf32> {test.values = dense<0.0> : tensor<2x2x1x1xf32>}, %k: tensor<2x3x1x1xf32> {test.values = dense<0.0> : tensor<2x3x1x1xf32>}, %v: tensor<2x3x1x3xf32> {test.values = dense<[[[[3.0, 0.0, 0.0]], [[0.0, 3.0, 0.0]], [[0.0, 0.0, 3.0]]], [[[3.0, 0.0, 0.0]], [[0.0, 3.0, 0.0]], [[0.0, 0.0, 3.0]]]]> : tensor<2x3x1x3xf32>}, %words: tensor<8xi32> {test.values = dense<[7, 3, 4, 0, 0, 1073741824, 0, 0]> : tensor<8xi32>}) -> tensor<2x2x1x3xf32> {
  %y, %l = nn.attention %q, %k, %v drawn %words {scale = 1.0 : f64, samples = 2 : i64, sample_stride = 6 : i64} : (tensor<2x2x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x3xf32>, tensor<8xi32>) -> (tensor<2x2x1x3xf32>, tensor<2x1x2xf32>)
  return %y : tensor<2x2x1x3xf32>
}

// Numbers of the same words, by numpy.
// CHECK-LABEL: @draws
// CHECK-DAG: dense<{{\[\[}}0.78245{{[0-9]*}}, 0.38186{{[0-9]*}}, 0.69686{{[0-9]*}}], [0.42904{{[0-9]*}}, 0.79192{{[0-9]*}}, 0.12920{{[0-9]*}}]]>
// CHECK-DAG: dense<{{\[\[}}-0.22448{{[0-9]*}}, -0.60717{{[0-9]*}}, 0.82543{{[0-9]*}}], [-0.97726{{[0-9]*}}, -0.08728{{[0-9]*}}, 2.02206{{[0-9]*}}]]>
func.func @draws(%words: tensor<8xi32> {test.values = dense<[7, 3, 4, 0, 0, 0, 0, 0]> : tensor<8xi32>}) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %u = nn.draw uniform drawn %words {samples = 2 : i64, sample_stride = 3 : i64} : (tensor<8xi32>) -> tensor<2x3xf32>
  %z = nn.draw normal drawn %words {samples = 2 : i64, sample_stride = 3 : i64} : (tensor<8xi32>) -> tensor<2x3xf32>
  return %u, %z : tensor<2x3xf32>, tensor<2x3xf32>
}
