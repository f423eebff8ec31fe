// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=unit" | FileCheck %s --check-prefix=APART
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=unit fuses-sums=true" | FileCheck %s
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=class:elementwise,activation fuses-sums=true" | FileCheck %s --check-prefix=ALONE

// Where the library adds silu's result to the product, it has to be in memory when the two run again, as it is in forward: silu's
// result is kept, since a kernel that is read once would not be. The product and its sum run again together.
// APART-LABEL: func.func @train
// APART: nn.cross_entropy_grad
// APART: %[[A:.*]] = nn.silu {{.*}}nn.recomputed
// APART: %[[P:.*]] = nn.linear %[[A]], {{.*}}nn.recomputed
// APART: nn.add %[[P]], %[[A]] {nn.recomputed}

// CHECK-LABEL: func.func @train
// CHECK: %[[A:.*]] = nn.silu
// CHECK: nn.cross_entropy_grad
// CHECK-NOT: nn.silu {{.*}}nn.recomputed
// CHECK: %[[P:.*]] = nn.linear %[[A]], {{.*}}nn.recomputed
// CHECK: nn.add %[[P]], %[[A]] {nn.recomputed}
// CHECK-NOT: nn.silu {{.*}}nn.recomputed

// A sum whose product does not run again is kept.
// ALONE-LABEL: func.func @train
// ALONE-NOT: nn.add {{.*}}nn.recomputed
nn.parameter @v : tensor<512x512xf32> {nn.unit = "first", initializer = "a", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @u : tensor<512x512xf32> {nn.unit = "first", initializer = "b", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<4096x512xf32> {nn.unit = "head", initializer = "c", file = "", offset = 0 : i64, length = 8388608 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<1024x512xf32>, %labels: tensor<1024xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %v = nn.get_parameter @v : tensor<512x512xf32>
  %u = nn.get_parameter @u : tensor<512x512xf32>
  %w = nn.get_parameter @w : tensor<4096x512xf32>
  %z = nn.linear %x, %v {transpose_weight} : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %a = nn.silu %z : tensor<1024x512xf32>
  %p = nn.linear %a, %u {transpose_weight} : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %s = nn.add %p, %a : tensor<1024x512xf32>
  %c = nn.cos %s : tensor<1024x512xf32>
  %y = nn.linear %c, %w {transpose_weight} : (tensor<1024x512xf32>, tensor<4096x512xf32>) -> tensor<1024x4096xf32>
  %loss = nn.cross_entropy %y, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1024x4096xf32>, tensor<1024xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
