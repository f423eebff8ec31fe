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

// One key further is no causal mask.
// CHECK-LABEL: @one_key_further
// CHECK: nn.constant dense<{{.*}}> : tensor<1x1x3x3xf32>
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 bias %{{.*}} {scale
func.func @one_key_further(%q: tensor<1x3x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>) -> tensor<1x3x1x8xf32> {
  %mask = nn.constant #nn.strided<dense<[0.0, 0.0, 0.0, 0.0, -3.40282347E+38]> : tensor<5xf32>, start 2, strides [0, 0, -1, 1]> : tensor<1x1x3x3xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<1x3x1x8xf32>, tensor<1x1x3xf32>)
  return %r : tensor<1x3x1x8xf32>
}

// A window: causal, and what causal does not say is written out.
// CHECK-LABEL: @window
// CHECK: %[[B:.*]] = nn.constant dense<{{.*}}> : tensor<1x1x3x3xf32>
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 bias %[[B]] {causal, scale
func.func @window(%q: tensor<1x3x1x8xf32>, %k: tensor<1x3x1x8xf32>, %v: tensor<1x3x1x8xf32>) -> tensor<1x3x1x8xf32> {
  %mask = nn.constant #nn.strided<dense<[-3.40282347E+38, 0.0, 0.0, -3.40282347E+38, -3.40282347E+38]> : tensor<5xf32>, start 2, strides [0, 0, -1, 1]> : tensor<1x1x3x3xf32>
  %r, %s = nn.attention %q, %k, %v bias %mask {scale = 1.0 : f64} : (tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<1x3x1x8xf32>, tensor<1x1x3xf32>)
  return %r : tensor<1x3x1x8xf32>
}
