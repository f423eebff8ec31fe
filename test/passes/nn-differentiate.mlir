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
