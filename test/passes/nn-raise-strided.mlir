// RUN: shardc-opt %s -nn-raise | FileCheck %s
// Masks that the importer holds as diagonals. What nn.attention can say itself is never written out.

// CHECK-LABEL: @causal
// CHECK-NEXT: %[[R:.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {causal, scale
// CHECK-NEXT: return %[[R]]
func.func @causal(%q: tensor<1x3x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>) -> tensor<1x3x1x8xf32> {
  %mask = nn.constant #nn.strided<dense<[0.0, 0.0, 0.0, -3.40282347E+38, -3.40282347E+38]> : tensor<5xf32>, start 2, strides [0, 0, -1, 1]> : tensor<1x1x3x3xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<1x3x1x8xf32>, tensor<1x1x3xf32>)
  return %r : tensor<1x3x1x8xf32>
}

// Two queries that come after two of the four keys.
// CHECK-LABEL: @fewer_queries
// CHECK-NEXT: %[[R:.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {causal, scale
// CHECK-NEXT: return %[[R]]
func.func @fewer_queries(%q: tensor<1x2x1x8xf32>, %k: tensor<1x4x1x8xf32>, %v: tensor<1x4x1x8xf32>) -> tensor<1x2x1x8xf32> {
  %seen = nn.constant #nn.strided<dense<[true, true, true, true, false]> : tensor<5xi1>, start 1, strides [0, 0, -1, 1]> : tensor<1x1x2x4xi1>
  %0 = nn.constant dense<0.0> : tensor<1x1x2x4xf32>
  %1 = nn.constant dense<0xFF800000> : tensor<1x1x2x4xf32>
  %mask = nn.select %seen, %0, %1 : (tensor<1x1x2x4xi1>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x2x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x1x2x4xf32>) -> (tensor<1x2x1x8xf32>, tensor<1x1x2xf32>)
  return %r : tensor<1x2x1x8xf32>
}

// One key further is no causal mask but a window.
// CHECK-LABEL: @one_key_further
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 {right = 1 : i64, scale
func.func @one_key_further(%q: tensor<1x3x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>) -> tensor<1x3x1x8xf32> {
  %mask = nn.constant #nn.strided<dense<[0.0, 0.0, 0.0, 0.0, -3.40282347E+38]> : tensor<5xf32>, start 2, strides [0, 0, -1, 1]> : tensor<1x1x3x3xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<1x3x1x8xf32>, tensor<1x1x3xf32>)
  return %r : tensor<1x3x1x8xf32>
}

// CHECK-LABEL: @window
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 {causal, left = 1 : i64, scale
func.func @window(%q: tensor<1x3x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>) -> tensor<1x3x1x8xf32> {
  %mask = nn.constant #nn.strided<dense<[-3.40282347E+38, 0.0, 0.0, -3.40282347E+38, -3.40282347E+38]> : tensor<5xf32>, start 2, strides [0, 0, -1, 1]> : tensor<1x1x3x3xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<1x3x1x8xf32>, tensor<1x1x3xf32>)
  return %r : tensor<1x3x1x8xf32>
}

// Two conditions, each of which says a side.
// CHECK-LABEL: @both_sides
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 {left = 1 : i64, right = 2 : i64, scale
func.func @both_sides(%q: tensor<1x4x1x8xf32>, %k: tensor<1x4x1x8xf32>, %v: tensor<1x4x1x8xf32>) -> tensor<1x4x1x8xf32> {
  %near = nn.constant #nn.strided<dense<[false, false, true, true, true, true, true]> : tensor<7xi1>, start 3, strides [0, 0, -1, 1]> : tensor<1x1x4x4xi1>
  %behind = nn.constant #nn.strided<dense<[true, true, true, true, true, true, false]> : tensor<7xi1>, start 3, strides [0, 0, -1, 1]> : tensor<1x1x4x4xi1>
  %seen = nn.and %near, %behind : tensor<1x1x4x4xi1>
  %0 = nn.constant dense<0.0> : tensor<1x1x4x4xf32>
  %1 = nn.constant dense<0xFF800000> : tensor<1x1x4x4xf32>
  %mask = nn.select %seen, %0, %1 : (tensor<1x1x4x4xi1>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x1x4x4xf32>) -> (tensor<1x4x1x8xf32>, tensor<1x1x4xf32>)
  return %r : tensor<1x4x1x8xf32>
}

// More than what the window hides: all that no window says stays.
// CHECK-LABEL: @every_other_key
// CHECK: %[[B:.*]] = nn.constant dense<{{.*}}> : tensor<1x1x3x3xf32>
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 bias %[[B]] {scale
func.func @every_other_key(%q: tensor<1x3x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>) -> tensor<1x3x1x8xf32> {
  %mask = nn.constant #nn.strided<dense<[0.0, -3.40282347E+38, 0.0, 0.0, -3.40282347E+38]> : tensor<5xf32>, start 2, strides [0, 0, -1, 1]> : tensor<1x1x3x3xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<1x3x1x8xf32>, tensor<1x1x3xf32>)
  return %r : tensor<1x3x1x8xf32>
}
