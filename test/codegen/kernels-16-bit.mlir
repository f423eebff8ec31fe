// 16-bit elements in kernels beside float32: casts between all floats, statistics and sums that stay float32, and chains whose
// intermediate values are rounded whether or not they are stored. Fused or not, results have the same bits.
// RUN: shardc-opt %s -test-step-kernels=compare-unfused=true -o /dev/null | FileCheck %s
// RUN: shardc-opt %s -test-step-kernels="compare-unfused=true cpu=x86-64-v3" -o /dev/null | FileCheck %s
// RUN: shardc-opt %s -test-step-kernels="compare-unfused=true cpu=x86-64" -o /dev/null | FileCheck %s

// CHECK: @casts: {{[0-9]+}} kernels agree, and 12 unfused ones
func.func @casts(%a: tensor<3x17xf32>, %b: tensor<3x17xbf16>, %c: tensor<3x17xf16>, %d: tensor<3x17xf64>)
    -> (tensor<3x17xbf16>, tensor<3x17xf16>, tensor<3x17xf64>, tensor<3x17xf32>, tensor<3x17xf16>, tensor<3x17xf64>, tensor<3x17xf32>, tensor<3x17xbf16>, tensor<3x17xf64>, tensor<3x17xf32>, tensor<3x17xbf16>, tensor<3x17xf16>) {
  %0 = nn.cast %a : (tensor<3x17xf32>) -> tensor<3x17xbf16>
  %1 = nn.cast %a : (tensor<3x17xf32>) -> tensor<3x17xf16>
  %2 = nn.cast %a : (tensor<3x17xf32>) -> tensor<3x17xf64>
  %3 = nn.cast %b : (tensor<3x17xbf16>) -> tensor<3x17xf32>
  %4 = nn.cast %b : (tensor<3x17xbf16>) -> tensor<3x17xf16>
  %5 = nn.cast %b : (tensor<3x17xbf16>) -> tensor<3x17xf64>
  %6 = nn.cast %c : (tensor<3x17xf16>) -> tensor<3x17xf32>
  %7 = nn.cast %c : (tensor<3x17xf16>) -> tensor<3x17xbf16>
  %8 = nn.cast %c : (tensor<3x17xf16>) -> tensor<3x17xf64>
  %9 = nn.cast %d : (tensor<3x17xf64>) -> tensor<3x17xf32>
  %10 = nn.cast %d : (tensor<3x17xf64>) -> tensor<3x17xbf16>
  %11 = nn.cast %d : (tensor<3x17xf64>) -> tensor<3x17xf16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<3x17xbf16>, tensor<3x17xf16>, tensor<3x17xf64>, tensor<3x17xf32>, tensor<3x17xf16>, tensor<3x17xf64>, tensor<3x17xf32>, tensor<3x17xbf16>, tensor<3x17xf64>, tensor<3x17xf32>, tensor<3x17xbf16>, tensor<3x17xf16>
}

// The residual's sum is rounded before the norm reads it, also in one kernel that does not store it; the norm's statistics are not.
// CHECK: @residual_norm: 1 kernels agree, and 4 unfused ones
func.func @residual_norm(%x: tensor<37x200xbf16>, %r: tensor<37x200xbf16>, %g: tensor<200xbf16>) -> (tensor<37x200xbf16>, tensor<37x1xf32>) {
  %0 = nn.add %x, %r : tensor<37x200xbf16>
  %y, %s = nn.rms_norm %0, %g {epsilon = 1.0e-5 : f64} : (tensor<37x200xbf16>, tensor<200xbf16>) -> (tensor<37x200xbf16>, tensor<37x1xf32>)
  %1 = nn.silu %y : tensor<37x200xbf16>
  %2 = nn.mul %1, %x : tensor<37x200xbf16>
  return %2, %s : tensor<37x200xbf16>, tensor<37x1xf32>
}

// Rows whose last vector has one lane: nothing is written behind it.
// CHECK: @rows_of_one_lane_more: 1 kernels agree, and 2 unfused ones
func.func @rows_of_one_lane_more(%x: tensor<5x81xbf16>, %g: tensor<81xbf16>) -> (tensor<5x81xbf16>, tensor<5x81xbf16>) {
  %y, %s = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<5x81xbf16>, tensor<81xbf16>) -> (tensor<5x81xbf16>, tensor<5x1xf32>)
  %z = nn.softmax %y : tensor<5x81xbf16>
  return %y, %z : tensor<5x81xbf16>, tensor<5x81xbf16>
}
// CHECK: @integer_rows_of_one_lane_more: 1 kernels agree
func.func @integer_rows_of_one_lane_more(%x: tensor<5x81xi64>) -> (tensor<5x81xi32>, tensor<5x1xi64>) {
  %0 = nn.reduce_sum %x [1] : (tensor<5x81xi64>) -> tensor<5x1xi64>
  %1 = nn.broadcast %0 : (tensor<5x1xi64>) -> tensor<5x81xi64>
  %2 = nn.add %x, %1 : tensor<5x81xi64>
  %3 = nn.cast %2 : (tensor<5x81xi64>) -> tensor<5x81xi32>
  return %3, %0 : tensor<5x81xi32>, tensor<5x1xi64>
}
