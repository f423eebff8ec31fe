// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=unit mesh=2" | FileCheck %s
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=time=5 mesh=2" | FileCheck %s --check-prefix=CHEAP
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=time=0.3 mesh=2" | FileCheck %s --check-prefix=DEAR
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse "-nn-remat=policy=unit mesh=2 strategy=none" | FileCheck %s --check-prefix=WHOLE

// Backward does not read the positions, but what runs again does: their unit is gathered for that alone, which takes time of its own.
// CHECK: module attributes {nn.remat = {kept_bytes = 18874368 : i64, policy = "unit"
// CHECK-SAME: regathered_units = 1 : i64
// CHECK-LABEL: func.func @train
// CHECK: nn.cross_entropy_grad
// CHECK: %[[B:.*]] = nn.add %{{.*}}, %{{.*}} {nn.recomputed}
// CHECK: nn.cos %[[B]] {nn.recomputed}
// CHEAP: regathered_units = 1 : i64
// DEAR-NOT: regathered_units
// DEAR: nn.cos {{.*}}nn.recomputed
// Where every rank has all parameters, nothing is gathered.
// WHOLE: kept_bytes = 18874368 : i64
// WHOLE-NOT: regathered_units
// WHOLE: nn.add {{.*}}nn.recomputed
nn.parameter @position : tensor<1024x512xf32> {nn.unit = "positions", initializer = "a", file = "", offset = 0 : i64, length = 2097152 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<4096x512xf32> {nn.unit = "head", initializer = "b", file = "", offset = 0 : i64, length = 8388608 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<512x512xf32> {nn.unit = "first", initializer = "c", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<1024x512xf32>, %labels: tensor<1024xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %v = nn.get_parameter @v : tensor<512x512xf32>
  %p = nn.get_parameter @position : tensor<1024x512xf32>
  %a = nn.linear %x, %v {transpose_weight} : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %b = nn.add %a, %p : tensor<1024x512xf32>
  %c = nn.cos %b : tensor<1024x512xf32>
  %d = nn.mul %c, %a : tensor<1024x512xf32>
  %w = nn.get_parameter @w : tensor<4096x512xf32>
  %y = nn.linear %d, %w {transpose_weight} : (tensor<1024x512xf32>, tensor<4096x512xf32>) -> tensor<1024x4096xf32>
  %loss = nn.cross_entropy %y, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1024x4096xf32>, tensor<1024xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
