// RUN: shardc-opt %s -canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: @drops_neutral_elements
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
// CHECK-NEXT: return %[[X]] : tensor<2xf32>
func.func @drops_neutral_elements(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = nn.constant dense<0.0> : tensor<2xf32>
  %one = nn.constant dense<1.0> : tensor<2xf32>
  %a = nn.add %zero, %x : tensor<2xf32>
  %b = nn.sub %a, %zero : tensor<2xf32>
  %c = nn.mul %one, %b : tensor<2xf32>
  %d = nn.div %c, %one : tensor<2xf32>
  return %d : tensor<2xf32>
}

// A product with 0 is not 0 where the other factor is infinite.
// CHECK-LABEL: @keeps_products_with_zero
// CHECK: nn.mul
func.func @keeps_products_with_zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = nn.constant dense<0.0> : tensor<2xf32>
  %a = nn.mul %x, %zero : tensor<2xf32>
  return %a : tensor<2xf32>
}

// CHECK-LABEL: @selects_at_compile_time
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2xf32>, %[[Y:[^:]*]]: tensor<2xf32>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[X]]
func.func @selects_at_compile_time(%x: tensor<2xf32>, %y: tensor<2xf32>, %c: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = nn.constant dense<true> : tensor<2xi1>
  %false = nn.constant dense<false> : tensor<2xi1>
  %a = nn.select %true, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = nn.select %false, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %same = nn.select %c, %x, %x : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %a, %b, %same : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @casts_constants
// CHECK-DAG: nn.constant dense<[1, -1, 0]> : tensor<3xi64>
// CHECK-DAG: nn.constant dense<[true, true, false]> : tensor<3xi1>
// CHECK-DAG: nn.constant dense<1.000000e-01> : tensor<3xf64>
// CHECK-NOT: nn.cast
func.func @casts_constants() -> (tensor<3xi64>, tensor<3xi1>, tensor<3xf64>) {
  %c = nn.constant dense<[1.9, -1.9, 0.0]> : tensor<3xf32>
  %i = nn.cast %c : (tensor<3xf32>) -> tensor<3xi64>
  %b = nn.cast %c : (tensor<3xf32>) -> tensor<3xi1>
  %d = nn.constant dense<0.1> : tensor<3xf64>
  %same = nn.cast %d : (tensor<3xf64>) -> tensor<3xf64>
  return %i, %b, %same : tensor<3xi64>, tensor<3xi1>, tensor<3xf64>
}
