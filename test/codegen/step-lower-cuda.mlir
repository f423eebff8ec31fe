// What kernels of a GPU load 16 bytes at a time lies at multiples of that: buffers that are whole on every rank, too.
// RUN: shardc-opt %s -step-lower=target=cuda:sm_90 | FileCheck %s
// RUN: shardc-opt %s -step-lower | FileCheck %s --check-prefix=CPU

nn.parameter @a : tensor<3xf32> {initializer = "a", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32}
nn.parameter @b : tensor<5xf32> {initializer = "b", file = "", offset = 12 : i64, length = 20 : i64, stored_type = f32}
nn.parameter @c : tensor<1xf64> {initializer = "c", file = "", offset = 32 : i64, length = 8 : i64, stored_type = f64}
module @kernels { func.func private @k(tensor<3xf32>, tensor<5xf32>, tensor<1xf64>) -> tensor<f32> }
// CHECK: fsdp.unit @resident.f32 {{.*}}elements = 12 : i64, {{.*}}offsets = array<i64: 0, 4>, {{.*}}padding = 4 : i64
// CHECK: fsdp.unit @resident.f64 {{.*}}elements = 2 : i64, {{.*}}offsets = array<i64: 0>, {{.*}}padding = 1 : i64
// CPU: fsdp.unit @resident.f32 {{.*}}elements = 8 : i64, {{.*}}offsets = array<i64: 0, 3>, {{.*}}padding = 0 : i64
// CHECK-NOT: step.copy
func.func @eval(%x: tensor<2xf32> {nn.name = "x", nn.role = "input"}) {
  %a = nn.get_parameter @a : tensor<3xf32>
  %b = nn.get_parameter @b : tensor<5xf32>
  %c = nn.get_parameter @c : tensor<1xf64>
  %s = step.call @kernels::@k(%a, %b, %c) : (tensor<3xf32>, tensor<5xf32>, tensor<1xf64>) -> tensor<f32>
  fsdp.metric "loss" %s : tensor<f32>
  return
}
