// A reduction of twice the next one's elements ends before the next one's first gradient is made, others when the next but one begins.
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard --fsdp-verify | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units=mesh=2x2 --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=HYBRID

// CHECK-LABEL: func.func @train
// CHECK: %[[S2:.*]] = fsdp.reduce_scatter_start @layers.2
// CHECK-NOT: nn.reduce_sum
// CHECK: nn.linear
// CHECK-NEXT: fsdp.release @layers.2
// CHECK-NEXT: fsdp.reduce_scatter_wait %[[S2]]
// CHECK-NEXT: nn.reduce_sum
// CHECK: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1
// CHECK: nn.linear
// CHECK-NEXT: fsdp.release
// CHECK-NEXT: nn.reduce_sum
// CHECK: %[[S0:.*]] = fsdp.reduce_scatter_start @layers.0
// CHECK-NOT: fsdp.reduce_scatter_start
// CHECK: fsdp.reduce_scatter_wait %[[S1]]
// CHECK: fsdp.reduce_scatter_wait %[[S0]]
// CHECK-NOT: fsdp.reduce_scatter_wait

// The reduction over the other dimension begins as early, and ends as late as ever.
// HYBRID-LABEL: func.func @train
// HYBRID: fsdp.reduce_scatter_start @layers.2
// HYBRID: fsdp.release @layers.2
// HYBRID-NEXT: fsdp.reduce_scatter_wait
// HYBRID-NEXT: %[[A2:.*]] = fsdp.all_reduce_gradients_start @layers.2
// HYBRID: nn.reduce_sum
// HYBRID: fsdp.reduce_scatter_start @layers.0
// HYBRID: fsdp.all_reduce_gradients_wait %[[A2]]

nn.parameter @layers.0.weight : tensor<4x4xf32> {nn.unit = "layers.0", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @layers.0.bias : tensor<4xf32> {nn.unit = "layers.0", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.weight : tensor<4x4xf32> {nn.unit = "layers.1", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @layers.1.bias : tensor<4xf32> {nn.unit = "layers.1", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.2.weight : tensor<4x4xf32> {nn.unit = "layers.2", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
func.func @train(%x0: tensor<2x4xf32>) -> (tensor<f32>, tensor<4x4xf32> {nn.gradient_of = @layers.2.weight}, tensor<4xf32> {nn.gradient_of = @layers.1.bias}, tensor<4xf32> {nn.gradient_of = @layers.0.bias}) {
  %w0 = nn.get_parameter @layers.0.weight : tensor<4x4xf32>
  %b0 = nn.get_parameter @layers.0.bias : tensor<4xf32>
  %w1 = nn.get_parameter @layers.1.weight : tensor<4x4xf32>
  %b1 = nn.get_parameter @layers.1.bias : tensor<4xf32>
  %w2 = nn.get_parameter @layers.2.weight : tensor<4x4xf32>
  %x1 = nn.linear %x0, %w0, %b0 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %x2 = nn.linear %x1, %w1, %b1 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %x3 = nn.linear %x2, %w2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %s = nn.reduce_sum %x3 [0, 1] : (tensor<2x4xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %s : (tensor<1x1xf32>) -> tensor<f32>
  %one = nn.constant dense<1.0> : tensor<1x1xf32>
  %dx3 = nn.broadcast %one : (tensor<1x1xf32>) -> tensor<2x4xf32>
  %dw2 = nn.linear_weight_grad %x2, %dx3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %dx2 = nn.linear %dx3, %w2 {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %db1k = nn.reduce_sum %dx2 [0] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %db1 = nn.reshape %db1k : (tensor<1x4xf32>) -> tensor<4xf32>
  %dx1 = nn.linear %dx2, %w1 {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %db0k = nn.reduce_sum %dx1 [0] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %db0 = nn.reshape %db0k : (tensor<1x4xf32>) -> tensor<4xf32>
  return %loss, %dw2, %db1, %db0 : tensor<f32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>
}
