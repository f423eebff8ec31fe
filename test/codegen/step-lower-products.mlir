// Weights and gradients that lie one behind the other are one matrix; others are copied, or have a product each. Residuals and
// bias gradients are operands of the product.
// RUN: shardc-opt %s -step-lower=target=cuda:sm_90 -split-input-file | FileCheck %s

nn.parameter @a : tensor<4x8xf32> {trainable, initializer = "a", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32}
nn.parameter @b : tensor<8x8xf32> {trainable, initializer = "b", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
nn.parameter @p : tensor<4xf32> {trainable, initializer = "p", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32}
nn.parameter @r : tensor<8xf32> {trainable, initializer = "r", file = "", offset = 0 : i64, length = 32 : i64, stored_type = f32}
fsdp.mesh @mesh {dims = array<i64: 1>, names = ["shard"], optimizer_dims = array<i64: 0>, shard_dims = array<i64: 0>, strategy = "full"}
fsdp.unit @u {element_type = f32, elements = 108 : i64, gradient_type = f32, master_type = f32, offsets = array<i64: 0, 32, 96, 100>, optimizer_shards = 1 : i64, padding = 0 : i64, parameters = [@a, @b, @p, @r], reason = "", reshard = 1 : i64, shards = 1 : i64}
module @kernels {}
// CHECK-LABEL: step.program "train"
// CHECK-NOT: step.copy
// CHECK: %[[W:.*]] = step.view %{{.*}}[0] : memref<12x8xf32>
// CHECK: %[[B:.*]] = step.view %{{.*}}[384] : memref<12xf32>
// CHECK: step.gemm %{{.*}}, %[[W]] bias %[[B]] into %{{.*}} {{.*}}transpose_b} : (memref<6x8xf32>, memref<12x8xf32>, memref<12xf32>, memref<6x12xf32>, memref<33554432xui8>) -> ()
// CHECK: step.gemm {{.*}} : (memref<6x12xf32>, memref<12x8xf32>, memref<6x8xf32>, memref<33554432xui8>) -> ()
// CHECK: step.gemm %{{.*}}, %{{.*}} residual %{{.*}} into %{{.*}} : (memref<6x8xf32>, memref<8x8xf32>, memref<6x8xf32>, memref<6x8xf32>, memref<33554432xui8>) -> ()
// CHECK: %[[DW:.*]] = step.view %[[FLAT:.*]][0] : memref<12x8xf32>
// CHECK: %[[DB:.*]] = step.view %[[FLAT]][384] : memref<12xf32>
// CHECK: step.gemm %{{.*}}, %{{.*}} into %[[DW]] bias_gradient %[[DB]] workspace %{{.*}} {gradient_of_a, {{.*}}transpose_a} : (memref<6x12xf32>, memref<6x8xf32>, memref<12x8xf32>, memref<12xf32>, memref<33554432xui8>) -> ()
// CHECK-NOT: step.copy
func.func @train(%x: tensor<2x3x8xf32> {nn.name = "x", nn.role = "input"}) {
  %w:4 = fsdp.resident @u : tensor<4x8xf32>, tensor<8x8xf32>, tensor<4xf32>, tensor<8xf32>
  %y = nn.stacked_linear %x weights(%w#0, %w#1) biases(%w#2, %w#3) {transpose_weight} : (tensor<2x3x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<2x3x12xf32>
  %0 = nn.stacked_linear %y weights(%w#0, %w#1) : (tensor<2x3x12xf32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  %z = nn.linear %0, %w#1 residual %x : (tensor<2x3x8xf32>, tensor<8x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %g:4 = nn.stacked_linear_weight_grad %y, %z {biases} : (tensor<2x3x12xf32>, tensor<2x3x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4xf32>, tensor<8xf32>)
  %flat = fsdp.flat_gradients @u(%g#0, %g#1, %g#2, %g#3) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<108xf32>
  %n = fsdp.gradient_norm %flat : (tensor<108xf32>) -> tensor<68xi64>
  %norm = fsdp.round_sum %n norm : tensor<68xi64> -> tensor<f64>
  fsdp.metric "norm" %norm : tensor<f64>
  return
}

// -----

// The weights lie in another order than they are read.
nn.parameter @a : tensor<4x8xf32> {trainable, initializer = "a", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32}
nn.parameter @b : tensor<8x8xf32> {trainable, initializer = "b", file = "", offset = 0 : i64, length = 256 : i64, stored_type = f32}
module @kernels {}
// CHECK-LABEL: step.program "eval"
// CHECK: step.copy
// CHECK: step.copy
// CHECK: step.gemm {{.*}} : (memref<3x8xf32>, memref<12x8xf32>, memref<3x12xf32>, memref<33554432xui8>) -> ()
// Gradients that have no place are products of parts of the columns.
// CHECK: step.gemm {{.*}}transpose_a} : (memref<3x8xf32, strided<[12, 1]{{.*}}>>, memref<3x8xf32>, memref<8x8xf32>, memref<33554432xui8>) -> ()
// CHECK: step.gemm {{.*}}transpose_a} : (memref<3x4xf32, strided<[12, 1]{{.*}}>>, memref<3x8xf32>, memref<4x8xf32>, memref<33554432xui8>) -> ()
func.func @eval(%x: tensor<3x8xf32> {nn.name = "x", nn.role = "input"}) {
  %a = nn.get_parameter @a : tensor<4x8xf32>
  %b = nn.get_parameter @b : tensor<8x8xf32>
  %y = nn.stacked_linear %x weights(%b, %a) {transpose_weight} : (tensor<3x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<3x12xf32>
  %g:2 = nn.stacked_linear_weight_grad %y, %x : (tensor<3x12xf32>, tensor<3x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>)
  fsdp.outputs ["b", "a"] %g#0, %g#1 : tensor<8x8xf32>, tensor<4x8xf32>
  return
}
