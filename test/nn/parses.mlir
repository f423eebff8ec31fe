// RUN: shardc-opt %s | FileCheck %s
// CHECK-LABEL: @prints_what_it_parses
func.func @prints_what_it_parses(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: nn.gelu %{{.*}} {tanh} : tensor<2x3xf32>
  %0 = nn.gelu %a {tanh} : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
