// RUN: shardc-opt %s -nn-precision=precision=float64 | FileCheck %s
// RUN: shardc-opt %s -nn-precision | FileCheck %s --check-prefix=F32
// RUN: not shardc-opt %s -nn-precision=precision=int8 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: --precision: expects float32 or float64, got 'int8'

// The file keeps its float32; the run computes in float64.
// CHECK: nn.parameter @w : tensor<4x4xf64> {{.*}}stored_type = f32
// F32: nn.parameter @w : tensor<4x4xf32>
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32}

// CHECK-LABEL: func.func @converts_all_floats_and_no_integer(
// CHECK-SAME: tensor<4xf64>, %{{.*}}: tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi64>)
// F32-LABEL: func.func @converts_all_floats_and_no_integer(
// F32-SAME: tensor<4xf32>
func.func @converts_all_floats_and_no_integer(%x: tensor<4xf16>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  // A constant keeps its float32 value, not the decimal that it was rounded from.
  // CHECK: dense<0.1000000014901161{{.*}}> : tensor<4xf64>
  // F32: dense<1.000000e-01> : tensor<4xf32>
  %c = nn.constant dense<0.1> : tensor<4xf32>
  // The cast between floats is gone.
  // CHECK-NOT: nn.cast
  // F32: nn.add %arg0
  %0 = nn.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK: nn.add %{{.*}}, %{{.*}} : tensor<4xf64>
  %1 = nn.add %0, %c : tensor<4xf32>
  // CHECK: nn.cast %{{.*}} : (tensor<4xi64>) -> tensor<4xf64>
  %2 = nn.cast %i : (tensor<4xi64>) -> tensor<4xf32>
  %3 = nn.mul %1, %2 : tensor<4xf32>
  return %3, %i : tensor<4xf32>, tensor<4xi64>
}
