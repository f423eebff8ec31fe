// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat | FileCheck %s
// RUN: shardc-opt %s -nn-differentiate -canonicalize -cse -nn-remat=policy=all | FileCheck %s --check-prefix=ALL

// Four gated layers whose products are small: making all four products of silu and up again would take more than 1 % of the step, and at
// one price all of them or none would be. Silu runs again everywhere, as part of a kernel that reads what it reads; the products, for
// which memory is read and written, in the first two layers, which backward comes to last.
// CHECK: module attributes {nn.remat = {kept_bytes = 46137344 : i64, policy = "cheap", read_bytes = 71303168 : i64,
// CHECK-SAME: recomputed_bytes = 58720256 : i64, recomputed_flops = 23068672 : i64, recomputed_seconds = 0.00161{{[0-9]+}} : f64, step_seconds = 0.190{{[0-9]+}} : f64}}
// CHECK-LABEL: func.func @train
// CHECK-COUNT-4: nn.mul {{.*}} : tensor<1024x1024xf32>
// CHECK: nn.cross_entropy_grad
// CHECK-NOT: nn.recomputed
// CHECK: %[[S3:.*]] = nn.silu %{{.*}} {nn.recomputed}
// CHECK-NEXT: nn.mul %{{.*}}, %[[S3]] :
// CHECK-NOT: nn.recomputed
// CHECK: %[[S2:.*]] = nn.silu %{{.*}} {nn.recomputed}
// CHECK-NEXT: nn.mul %{{.*}}, %[[S2]] :
// CHECK-NOT: nn.recomputed
// CHECK: %[[S1:.*]] = nn.silu %{{.*}} {nn.recomputed}
// CHECK-NEXT: nn.mul %[[S1]], %{{.*}} {nn.recomputed}
// CHECK: nn.silu %{{.*}} {nn.recomputed}
// CHECK: nn.silu %{{.*}} {nn.recomputed}
// CHECK-NEXT: nn.mul %{{.*}} {nn.recomputed}
// CHECK: nn.silu %{{.*}} {nn.recomputed}
// CHECK-NOT: nn.recomputed

// Without the bound all four run again.
// ALL: module attributes {nn.remat = {kept_bytes = 37748736 : i64, policy = "all"
// ALL: nn.cross_entropy_grad
// ALL-COUNT-4: nn.mul {{.*}} {nn.recomputed}
nn.parameter @l0.gate : tensor<1024x256xf32> {initializer = "l0.gate", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l0.up : tensor<1024x256xf32> {initializer = "l0.up", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l0.down : tensor<256x1024xf32> {initializer = "l0.down", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l1.gate : tensor<1024x256xf32> {initializer = "l1.gate", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l1.up : tensor<1024x256xf32> {initializer = "l1.up", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l1.down : tensor<256x1024xf32> {initializer = "l1.down", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l2.gate : tensor<1024x256xf32> {initializer = "l2.gate", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l2.up : tensor<1024x256xf32> {initializer = "l2.up", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l2.down : tensor<256x1024xf32> {initializer = "l2.down", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l3.gate : tensor<1024x256xf32> {initializer = "l3.gate", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l3.up : tensor<1024x256xf32> {initializer = "l3.up", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
nn.parameter @l3.down : tensor<256x1024xf32> {initializer = "l3.down", file = "", offset = 0 : i64, length = 1048576 : i64, stored_type = f32, trainable}
func.func @model(%x0: tensor<1024x256xf32>, %labels: tensor<1024xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %wgate0 = nn.get_parameter @l0.gate : tensor<1024x256xf32>
  %wup0 = nn.get_parameter @l0.up : tensor<1024x256xf32>
  %wdown0 = nn.get_parameter @l0.down : tensor<256x1024xf32>
  %gate0 = nn.linear %x0, %wgate0 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %up0 = nn.linear %x0, %wup0 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %s0 = nn.silu %gate0 : tensor<1024x1024xf32>
  %h0 = nn.mul %s0, %up0 : tensor<1024x1024xf32>
  %x1 = nn.linear %h0, %wdown0 {transpose_weight} : (tensor<1024x1024xf32>, tensor<256x1024xf32>) -> tensor<1024x256xf32>
  %wgate1 = nn.get_parameter @l1.gate : tensor<1024x256xf32>
  %wup1 = nn.get_parameter @l1.up : tensor<1024x256xf32>
  %wdown1 = nn.get_parameter @l1.down : tensor<256x1024xf32>
  %gate1 = nn.linear %x1, %wgate1 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %up1 = nn.linear %x1, %wup1 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %s1 = nn.silu %gate1 : tensor<1024x1024xf32>
  %h1 = nn.mul %s1, %up1 : tensor<1024x1024xf32>
  %x2 = nn.linear %h1, %wdown1 {transpose_weight} : (tensor<1024x1024xf32>, tensor<256x1024xf32>) -> tensor<1024x256xf32>
  %wgate2 = nn.get_parameter @l2.gate : tensor<1024x256xf32>
  %wup2 = nn.get_parameter @l2.up : tensor<1024x256xf32>
  %wdown2 = nn.get_parameter @l2.down : tensor<256x1024xf32>
  %gate2 = nn.linear %x2, %wgate2 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %up2 = nn.linear %x2, %wup2 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %s2 = nn.silu %gate2 : tensor<1024x1024xf32>
  %h2 = nn.mul %s2, %up2 : tensor<1024x1024xf32>
  %x3 = nn.linear %h2, %wdown2 {transpose_weight} : (tensor<1024x1024xf32>, tensor<256x1024xf32>) -> tensor<1024x256xf32>
  %wgate3 = nn.get_parameter @l3.gate : tensor<1024x256xf32>
  %wup3 = nn.get_parameter @l3.up : tensor<1024x256xf32>
  %wdown3 = nn.get_parameter @l3.down : tensor<256x1024xf32>
  %gate3 = nn.linear %x3, %wgate3 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %up3 = nn.linear %x3, %wup3 {transpose_weight} : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x1024xf32>
  %s3 = nn.silu %gate3 : tensor<1024x1024xf32>
  %h3 = nn.mul %s3, %up3 : tensor<1024x1024xf32>
  %x4 = nn.linear %h3, %wdown3 {transpose_weight} : (tensor<1024x1024xf32>, tensor<256x1024xf32>) -> tensor<1024x256xf32>
  %loss = nn.cross_entropy %x4, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<1024x256xf32>, tensor<1024xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
