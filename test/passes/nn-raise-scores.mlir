// RUN: shardc-opt %s -nn-raise | FileCheck %s
// What attention does to scores beside masks: caps of them (Gemma 2), sinks (gpt-oss), and what no softmax tells.

// CHECK-LABEL: @softcap_before_the_mask
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {causal, scale = 0.35355339059327373 : f64, softcap = 5.000000e+01 : f64}
// CHECK-NEXT: return %[[R]]
func.func @softcap_before_the_mask(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.matmul %0, %1 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x4x4xf32>
  %6 = nn.constant dense<50.0> : tensor<2x2x4x4xf32>
  %7 = nn.div %5, %6 : tensor<2x2x4x4xf32>
  %8 = nn.tanh %7 : tensor<2x2x4x4xf32>
  %9 = nn.constant dense<50.0> : tensor<2x2x4x4xf32>
  %10 = nn.mul %8, %9 : tensor<2x2x4x4xf32>
  %11 = nn.constant dense<[[[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %12 = nn.broadcast %11 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %13 = nn.add %10, %12 : tensor<2x2x4x4xf32>
  %14 = nn.softmax %13 : tensor<2x2x4x4xf32>
  %15 = nn.matmul %14, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %16 = nn.transpose %15 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %16 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @softcap_by_products
// CHECK: nn.attention %arg0, %arg1, %arg2 {scale = 0.35355339059327373 : f64, softcap = 5.000000e+01 : f64}
func.func @softcap_by_products(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.matmul %0, %1 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x4x4xf32>
  %6 = nn.constant dense<0.02> : tensor<2x2x4x4xf32>
  %7 = nn.mul %5, %6 : tensor<2x2x4x4xf32>
  %8 = nn.tanh %7 : tensor<2x2x4x4xf32>
  %9 = nn.constant dense<50.0> : tensor<2x2x4x4xf32>
  %10 = nn.mul %8, %9 : tensor<2x2x4x4xf32>
  %11 = nn.softmax %10 : tensor<2x2x4x4xf32>
  %12 = nn.matmul %11, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %13 = nn.transpose %12 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %13 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @a_mask_that_is_capped_itself_stays
// CHECK-NOT: nn.attention
// CHECK: nn.tanh
// CHECK-NOT: nn.attention
// CHECK: return
func.func @a_mask_that_is_capped_itself_stays(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.matmul %0, %1 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x4x4xf32>
  %6 = nn.constant dense<[[[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %7 = nn.broadcast %6 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %8 = nn.add %5, %7 : tensor<2x2x4x4xf32>
  %9 = nn.constant dense<0.02> : tensor<2x2x4x4xf32>
  %10 = nn.mul %8, %9 : tensor<2x2x4x4xf32>
  %11 = nn.tanh %10 : tensor<2x2x4x4xf32>
  %12 = nn.constant dense<50.0> : tensor<2x2x4x4xf32>
  %13 = nn.mul %11, %12 : tensor<2x2x4x4xf32>
  %14 = nn.softmax %13 : tensor<2x2x4x4xf32>
  %15 = nn.matmul %14, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %16 = nn.transpose %15 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %16 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @scores_without_the_largest_of_their_row
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 {causal, scale = 0.35355339059327373 : f64}
func.func @scores_without_the_largest_of_their_row(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.matmul %0, %1 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x4x4xf32>
  %6 = nn.constant dense<[[[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %7 = nn.broadcast %6 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %8 = nn.add %5, %7 : tensor<2x2x4x4xf32>
  %9 = nn.reduce_max %8 [3] : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x1xf32>
  %10 = nn.broadcast %9 : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
  %11 = nn.sub %8, %10 : tensor<2x2x4x4xf32>
  %12 = nn.softmax %11 : tensor<2x2x4x4xf32>
  %13 = nn.matmul %12, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %14 = nn.transpose %13 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %14 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @a_score_of_each_head_is_a_sink
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 sinks %arg3 {causal, scale = 0.35355339059327373 : f64}
// CHECK-NEXT: return
func.func @a_score_of_each_head_is_a_sink(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %sinks: tensor<2xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.matmul %0, %1 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x4x4xf32>
  %6 = nn.constant dense<[[[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %7 = nn.broadcast %6 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %8 = nn.add %5, %7 : tensor<2x2x4x4xf32>
  %9 = nn.reshape %sinks : (tensor<2xf32>) -> tensor<1x2x1x1xf32>
  %10 = nn.broadcast %9 : (tensor<1x2x1x1xf32>) -> tensor<2x2x4x1xf32>
  %11 = nn.concat %8, %10 {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x1xf32>) -> tensor<2x2x4x5xf32>
  %12 = nn.reduce_max %11 [3] : (tensor<2x2x4x5xf32>) -> tensor<2x2x4x1xf32>
  %13 = nn.broadcast %12 : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x5xf32>
  %14 = nn.sub %11, %13 : tensor<2x2x4x5xf32>
  %15 = nn.softmax %14 : tensor<2x2x4x5xf32>
  %16 = nn.slice %15 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x5xf32>) -> tensor<2x2x4x4xf32>
  %17 = nn.matmul %16, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %18 = nn.transpose %17 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %18 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @scores_of_each_query_are_no_sinks
// CHECK-NOT: nn.attention
// CHECK: nn.softmax
// CHECK-NOT: nn.attention
// CHECK: return
func.func @scores_of_each_query_are_no_sinks(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %sinks: tensor<2x2x4x1xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.matmul %0, %1 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x4x4xf32>
  %6 = nn.constant dense<[[[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %7 = nn.broadcast %6 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %8 = nn.add %5, %7 : tensor<2x2x4x4xf32>
  %9 = nn.concat %8, %sinks {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x1xf32>) -> tensor<2x2x4x5xf32>
  %10 = nn.reduce_max %9 [3] : (tensor<2x2x4x5xf32>) -> tensor<2x2x4x1xf32>
  %11 = nn.broadcast %10 : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x5xf32>
  %12 = nn.sub %9, %11 : tensor<2x2x4x5xf32>
  %13 = nn.softmax %12 : tensor<2x2x4x5xf32>
  %14 = nn.slice %13 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x5xf32>) -> tensor<2x2x4x4xf32>
  %15 = nn.matmul %14, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %16 = nn.transpose %15 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %16 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @a_softcap_is_finite
// CHECK-NOT: nn.attention
// CHECK: nn.tanh
// CHECK-NOT: nn.attention
// CHECK: return
func.func @a_softcap_is_finite(%q: tensor<2x2x4x8xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.tanh %0 : tensor<2x2x4x4xf32>
  %2 = nn.constant dense<0x7F800000> : tensor<2x2x4x4xf32>
  %3 = nn.mul %1, %2 : tensor<2x2x4x4xf32>
  %4 = nn.softmax %3 : tensor<2x2x4x4xf32>
  %5 = nn.matmul %4, %v : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  return %5 : tensor<2x2x4x8xf32>
}
