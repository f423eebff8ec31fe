// RUN: sed 's/FLOAT/f32/g' %s | shardc-opt -step-test-kernels -o /dev/null | FileCheck %s
// RUN: sed 's/FLOAT/f64/g' %s | shardc-opt -step-test-kernels -o /dev/null | FileCheck %s

// CHECK: @sums_then_gelu: 1 kernels agree
func.func @sums_then_gelu(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.add %a, %b : tensor<3x17xFLOAT>
  %1 = nn.gelu %0 : tensor<3x17xFLOAT>
  return %1 : tensor<3x17xFLOAT>
}
