// RUN: shardc-opt %s -step-outline-kernels | FileCheck %s

// One kernel for a chain; the sum in between is read by nothing else and is not stored.
// CHECK-LABEL: @fuses_a_chain
func.func @fuses_a_chain(%a: tensor<3x17xf32>, %b: tensor<3x17xf32>) -> tensor<3x17xf32> {
  // CHECK-NEXT: step.launch @kernels::@[[CHAIN:add_gelu_[0-9a-f]+]](%arg0, %arg1) : (tensor<3x17xf32>, tensor<3x17xf32>) -> tensor<3x17xf32>
  // CHECK-NEXT: return
  %0 = nn.add %a, %b : tensor<3x17xf32>
  %1 = nn.gelu %0 : tensor<3x17xf32>
  return %1 : tensor<3x17xf32>
}

// CHECK-LABEL: @builds_equal_bodies_once
func.func @builds_equal_bodies_once(%c: tensor<3x17xf32>) -> tensor<3x17xf32> {
  // CHECK-NEXT: step.launch @kernels::@[[CHAIN]](%arg0, %arg0)
  %0 = nn.add %c, %c : tensor<3x17xf32>
  %1 = nn.gelu %0 : tensor<3x17xf32>
  return %1 : tensor<3x17xf32>
}
