// What was all but raised says which op did not fit, and what it is; an attention, which mask it has.
// RUN: shardc-opt %s -nn-raise --remarks-filter=nn-raise -o /dev/null 2>&1 | FileCheck %s
// Nothing that is raised depends on it, and nobody else's remarks are shown.
// RUN: shardc-opt %s -nn-raise -o %t.without
// RUN: shardc-opt %s -nn-raise --remarks-filter=nn-remat -o %t.other 2>&1 | count 0
// RUN: shardc-opt %s -nn-raise --remarks-filter=nn-raise -o %t.with 2>/dev/null
// RUN: diff %t.without %t.with
// RUN: diff %t.without %t.other

nn.parameter @bias : tensor<4xf32> {initializer = "b", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}
nn.parameter @weight : tensor<8x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
nn.parameter @relative : tensor<4x4xf32> {initializer = "r", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable}

// CHECK-DAG: [Passed] raised | Category:nn-raise | Remark="raised to nn.attention, heads: 1, causal"
func.func @raised(%q: tensor<2x2x4x8xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.constant dense<[[[[0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %2 = nn.broadcast %1 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %3 = nn.add %0, %2 : tensor<2x2x4x4xf32>
  %4 = nn.softmax %3 : tensor<2x2x4x4xf32>
  %5 = nn.matmul %4, %v : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  return %5 : tensor<2x2x4x8xf32>
}

// CHECK-DAG: Remark="raised to nn.attention, heads: 1, 1 keys before its own, 2 behind"
func.func @window(%q: tensor<2x2x4x8xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.constant dense<[[[[0.0, 0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0], [-3.40282347E+38, 0.0, 0.0, 0.0], [-3.40282347E+38, -3.40282347E+38, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %2 = nn.broadcast %1 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %3 = nn.add %0, %2 : tensor<2x2x4x4xf32>
  %4 = nn.softmax %3 : tensor<2x2x4x4xf32>
  %5 = nn.matmul %4, %v : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  return %5 : tensor<2x2x4x8xf32>
}

// CHECK-DAG: Remark="raised to nn.attention, heads: 1, scores capped at 2.5, with sinks"
func.func @capped(%q: tensor<2x2x4x8xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x4x8xf32>, %sink: tensor<1xf32>) -> tensor<2x2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.constant dense<2.5> : tensor<2x2x4x4xf32>
  %2 = nn.div %0, %1 : tensor<2x2x4x4xf32>
  %3 = nn.tanh %2 : tensor<2x2x4x4xf32>
  %4 = nn.mul %3, %1 : tensor<2x2x4x4xf32>
  %5 = nn.reshape %sink : (tensor<1xf32>) -> tensor<1x1x1x1xf32>
  %6 = nn.broadcast %5 : (tensor<1x1x1x1xf32>) -> tensor<2x2x4x1xf32>
  %7 = nn.concat %4, %6 {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x1xf32>) -> tensor<2x2x4x5xf32>
  %8 = nn.softmax %7 : tensor<2x2x4x5xf32>
  %9 = nn.slice %8 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x5xf32>) -> tensor<2x2x4x4xf32>
  %10 = nn.matmul %9, %v : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  return %10 : tensor<2x2x4x8xf32>
}

// Something else is done to the scores.
// CHECK-DAG: [Missed] near-miss | Category:nn-raise | Remark="not raised to nn.attention: the scores of nn.softmax of node 'squashed' are no scale * (query key^T) + mask: of these, nn.sin of node 'squash' is none"
func.func @squashed(%q: tensor<2x2x4x8xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.sin %0 : tensor<2x2x4x4xf32> loc("squash")
  %2 = nn.softmax %1 : tensor<2x2x4x4xf32> loc("squashed")
  %3 = nn.matmul %2, %v : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  return %3 : tensor<2x2x4x8xf32>
}

// Something is done to the probabilities.
// CHECK-DAG: Remark="not raised to nn.attention: the probabilities go into no product but into nn.mul of node 'weigh'"
func.func @weighed(%q: tensor<2x2x4x8xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x4x8xf32>, %w: tensor<2x2x4x4xf32>) -> tensor<2x2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.softmax %0 : tensor<2x2x4x4xf32>
  %2 = nn.mul %1, %w : tensor<2x2x4x4xf32> loc("weigh")
  %3 = nn.matmul %2, %v : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  return %3 : tensor<2x2x4x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.attention: the mask of nn.get_parameter of node 'positions' is trained, and nn.attention's bias has no gradient"
func.func @trained_mask(%q: tensor<2x2x4x8xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.get_parameter @relative : tensor<4x4xf32> loc("positions")
  %2 = nn.reshape %1 : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = nn.broadcast %2 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.add %0, %3 : tensor<2x2x4x4xf32>
  %5 = nn.softmax %4 : tensor<2x2x4x4xf32>
  %6 = nn.matmul %5, %v : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  return %6 : tensor<2x2x4x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.layer_norm or nn.rms_norm: under the root stands nn.reduce_sum of node 'squares', which is no mean over the last dim"
func.func @length(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = nn.mul %x, %x : tensor<2x8xf32>
  %1 = nn.reduce_sum %0 [1] : (tensor<2x8xf32>) -> tensor<2x1xf32> loc("squares")
  %2 = nn.constant dense<1.0e-6> : tensor<2x1xf32>
  %3 = nn.add %1, %2 : tensor<2x1xf32>
  %4 = nn.sqrt %3 : tensor<2x1xf32>
  %5 = nn.broadcast %4 : (tensor<2x1xf32>) -> tensor<2x8xf32>
  %6 = nn.div %x, %5 : tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.layer_norm or nn.rms_norm: the root is that of the input 'other', what is divided by it is the input 'this'"
func.func @scale_of_another(%x: tensor<2x8xf32> {nn.name = "this"}, %y: tensor<2x8xf32> {nn.name = "other"}) -> tensor<2x8xf32> {
  %0 = nn.mul %y, %y : tensor<2x8xf32>
  %1 = nn.reduce_mean %0 [1] : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %2 = nn.constant dense<1.0e-6> : tensor<2x1xf32>
  %3 = nn.add %1, %2 : tensor<2x1xf32>
  %4 = nn.sqrt %3 : tensor<2x1xf32>
  %5 = nn.broadcast %4 : (tensor<2x1xf32>) -> tensor<2x8xf32>
  %6 = nn.div %x, %5 : tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.gelu: no factor x has half of nn.add of node 'gate' as 1 + erf(x / sqrt(2)) or
func.func @other_error_function(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = nn.constant dense<0.6> : tensor<2x8xf32>
  %1 = nn.mul %x, %0 : tensor<2x8xf32>
  %2 = nn.erf %1 : tensor<2x8xf32>
  %3 = nn.constant dense<1.0> : tensor<2x8xf32>
  %4 = nn.add %2, %3 : tensor<2x8xf32> loc("gate")
  %5 = nn.mul %x, %4 : tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.softmax: the divisor nn.reduce_sum of node 'total' is not the sum of the dividend over the last dim"
func.func @softmax_of_another(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = nn.exp %x : tensor<2x8xf32>
  %1 = nn.exp %y : tensor<2x8xf32>
  %2 = nn.reduce_sum %1 [1] : (tensor<2x8xf32>) -> tensor<2x1xf32> loc("total")
  %3 = nn.broadcast %2 : (tensor<2x1xf32>) -> tensor<2x8xf32>
  %4 = nn.div %0, %3 : tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.rope: the cosines of the input 'cos' and the sines of the input 'sin' are not the same for all heads"
func.func @table_of_each_head(%x: tensor<2x4x2x8xf32>, %cos: tensor<2x4x2x8xf32> {nn.name = "cos"}, %sin: tensor<2x4x2x8xf32> {nn.name = "sin"}) -> tensor<2x4x2x8xf32> {
  %0 = nn.slice %x [0, 0, 0, 0] to [2, 4, 2, 4] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %1 = nn.slice %x [0, 0, 0, 4] to [2, 4, 2, 8] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %2 = nn.neg %1 : tensor<2x4x2x4xf32>
  %3 = nn.concat %2, %0 {axis = 3 : i64} : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x4x2x8xf32>
  %4 = nn.mul %3, %sin : tensor<2x4x2x8xf32>
  %5 = nn.mul %x, %cos : tensor<2x4x2x8xf32>
  %6 = nn.add %5, %4 : tensor<2x4x2x8xf32>
  return %6 : tensor<2x4x2x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.rope: what is turned in nn.mul of node 'turned' is not two halves of what is multiplied beside it"
func.func @turns_another(%x: tensor<2x4x2x8xf32>, %y: tensor<2x4x2x8xf32>, %cos: tensor<2x4x2x8xf32>, %sin: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.slice %x [0, 0, 0, 0] to [2, 4, 2, 4] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %1 = nn.slice %x [0, 0, 0, 4] to [2, 4, 2, 8] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %2 = nn.neg %1 : tensor<2x4x2x4xf32>
  %3 = nn.concat %2, %0 {axis = 3 : i64} : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x4x2x8xf32>
  %4 = nn.mul %3, %sin : tensor<2x4x2x8xf32> loc("turned")
  %5 = nn.mul %y, %cos : tensor<2x4x2x8xf32>
  %6 = nn.add %5, %4 : tensor<2x4x2x8xf32>
  return %6 : tensor<2x4x2x8xf32>
}

// CHECK-DAG: Remark="not raised to nn.linear's bias: nn.linear of node 'product' is read without it too"
func.func @product_is_read_twice(%x: tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = nn.get_parameter @weight : tensor<8x4xf32>
  %1 = nn.get_parameter @bias : tensor<4xf32>
  %2 = nn.matmul %x, %0 : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> loc("product")
  %3 = nn.reshape %1 : (tensor<4xf32>) -> tensor<1x4xf32>
  %4 = nn.broadcast %3 : (tensor<1x4xf32>) -> tensor<2x4xf32>
  %5 = nn.add %2, %4 : tensor<2x4xf32>
  return %2, %5 : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-DAG: Remark="not raised to nn.cross_entropy: the divisor nn.constant of node 'three' is not the number of labels that are not ignored"
func.func @mean_over_others(%x: tensor<4x8xf32>, %labels: tensor<4xi64>) -> tensor<f32> {
  %three = nn.constant dense<3.0> : tensor<f32> loc("three")
  %0 = nn.log_softmax %x : tensor<4x8xf32>
  %1 = nn.reshape %labels : (tensor<4xi64>) -> tensor<4x1xi64>
  %2 = nn.gather_nd %0, %1 {batch_dims = 1 : i64} : (tensor<4x8xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  %3 = nn.neg %2 : tensor<4xf32>
  %4 = nn.reduce_sum %3 [0] : (tensor<4xf32>) -> tensor<1xf32>
  %5 = nn.reshape %4 : (tensor<1xf32>) -> tensor<f32>
  %6 = nn.div %5, %three : tensor<f32>
  return %6 : tensor<f32>
}
