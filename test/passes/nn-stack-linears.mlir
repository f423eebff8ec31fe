// Linears of one input whose weights lie in one unit become one product.
// RUN: shardc-opt %s -nn-stack-linears=align=4 -split-input-file | FileCheck %s

nn.parameter @q : tensor<16x8xf32> {trainable, nn.unit = "a", initializer = "q", file = "", offset = 0 : i64, length = 512 : i64, stored_type = f32}
nn.parameter @k : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "k", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @v : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "v", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}

// Heads that are rotated by the same angles are rotated together; the others stand behind them, whatever the order was.
// CHECK-LABEL: func.func @model
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x3x8xf32>, %[[COS:[^:]*]]: tensor<1x3x4xf32>, %[[SIN:[^:]*]]: tensor<1x3x4xf32>)
// CHECK-DAG: %[[Q:.*]] = nn.get_parameter @q
// CHECK-DAG: %[[K:.*]] = nn.get_parameter @k
// CHECK-DAG: %[[V:.*]] = nn.get_parameter @v
// CHECK: %[[ALL:.*]] = nn.stacked_linear %[[X]] weights(%[[Q]], %[[K]], %[[V]]) {transpose_weight}
// CHECK: %[[HEADS:.*]] = nn.reshape %[[ALL]] : (tensor<2x3x32xf32>) -> tensor<2x3x8x4xf32>
// CHECK: %[[ROPE:.*]] = nn.rope %[[HEADS]], %[[COS]], %[[SIN]] {heads = 6 : i64}
// CHECK: %[[FLAT:.*]] = nn.reshape %[[ROPE]] : (tensor<2x3x8x4xf32>) -> tensor<2x3x32xf32>
// CHECK: nn.slice %[[FLAT]] [0, 0, 0] to [2, 3, 16]
// CHECK: nn.slice %[[FLAT]] [0, 0, 16] to [2, 3, 24]
// CHECK: nn.slice %[[FLAT]] [0, 0, 24] to [2, 3, 32]
func.func @model(%x: tensor<2x3x8xf32>, %cos: tensor<1x3x4xf32>, %sin: tensor<1x3x4xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x4x4xf32>, tensor<2x3x2x4xf32>) {
  %wv = nn.get_parameter @v : tensor<8x8xf32>
  %v = nn.linear %x, %wv {transpose_weight} : (tensor<2x3x8xf32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  %wq = nn.get_parameter @q : tensor<16x8xf32>
  %q = nn.linear %x, %wq {transpose_weight} : (tensor<2x3x8xf32>, tensor<16x8xf32>) -> tensor<2x3x16xf32>
  %wk = nn.get_parameter @k : tensor<8x8xf32>
  %k = nn.linear %x, %wk {transpose_weight} : (tensor<2x3x8xf32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  %kh = nn.reshape %k : (tensor<2x3x8xf32>) -> tensor<2x3x2x4xf32>
  %kr = nn.rope %kh, %cos, %sin : (tensor<2x3x2x4xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x2x4xf32>
  %qh = nn.reshape %q : (tensor<2x3x16xf32>) -> tensor<2x3x4x4xf32>
  %qr = nn.rope %qh, %cos, %sin : (tensor<2x3x4x4xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x4x4xf32>
  return %v, %qr, %kr : tensor<2x3x8xf32>, tensor<2x3x4x4xf32>, tensor<2x3x2x4xf32>
}

// -----

// With biases; a linear without one is a product of its own.
nn.parameter @a : tensor<4x8xf32> {trainable, nn.unit = "a", initializer = "a", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32}
nn.parameter @b : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "b", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @c : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "c", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @p : tensor<4xf32> {trainable, nn.unit = "a", initializer = "p", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32}
nn.parameter @r : tensor<8xf32> {trainable, nn.unit = "a", initializer = "r", file = "", offset = 0 : i64, length = 32 : i64, stored_type = f32}
// CHECK-LABEL: func.func @model
// CHECK: nn.stacked_linear %{{.*}} weights(%{{.*}}, %{{.*}}) biases(%{{.*}}, %{{.*}}) {transpose_weight} : (tensor<3x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<3x12xf32>
// CHECK: nn.linear
func.func @model(%x: tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<3x8xf32>, tensor<3x8xf32>) {
  %wa = nn.get_parameter @a : tensor<4x8xf32>
  %wb = nn.get_parameter @b : tensor<8x8xf32>
  %wc = nn.get_parameter @c : tensor<8x8xf32>
  %p = nn.get_parameter @p : tensor<4xf32>
  %r = nn.get_parameter @r : tensor<8xf32>
  %0 = nn.linear %x, %wa, %p {transpose_weight} : (tensor<3x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %1 = nn.linear %x, %wb, %r {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %2 = nn.linear %x, %wc {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  return %0, %1, %2 : tensor<3x4xf32>, tensor<3x8xf32>, tensor<3x8xf32>
}

// -----

// Another unit, a frozen one, one that is read twice, one as [in, out], and another input.
nn.parameter @a : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "a", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @b : tensor<8x8xf32> {trainable, nn.unit = "b", initializer = "b", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @c : tensor<8x8xf32> {frozen, nn.unit = "a", initializer = "c", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @d : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "d", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @e : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "e", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @f : tensor<8x8xf32> {trainable, nn.unit = "a", initializer = "f", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
// CHECK-LABEL: func.func @model
// CHECK-NOT: nn.stacked_linear
// CHECK: return
func.func @model(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %wa = nn.get_parameter @a : tensor<8x8xf32>
  %wb = nn.get_parameter @b : tensor<8x8xf32>
  %wc = nn.get_parameter @c : tensor<8x8xf32>
  %wd = nn.get_parameter @d : tensor<8x8xf32>
  %we = nn.get_parameter @e : tensor<8x8xf32>
  %wf = nn.get_parameter @f : tensor<8x8xf32>
  %0 = nn.linear %x, %wa {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %1 = nn.linear %x, %wb {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %2 = nn.linear %x, %wc {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %3 = nn.linear %x, %wd {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %4 = nn.linear %3, %wd {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %5 = nn.linear %x, %we : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %6 = nn.linear %5, %wf {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  return %6 : tensor<3x8xf32>
}
