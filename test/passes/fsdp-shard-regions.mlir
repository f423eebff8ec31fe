// Two forwards of one model: a unit is gathered anew for each, so that one is held at a time. A table that is used before and
// after what is used once stays from its first use to its last.
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 reshard=always" --fsdp-shard=prefetch=0 --fsdp-verify --split-input-file | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units="mesh=4 reshard=2" --fsdp-shard --fsdp-verify --split-input-file | FileCheck %s --check-prefix=SLICE
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 reshard=never" --fsdp-shard --fsdp-verify --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=opt" --fsdp-shard --fsdp-verify --split-input-file | FileCheck %s --check-prefix=OPT

// CHECK-LABEL: func.func @train(%arg0: tensor<2x4xf32>)
// CHECK: fsdp.all_gather_start @a
// CHECK: fsdp.release @a
// CHECK: fsdp.all_gather_start @b
// CHECK: fsdp.release @b
// CHECK: fsdp.all_gather_start @c
// CHECK: fsdp.release @c
// CHECK: fsdp.all_gather_start @a
// CHECK: fsdp.release @a
// CHECK: fsdp.all_gather_start @b
// CHECK: fsdp.release @b
// CHECK: fsdp.all_gather_start @c
// CHECK: fsdp.release @c
// CHECK-NOT: fsdp.all_gather_start

// SLICE-LABEL: func.func @train(%arg0: tensor<2x4xf32>)
// SLICE-COUNT-6: fsdp.all_gather_start
// SLICE-NOT: fsdp.all_gather_start
// NEVER-LABEL: func.func @train(%arg0: tensor<2x4xf32>)
// NEVER-COUNT-3: fsdp.all_gather_start
// NEVER-NOT: fsdp.all_gather_start
// OPT-LABEL: func.func @train(%arg0: tensor<2x4xf32>)
// OPT-COUNT-3: fsdp.resident
// OPT-NOT: fsdp.all_gather_start
nn.parameter @a : tensor<4x4xf32> {nn.unit = "a", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @b : tensor<4x4xf32> {nn.unit = "b", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @c : tensor<4x4xf32> {nn.unit = "c", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
func.func @train(%x: tensor<2x4xf32>) -> tensor<f32> {
  %a = nn.get_parameter @a : tensor<4x4xf32>
  %b = nn.get_parameter @b : tensor<4x4xf32>
  %c = nn.get_parameter @c : tensor<4x4xf32>
  %0 = nn.linear %x, %a : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = nn.linear %0, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = nn.linear %1, %c : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = nn.linear %2, %a : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %4 = nn.linear %3, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %5 = nn.linear %4, %c : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %sum = nn.reduce_sum %5 [0, 1] : (tensor<2x4xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %sum : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// SLICE-LABEL: func.func @train(%arg0: tensor<3x4xf32>)
// NEVER-LABEL: func.func @train(%arg0: tensor<3x4xf32>)
// OPT-LABEL: func.func @train(%arg0: tensor<3x4xf32>)
// CHECK-LABEL: func.func @train(%arg0: tensor<3x4xf32>)
// CHECK: fsdp.all_gather_start @a
// CHECK-NOT: fsdp.release @a
// CHECK: fsdp.all_gather_start @b
// CHECK: fsdp.release @b
// CHECK: fsdp.all_gather_start @c
// CHECK: fsdp.release @c
// CHECK: nn.linear
// CHECK: fsdp.release @a
// CHECK-NOT: fsdp.all_gather_start
nn.parameter @a : tensor<4x4xf32> {nn.unit = "a", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @b : tensor<4x4xf32> {nn.unit = "b", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @c : tensor<4x4xf32> {nn.unit = "c", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
func.func @train(%x: tensor<3x4xf32>) -> tensor<f32> {
  %a = nn.get_parameter @a : tensor<4x4xf32>
  %b = nn.get_parameter @b : tensor<4x4xf32>
  %c = nn.get_parameter @c : tensor<4x4xf32>
  %0 = nn.linear %x, %a : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %1 = nn.linear %0, %b : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %2 = nn.linear %1, %c : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %3 = nn.linear %2, %a : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %sum = nn.reduce_sum %3 [0, 1] : (tensor<3x4xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %sum : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
