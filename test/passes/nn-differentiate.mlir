// RUN: shardc-opt %s -nn-differentiate -split-input-file | FileCheck %s

nn.parameter @w : tensor<3xf32> {initializer = "w", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32, trainable}
nn.parameter @frozen : tensor<3xf32> {initializer = "f", file = "", offset = 12 : i64, length = 12 : i64, stored_type = f32}

// The forward pass stays as it was, for evaluation.
// CHECK-LABEL: func.func @eval
// CHECK-SAME: tensor<3xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<f32> {nn.name = "loss"})
// CHECK: nn.mul
// CHECK: nn.mul
// CHECK-NOT: nn.mul
// CHECK: return %{{.*}} : tensor<f32>

// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[X:.*]]: tensor<3xf32> {nn.name = "x", nn.role = "input"}
// CHECK-SAME: -> (tensor<f32> {nn.name = "loss"}, tensor<3xf32> {nn.gradient_of = @w})
// CHECK-DAG: %[[W:.*]] = nn.get_parameter @w
// CHECK-DAG: %[[F:.*]] = nn.get_parameter @frozen
// CHECK: %[[FX:.*]] = nn.mul %[[X]], %[[F]]
// CHECK: %[[LOSS:.*]] = nn.reshape
// The frozen parameter and the input need no gradient, and a product with 1 is folded: dw is f * x.
// CHECK-NOT: nn.mul
// CHECK: return %[[LOSS]], %[[FX]]
func.func @model(%x: tensor<3xf32> {nn.name = "x", nn.role = "input"}) -> (tensor<f32> {nn.name = "loss"}) {
  %w = nn.get_parameter @w : tensor<3xf32>
  %f = nn.get_parameter @frozen : tensor<3xf32>
  %fx = nn.mul %x, %f : tensor<3xf32>
  %y = nn.mul %fx, %w : tensor<3xf32>
  %c = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %z = nn.add %y, %c : tensor<3xf32>
  %s = nn.reduce_sum %z [0] : (tensor<3xf32>) -> tensor<1xf32>
  %loss = nn.reshape %s : (tensor<1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A parameter read twice, and a value used three times: each has one sum, last use first.
nn.parameter @w : tensor<f32> {initializer = "w", file = "", offset = 0 : i64, length = 4 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @train
// CHECK: %[[A:.*]] = nn.get_parameter @w
// CHECK: %[[Y:.*]] = nn.exp %[[A]]
// CHECK: nn.sin %[[Y]]
// CHECK: nn.cos %[[Y]]
// CHECK: nn.tanh %[[Y]]
// CHECK: %[[T:.*]] = nn.sub
// CHECK: %[[S:.*]] = nn.sin %[[Y]]
// CHECK: %[[C:.*]] = nn.neg %[[S]]
// CHECK: %[[FIRST:.*]] = nn.add %{{.*}}, %[[C]]
// CHECK: %[[D:.*]] = nn.cos %[[Y]]
// CHECK: %[[SECOND:.*]] = nn.add %[[FIRST]], %[[D]]
// CHECK: %[[DW:.*]] = nn.mul %[[SECOND]], %[[Y]]
// CHECK: nn.add {{.*}}%[[DW]]
func.func @model(%x: tensor<f32>) -> tensor<f32> {
  %a = nn.get_parameter @w : tensor<f32>
  %b = nn.get_parameter @w : tensor<f32>
  %y = nn.exp %a : tensor<f32>
  %1 = nn.sin %y : tensor<f32>
  %2 = nn.cos %y : tensor<f32>
  %3 = nn.tanh %y : tensor<f32>
  %4 = nn.add %1, %2 : tensor<f32>
  %5 = nn.add %4, %3 : tensor<f32>
  %6 = nn.sin %b : tensor<f32>
  %loss = nn.add %5, %6 : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The fused loss is computed once, with its gradients, where the forward op stood.
nn.parameter @head : tensor<8x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
nn.parameter @table : tensor<8x4xf32> {initializer = "t", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @eval
// CHECK: nn.linear_cross_entropy %
// CHECK-LABEL: func.func @train
// CHECK-NOT: nn.linear_cross_entropy %
// CHECK: %[[LOSS:[a-z_]*]], %[[DX:.*]], %[[DW:.*]] = nn.linear_cross_entropy_grad
// CHECK: %[[DT:.*]] = nn.embedding_grad %[[DX]]
// CHECK: return %[[LOSS]], %[[DW]], %[[DT]]
func.func @model(%ids: tensor<2x3xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %head = nn.get_parameter @head : tensor<8x4xf32>
  %table = nn.get_parameter @table : tensor<8x4xf32>
  %x = nn.embedding %table, %ids : (tensor<8x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %loss = nn.linear_cross_entropy %x, %head labels %ids, %scale {ignore_index = -100 : i64, shift = 1 : i64, transpose_weight}
    : (tensor<2x3x4xf32>, tensor<8x4xf32>, tensor<2x3xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The gradients of a tensor's slices are one concat: no zeros are added.
nn.parameter @qkv : tensor<6xf32> {initializer = "w", file = "", offset = 0 : i64, length = 24 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @train
// CHECK-NOT: nn.pad
// CHECK: %[[D:.*]] = nn.concat
// CHECK: return %{{.*}}, %[[D]]
func.func @model(%x: tensor<2xf32>) -> tensor<f32> {
  %w = nn.get_parameter @qkv : tensor<6xf32>
  %q = nn.slice %w [0] to [2] by [1] : (tensor<6xf32>) -> tensor<2xf32>
  %k = nn.slice %w [2] to [4] by [1] : (tensor<6xf32>) -> tensor<2xf32>
  %v = nn.slice %w [4] to [6] by [1] : (tensor<6xf32>) -> tensor<2xf32>
  %qk = nn.mul %q, %k : tensor<2xf32>
  %qkv = nn.mul %qk, %v : tensor<2xf32>
  %s = nn.reduce_sum %qkv [0] : (tensor<2xf32>) -> tensor<1xf32>
  %loss = nn.reshape %s : (tensor<1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Gradients of bf16 parameters are float32 where nn.precision says so, made by the op that sums them: no cast, also behind views. Where
// a parameter is read twice the sum is float32. The gradient of a value has the value's bf16.
module attributes {nn.precision = {parameters = bf16, gradients = f32, loss = f32, master = f32}} {
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable}
nn.parameter @b : tensor<4xbf16> {initializer = "b", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}
nn.parameter @g : tensor<4xbf16> {initializer = "g", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}
nn.parameter @p : tensor<2x4xbf16> {initializer = "p", file = "", offset = 0 : i64, length = 32 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @train
// CHECK-SAME: -> (tensor<f32>, tensor<4x4xf32> {nn.gradient_of = @w}, tensor<4xf32> {nn.gradient_of = @b}, tensor<4xf32> {nn.gradient_of = @g}, tensor<2x4xf32> {nn.gradient_of = @p})
// CHECK: %[[LOSS:.*]], %[[DX:.*]], %[[DHEAD:.*]] = nn.linear_cross_entropy_grad {{.*}} -> (tensor<f32>, tensor<2x3x4xbf16>, tensor<4x4xf32>)
// CHECK: %[[DY:.*]] = nn.rms_norm_grad %[[DX]], {{.*}} -> tensor<2x3x4xbf16>
// CHECK: %[[DG:.*]] = nn.rms_norm_param_grad {{.*}} -> tensor<4xf32>
// CHECK: %[[DW:.*]] = nn.linear_weight_grad {{.*}} : (tensor<2x3x4xbf16>, tensor<2x3x4xbf16>) -> tensor<4x4xf32>
// CHECK: %[[DB:.*]] = nn.reduce_sum %[[DY]] [0, 1] : (tensor<2x3x4xbf16>) -> tensor<1x1x4xf32>
// CHECK: %[[DB1:.*]] = nn.reshape %[[DB]] : (tensor<1x1x4xf32>) -> tensor<4xf32>
// CHECK: %[[DWT:.*]] = nn.transpose %[[DW]] [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[SUM:.*]] = nn.add %[[DHEAD]], %[[DWT]] : tensor<4x4xf32>
// A product of bf16 values that is itself the gradient is computed in float32.
// CHECK: %[[Z:.*]] = nn.cast %{{.*}} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK: %[[C:.*]] = nn.cast %{{.*}} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK: %[[DP:.*]] = nn.mul %[[Z]], %[[C]] : tensor<2x4xf32>
// CHECK: return %[[LOSS]], %[[SUM]], %[[DB1]], %[[DG]], %[[DP]]
func.func @model(%x: tensor<2x4xbf16>, %labels: tensor<2x3xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<4x4xbf16>
  %b = nn.get_parameter @b : tensor<4xbf16>
  %g = nn.get_parameter @g : tensor<4xbf16>
  %p = nn.get_parameter @p : tensor<2x4xbf16>
  %m = nn.mul %x, %p : tensor<2x4xbf16>
  %r = nn.reshape %m : (tensor<2x4xbf16>) -> tensor<2x1x4xbf16>
  %s = nn.broadcast %r : (tensor<2x1x4xbf16>) -> tensor<2x3x4xbf16>
  %wt = nn.transpose %w [1, 0] : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %y = nn.linear %s, %wt, %b : (tensor<2x3x4xbf16>, tensor<4x4xbf16>, tensor<4xbf16>) -> tensor<2x3x4xbf16>
  %n, %q = nn.rms_norm %y, %g {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xbf16>, tensor<4xbf16>) -> (tensor<2x3x4xbf16>, tensor<2x3x1xf32>)
  %loss = nn.linear_cross_entropy %n, %w labels %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64, transpose_weight}
    : (tensor<2x3x4xbf16>, tensor<4x4xbf16>, tensor<2x3xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----

// A residual sum hands one gradient on to both of its operands: what a parameter makes of it leaves the other's type alone. A cast
// parameter's gradient is not cast back.
module attributes {nn.precision = {parameters = bf16, gradients = f32, loss = f32, master = f32}} {
nn.parameter @p : tensor<4xbf16> {initializer = "p", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable}
nn.parameter @k : tensor<4xbf16> {initializer = "k", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @train
// CHECK: nn.reduce_sum
// CHECK: %[[DZ:.*]] = nn.cast %{{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK: %[[DP:.*]] = nn.cast %[[DZ]] : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK: %[[DW:.*]] = nn.linear_weight_grad %{{.*}}, %[[DZ]] : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4x4xf32>
// CHECK: return %{{.*}}, %[[DP]], %[[DW]], %{{[0-9]+}} : tensor<f32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>
func.func @model(%x: tensor<4xbf16>) -> tensor<f32> {
  %p = nn.get_parameter @p : tensor<4xbf16>
  %w = nn.get_parameter @w : tensor<4x4xbf16>
  %k = nn.get_parameter @k : tensor<4xbf16>
  %y = nn.linear %x, %w : (tensor<4xbf16>, tensor<4x4xbf16>) -> tensor<4xbf16>
  %z = nn.add %y, %p : tensor<4xbf16>
  %f = nn.cast %z : (tensor<4xbf16>) -> tensor<4xf32>
  %kf = nn.cast %k : (tensor<4xbf16>) -> tensor<4xf32>
  %m = nn.mul %f, %kf : tensor<4xf32>
  %s = nn.reduce_sum %m [0] : (tensor<4xf32>) -> tensor<1xf32>
  %loss = nn.reshape %s : (tensor<1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----

// A table that embeds twice and is the output layer too: the rows of both are added onto the output layer's gradient, last use first.
nn.parameter @table : tensor<8x4xf32> {initializer = "t", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @train
// CHECK: %[[LOSS:.*]], %[[DX:.*]], %[[DT:.*]] = nn.linear_cross_entropy_grad
// CHECK: %[[SECOND:.*]] = nn.embedding_grad %{{.*}}, %{{.*}} onto %[[DT]]
// CHECK: %[[FIRST:.*]] = nn.embedding_grad %{{.*}}, %{{.*}} onto %[[SECOND]]
// CHECK-NOT: nn.add
// CHECK: return %[[LOSS]], %[[FIRST]]
func.func @model(%a: tensor<5xi64>, %b: tensor<5xi64>, %labels: tensor<5xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %table = nn.get_parameter @table : tensor<8x4xf32>
  %x = nn.embedding %table, %a : (tensor<8x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %s = nn.sin %x : tensor<5x4xf32>
  %y = nn.embedding %table, %b : (tensor<8x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %z = nn.mul %s, %y : tensor<5x4xf32>
  %loss = nn.linear_cross_entropy %z, %table labels %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64, transpose_weight} : (tensor<5x4xf32>, tensor<8x4xf32>, tensor<5xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// What is detached has no gradient, nor has what feeds nothing else; where gradients are stopped in some places, they are 0 there. The op is
// gone from both functions.
nn.parameter @w : tensor<3xf32> {initializer = "w", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<3xf32> {initializer = "v", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @eval
// CHECK-NOT: nn.stop_gradient
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[PAD:[a-z0-9]*]]: tensor<3xi1>
// CHECK-DAG: %[[ONE:.*]] = nn.constant dense<1.0
// CHECK-DAG: %[[ZERO:.*]] = nn.constant dense<0.0
// CHECK-NOT: nn.stop_gradient
// The gradient of w * detach(tanh(w)) is tanh(w); none goes through the tanh.
// CHECK: %[[T:.*]] = nn.tanh
// CHECK: %[[DV:.*]] = nn.select %[[PAD]], %[[ZERO]], %[[ONE]]
// CHECK: return %{{.*}}, %[[T]], %[[DV]]
func.func @model(%pad: tensor<3xi1>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<3xf32>
  %v = nn.get_parameter @v : tensor<3xf32>
  %t = nn.tanh %w : tensor<3xf32>
  %d = nn.stop_gradient %t : (tensor<3xf32>) -> tensor<3xf32>
  %m = nn.mul %w, %d : tensor<3xf32>
  %s = nn.stop_gradient %v where %pad : (tensor<3xf32>, tensor<3xi1>) -> tensor<3xf32>
  %a = nn.add %m, %s : tensor<3xf32>
  %r = nn.reduce_sum %a [0] : (tensor<3xf32>) -> tensor<1xf32>
  %loss = nn.reshape %r : (tensor<1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// What is rounded is learned as if it were not: the gradient of round(w) v is v, and round(w) is multiplied. The op is gone from both functions.
nn.parameter @w : tensor<3xf32> {initializer = "w", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<3xf32> {initializer = "v", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32, trainable}

// CHECK-LABEL: func.func @eval
// CHECK-NOT: nn.straight_through
// CHECK-LABEL: func.func @train(
// CHECK-NOT: nn.straight_through
// CHECK-DAG: %[[W:.*]] = nn.get_parameter @w
// CHECK-DAG: %[[V:.*]] = nn.get_parameter @v
// CHECK: %[[R:.*]] = nn.round %[[W]]
// CHECK: return %{{.*}}, %[[V]], %[[R]]
func.func @model(%x: tensor<3xi1>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<3xf32>
  %v = nn.get_parameter @v : tensor<3xf32>
  %q = nn.round %w : tensor<3xf32>
  %s = nn.straight_through %q to %w : tensor<3xf32>
  %m = nn.mul %s, %v : tensor<3xf32>
  %r = nn.reduce_sum %m [0] : (tensor<3xf32>) -> tensor<1xf32>
  %loss = nn.reshape %r : (tensor<1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A parameter that only a detached value reads is not trained.
// CHECK: nn.parameter @w {{.*}} trainable
// CHECK: nn.parameter @v {{.*}} stored_type = f32}
nn.parameter @w : tensor<f32> {initializer = "w", file = "", offset = 0 : i64, length = 4 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<f32> {initializer = "v", file = "", offset = 0 : i64, length = 4 : i64, stored_type = f32, trainable}
func.func @model() -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<f32>
  %v = nn.get_parameter @v : tensor<f32>
  %d = nn.stop_gradient %v : (tensor<f32>) -> tensor<f32>
  %loss = nn.mul %w, %d : tensor<f32>
  return %loss : tensor<f32>
}
