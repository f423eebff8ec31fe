// RUN: shardc-opt %s -nn-raise | FileCheck %s
// What drops probabilities becomes attention's; what it is not drawn for alone stays.

// CHECK-LABEL: @dropped_probabilities
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {rate = 1.000000e-01 : f64, scale = 0.35355339059327373 : f64, site = 2 : i64}
// CHECK-NEXT: return %[[R]]
func.func @dropped_probabilities(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.matmul %0, %1 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x4x4xf32>
  %6 = nn.softmax %5 : tensor<2x2x4x4xf32>
  %7 = nn.dropout %6 {rate = 0.1 : f64, site = 2 : i64} : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %8 = nn.matmul %7, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %9 = nn.transpose %8 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %9 : tensor<2x4x2x8xf32>
}

// Behind a cast, over heads and batch in one dim, with a mask of keys that is told from a bias later on.
// CHECK-LABEL: @behind_views
// CHECK: nn.attention {{.*}} key_mask %{{.*}} {rate = 5.000000e-01 : f64, scale = 1.000000e+00 : f64, site = 0 : i64}
// CHECK-NOT: nn.dropout
func.func @behind_views(%q: tensor<4x4x8xf32>, %k: tensor<4x8x4xf32>, %v: tensor<4x4x8xf16>, %mask: tensor<2x4xi1>) -> tensor<4x4x8xf16> {
  %0 = nn.matmul %q, %k : (tensor<4x4x8xf32>, tensor<4x8x4xf32>) -> tensor<4x4x4xf32>
  %1 = nn.reshape %0 : (tensor<4x4x4xf32>) -> tensor<2x2x4x4xf32>
  %2 = nn.reshape %mask : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %3 = nn.broadcast %2 : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
  %4 = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %5 = nn.select %3, %1, %4 : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %6 = nn.softmax %5 : tensor<2x2x4x4xf32>
  %7 = nn.cast %6 : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf16>
  %8 = nn.dropout %7 {rate = 0.5 : f64, site = 0 : i64} : (tensor<2x2x4x4xf16>) -> tensor<2x2x4x4xf16>
  %9 = nn.reshape %8 : (tensor<2x2x4x4xf16>) -> tensor<4x4x4xf16>
  %10 = nn.matmul %9, %v : (tensor<4x4x4xf16>, tensor<4x4x8xf16>) -> tensor<4x4x8xf16>
  return %10 : tensor<4x4x8xf16>
}

// Two products have the same mask.
// CHECK-LABEL: @read_twice
// CHECK-NOT: nn.attention
// CHECK: nn.dropout
// CHECK-NOT: nn.attention
// CHECK: return
func.func @read_twice(%q: tensor<2x4x8xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x4xf32>) {
  %0 = nn.matmul %q, %k : (tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  %1 = nn.softmax %0 : tensor<2x4x4xf32>
  %2 = nn.dropout %1 {rate = 0.5 : f64, site = 0 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %3 = nn.matmul %2, %v : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %3, %2 : tensor<2x4x8xf32>, tensor<2x4x4xf32>
}

// CHECK-LABEL: @dropped_twice
// CHECK-NOT: nn.attention
// CHECK: return
func.func @dropped_twice(%q: tensor<2x4x8xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  %1 = nn.softmax %0 : tensor<2x4x4xf32>
  %2 = nn.dropout %1 {rate = 0.5 : f64, site = 0 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %3 = nn.dropout %2 {rate = 0.5 : f64, site = 1 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %4 = nn.matmul %3, %v : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %4 : tensor<2x4x8xf32>
}
