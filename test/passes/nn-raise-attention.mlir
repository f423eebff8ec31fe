// RUN: shardc-opt %s -nn-raise | FileCheck %s
// Attention and its masks. Queries, keys and values are arguments in [B, S, H, D]: where nothing but nn.attention is left,
// all views around it have cancelled.

nn.parameter @relative : tensor<1x2x4x4xf32> {initializer = "r", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}

// CHECK-LABEL: @float_mask_of_the_smallest_number_is_causal
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {causal, scale = 0.35355339059327373 : f64}
// CHECK-NEXT: return %[[R]]
func.func @float_mask_of_the_smallest_number_is_causal(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<[[[[0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %8 = nn.broadcast %7 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %9 = nn.add %6, %8 : tensor<2x2x4x4xf32>
  %10 = nn.softmax %9 : tensor<2x2x4x4xf32>
  %11 = nn.matmul %10, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @triangle_of_booleans_is_causal_with_a_nan_guard
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {causal, scale = 0.35355339059327373 : f64}
// CHECK-NEXT: return %[[R]]
func.func @triangle_of_booleans_is_causal_with_a_nan_guard(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.constant dense<0.594603539> : tensor<2x2x4x8xf32>
  %4 = nn.mul %0, %3 : tensor<2x2x4x8xf32>
  %5 = nn.reshape %1 : (tensor<2x2x4x8xf32>) -> tensor<4x4x8xf32>
  %6 = nn.transpose %5 [0, 2, 1] : (tensor<4x4x8xf32>) -> tensor<4x8x4xf32>
  %7 = nn.reshape %6 : (tensor<4x8x4xf32>) -> tensor<2x2x8x4xf32>
  %8 = nn.constant dense<0.594603539> : tensor<2x2x8x4xf32>
  %9 = nn.mul %7, %8 : tensor<2x2x8x4xf32>
  %10 = nn.matmul %4, %9 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %11 = nn.constant dense<[[[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]]]> : tensor<1x1x4x4xi1>
  %12 = nn.broadcast %11 : (tensor<1x1x4x4xi1>) -> tensor<2x2x4x4xi1>
  %13 = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %14 = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %15 = nn.select %12, %13, %14 : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %16 = nn.add %10, %15 : tensor<2x2x4x4xf32>
  %17 = nn.softmax %16 : tensor<2x2x4x4xf32>
  %18 = nn.is_nan %17 : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xi1>
  %19 = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %20 = nn.select %18, %19, %17 : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %21 = nn.matmul %20, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %22 = nn.transpose %21 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %22 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @conjunction_is_causal_and_a_mask_of_keys
// CHECK: %[[K:.*]] = nn.cast %arg3 : (tensor<2x4xi64>) -> tensor<2x4xi1>
// CHECK: nn.attention %arg0, %arg1, %arg2 key_mask %[[K]] {causal,
// CHECK-NOT: x4x4x
func.func @conjunction_is_causal_and_a_mask_of_keys(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi64> {nn.name = "mask"}) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<[[[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]]]> : tensor<1x1x4x4xi1>
  %8 = nn.broadcast %7 : (tensor<1x1x4x4xi1>) -> tensor<2x2x4x4xi1>
  %9 = nn.cast %mask : (tensor<2x4xi64>) -> tensor<2x4xi1>
  %10 = nn.reshape %9 : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %11 = nn.broadcast %10 : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
  %12 = nn.and %8, %11 : tensor<2x2x4x4xi1>
  %13 = nn.constant dense<-3.40282347E+38> : tensor<2x2x4x4xf32>
  %14 = nn.select %12, %6, %13 : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %15 = nn.softmax %14 : tensor<2x2x4x4xf32>
  %16 = nn.matmul %15, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %17 = nn.transpose %16 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %17 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @padding_mask_of_bert_is_a_bias_of_one_row
// CHECK: nn.attention %arg0, %arg1, %arg2 bias %{{.*}} {scale = {{.*}}} : (tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x1x1x4xf32>)
func.func @padding_mask_of_bert_is_a_bias_of_one_row(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi64> {nn.name = "mask"}) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.cast %mask : (tensor<2x4xi64>) -> tensor<2x4xf32>
  %8 = nn.reshape %7 : (tensor<2x4xf32>) -> tensor<2x1x1x4xf32>
  %9 = nn.constant dense<1.0> : tensor<2x1x1x4xf32>
  %10 = nn.sub %9, %8 : tensor<2x1x1x4xf32>
  %11 = nn.constant dense<-10000.0> : tensor<2x1x1x4xf32>
  %12 = nn.mul %10, %11 : tensor<2x1x1x4xf32>
  %13 = nn.broadcast %12 : (tensor<2x1x1x4xf32>) -> tensor<2x2x4x4xf32>
  %14 = nn.add %6, %13 : tensor<2x2x4x4xf32>
  %15 = nn.softmax %14 : tensor<2x2x4x4xf32>
  %16 = nn.matmul %15, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %17 = nn.transpose %16 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %17 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @hidden_where_the_padding_is_true
// CHECK: %[[K:.*]] = nn.cast %arg3
// CHECK: nn.attention %arg0, %arg1, %arg2 key_mask %[[K]] {scale
func.func @hidden_where_the_padding_is_true(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi64> {nn.name = "mask"}) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.cast %mask : (tensor<2x4xi64>) -> tensor<2x4xi1>
  %8 = nn.not %7 : tensor<2x4xi1>
  %9 = nn.reshape %8 : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %10 = nn.broadcast %9 : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
  %11 = nn.constant dense<-1.0e9> : tensor<2x2x4x4xf32>
  %12 = nn.select %10, %11, %6 : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %13 = nn.softmax %12 : tensor<2x2x4x4xf32>
  %14 = nn.matmul %13, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %15 = nn.transpose %14 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %15 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @additive_input_mask_is_a_bias_that_heads_share
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 bias %arg3 {scale
// CHECK-NEXT: return
func.func @additive_input_mask_is_a_bias_that_heads_share(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x1x4x4xf32> {nn.name = "x"}) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.broadcast %mask : (tensor<2x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %8 = nn.add %7, %6 : tensor<2x2x4x4xf32>
  %9 = nn.softmax %8 : tensor<2x2x4x4xf32>
  %10 = nn.matmul %9, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %11 = nn.transpose %10 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %11 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @constant_alibi_under_a_causal_mask_is_one_row_per_head
// CHECK: nn.attention %arg0, %arg1, %arg2 bias %{{.*}} {causal, scale = {{.*}}} : (tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<1x2x1x4xf32>)
func.func @constant_alibi_under_a_causal_mask_is_one_row_per_head(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<[[[[0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.5, -3.40282347E+38, -3.40282347E+38], [0.0, 0.5, 1.0, -3.40282347E+38], [0.0, 0.5, 1.0, 1.5]], [[0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.25, -3.40282347E+38, -3.40282347E+38], [0.0, 0.25, 0.5, -3.40282347E+38], [0.0, 0.25, 0.5, 0.75]]]]> : tensor<1x2x4x4xf32>
  %8 = nn.broadcast %7 : (tensor<1x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %9 = nn.add %6, %8 : tensor<2x2x4x4xf32>
  %10 = nn.softmax %9 : tensor<2x2x4x4xf32>
  %11 = nn.matmul %10, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @mask_that_hides_nothing_is_dropped
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {scale
// CHECK-NEXT: return
func.func @mask_that_hides_nothing_is_dropped(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<0.0> : tensor<1x1x4x4xf32>
  %8 = nn.broadcast %7 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %9 = nn.add %6, %8 : tensor<2x2x4x4xf32>
  %10 = nn.softmax %9 : tensor<2x2x4x4xf32>
  %11 = nn.matmul %10, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @window_before_the_own_key
// CHECK: nn.attention %arg0, %arg1, %arg2 {causal, left = 1 : i64, scale = {{.*}}} : (tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>)
func.func @window_before_the_own_key(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<[[[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9], [-1.0e9, 0.0, 0.0, -1.0e9], [-1.0e9, -1.0e9, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %8 = nn.broadcast %7 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %9 = nn.add %6, %8 : tensor<2x2x4x4xf32>
  %10 = nn.softmax %9 : tensor<2x2x4x4xf32>
  %11 = nn.matmul %10, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

// No query sees all keys: each key's number is that of a query that sees it.
// CHECK-LABEL: @alibi_within_a_window_is_one_row
// CHECK: %[[B:.*]] = nn.constant dense<{{\[\[\[\[}}0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00]]]]> : tensor<1x1x1x4xf32>
// CHECK: nn.attention %arg0, %arg1, %arg2 bias %[[B]] {causal, left = 1 : i64, scale
func.func @alibi_within_a_window_is_one_row(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<[[[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.5, -1.0e9, -1.0e9], [-1.0e9, 0.5, 1.0, -1.0e9], [-1.0e9, -1.0e9, 1.0, 1.5]]]]> : tensor<1x1x4x4xf32>
  %8 = nn.broadcast %7 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %9 = nn.add %6, %8 : tensor<2x2x4x4xf32>
  %10 = nn.softmax %9 : tensor<2x2x4x4xf32>
  %11 = nn.matmul %10, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @scores_divided_after_the_product_and_a_clamp
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {scale = 5.000000e-01 : f64}
// CHECK-NEXT: return
func.func @scores_divided_after_the_product_and_a_clamp(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<1.0> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<2.0> : tensor<2x2x4x4xf32>
  %8 = nn.div %6, %7 : tensor<2x2x4x4xf32>
  %9 = nn.constant dense<-3.40282347E+38> : tensor<2x2x4x4xf32>
  %10 = nn.max %8, %9 : tensor<2x2x4x4xf32>
  %11 = nn.softmax %10 : tensor<2x2x4x4xf32>
  %12 = nn.matmul %11, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %13 = nn.transpose %12 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %13 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @scores_divided_after_the_product_and_a_clamp_by_clip
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {scale = 5.000000e-01 : f64}
// CHECK-NEXT: return
func.func @scores_divided_after_the_product_and_a_clamp_by_clip(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %1 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %4 = nn.matmul %0, %3 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.constant dense<1.0> : tensor<2x2x4x4xf32>
  %6 = nn.mul %4, %5 : tensor<2x2x4x4xf32>
  %7 = nn.constant dense<2.0> : tensor<2x2x4x4xf32>
  %8 = nn.div %6, %7 : tensor<2x2x4x4xf32>
  %9 = nn.constant dense<-3.40282347E+38> : tensor<2x2x4x4xf32>
  %low = nn.compare le %8, %9 : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xi1>
  %10 = nn.select %low, %9, %8 : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %11 = nn.softmax %10 : tensor<2x2x4x4xf32>
  %12 = nn.matmul %11, %2 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %13 = nn.transpose %12 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %13 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @batch_and_heads_in_one_dim
// CHECK: %[[A:.*]] = nn.reshape %arg3 : (tensor<2x2x4xf32>) -> tensor<2x2x1x4xf32>
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 bias %[[A]] {causal, scale
// CHECK-NEXT: return %[[R]]
func.func @batch_and_heads_in_one_dim(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %alibi: tensor<2x2x4xf32> {nn.name = "x"}) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.reshape %0 : (tensor<2x2x4x8xf32>) -> tensor<4x4x8xf32>
  %2 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %2 : (tensor<2x2x4x8xf32>) -> tensor<4x4x8xf32>
  %4 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %5 = nn.reshape %4 : (tensor<2x2x4x8xf32>) -> tensor<4x4x8xf32>
  %6 = nn.transpose %3 [0, 2, 1] : (tensor<4x4x8xf32>) -> tensor<4x8x4xf32>
  %7 = nn.matmul %1, %6 : (tensor<4x4x8xf32>, tensor<4x8x4xf32>) -> tensor<4x4x4xf32>
  %8 = nn.constant dense<0.353553385> : tensor<4x4x4xf32>
  %9 = nn.mul %7, %8 : tensor<4x4x4xf32>
  %10 = nn.reshape %alibi : (tensor<2x2x4xf32>) -> tensor<4x1x4xf32>
  %11 = nn.broadcast %10 : (tensor<4x1x4xf32>) -> tensor<4x4x4xf32>
  %12 = nn.add %9, %11 : tensor<4x4x4xf32>
  %13 = nn.reshape %12 : (tensor<4x4x4xf32>) -> tensor<2x2x4x4xf32>
  %14 = nn.constant dense<[[[[0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x4x4xf32>
  %15 = nn.broadcast %14 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %16 = nn.add %13, %15 : tensor<2x2x4x4xf32>
  %17 = nn.softmax %16 : tensor<2x2x4x4xf32>
  %18 = nn.reshape %17 : (tensor<2x2x4x4xf32>) -> tensor<4x4x4xf32>
  %19 = nn.matmul %18, %5 : (tensor<4x4x4xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %20 = nn.reshape %19 : (tensor<4x4x8xf32>) -> tensor<2x2x4x8xf32>
  %21 = nn.transpose %20 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %21 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @batch_and_heads_in_one_dim_that_nothing_tells_apart
// CHECK: nn.attention %{{.*}} {scale = 1.000000e+00 : f64}
// CHECK-NOT: nn.transpose
// CHECK: return
func.func @batch_and_heads_in_one_dim_that_nothing_tells_apart(%q: tensor<4x4x8xf32>, %k: tensor<4x4x8xf32>, %v: tensor<4x4x8xf32>) -> tensor<4x4x8xf32> {
  %0 = nn.matmul %q, %k {transpose_rhs} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x4xf32>
  %1 = nn.softmax %0 : tensor<4x4x4xf32>
  %2 = nn.matmul %1, %v : (tensor<4x4x4xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  return %2 : tensor<4x4x8xf32>
}

// CHECK-LABEL: @sequence_first_layout
// A sample is more heads: nothing moves.
// CHECK-NOT: nn.transpose
// CHECK: nn.attention %{{.*}} : (tensor<1x4x4x8xf32>,
// CHECK-NOT: nn.transpose
// CHECK: return
func.func @sequence_first_layout(%q: tensor<4x2x16xf32>, %k: tensor<4x2x16xf32>, %v: tensor<4x2x16xf32>) -> tensor<4x2x16xf32> {
  %0 = nn.reshape %q : (tensor<4x2x16xf32>) -> tensor<4x4x8xf32>
  %1 = nn.transpose %0 [1, 0, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %2 = nn.reshape %k : (tensor<4x2x16xf32>) -> tensor<4x4x8xf32>
  %3 = nn.transpose %2 [1, 0, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %4 = nn.reshape %v : (tensor<4x2x16xf32>) -> tensor<4x4x8xf32>
  %5 = nn.transpose %4 [1, 0, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %6 = nn.matmul %1, %3 {transpose_rhs} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x4xf32>
  %7 = nn.constant dense<0.353553385> : tensor<4x4x4xf32>
  %8 = nn.mul %6, %7 : tensor<4x4x4xf32>
  %9 = nn.softmax %8 : tensor<4x4x4xf32>
  %10 = nn.matmul %9, %5 : (tensor<4x4x4xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %11 = nn.transpose %10 [1, 0, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %12 = nn.reshape %11 : (tensor<4x4x8xf32>) -> tensor<4x2x16xf32>
  return %12 : tensor<4x2x16xf32>
}

// CHECK-LABEL: @keys_repeated_for_groups_of_heads
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {scale
// CHECK-NEXT: return %[[R]]
func.func @keys_repeated_for_groups_of_heads(%q: tensor<2x4x4x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x4x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %1 : (tensor<2x2x4x8xf32>) -> tensor<2x2x1x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<2x2x1x4x8xf32>) -> tensor<2x2x2x4x8xf32>
  %5 = nn.reshape %4 : (tensor<2x2x2x4x8xf32>) -> tensor<2x4x4x8xf32>
  %6 = nn.reshape %2 : (tensor<2x2x4x8xf32>) -> tensor<2x2x1x4x8xf32>
  %7 = nn.broadcast %6 : (tensor<2x2x1x4x8xf32>) -> tensor<2x2x2x4x8xf32>
  %8 = nn.reshape %7 : (tensor<2x2x2x4x8xf32>) -> tensor<2x4x4x8xf32>
  %9 = nn.matmul %0, %5 {transpose_rhs} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> tensor<2x4x4x4xf32>
  %10 = nn.constant dense<0.353553385> : tensor<2x4x4x4xf32>
  %11 = nn.mul %9, %10 : tensor<2x4x4x4xf32>
  %12 = nn.softmax %11 : tensor<2x4x4x4xf32>
  %13 = nn.matmul %12, %8 : (tensor<2x4x4x4xf32>, tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %14 = nn.transpose %13 [0, 2, 1, 3] : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  return %14 : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @keys_repeated_in_the_other_order_are_written_out
// CHECK: nn.broadcast
// CHECK: nn.attention %arg0, %{{.*}}, %{{.*}} {scale = {{.*}}} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>)
func.func @keys_repeated_in_the_other_order_are_written_out(%q: tensor<2x4x4x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x4x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %1 : (tensor<2x2x4x8xf32>) -> tensor<2x1x2x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<2x1x2x4x8xf32>) -> tensor<2x2x2x4x8xf32>
  %5 = nn.reshape %4 : (tensor<2x2x2x4x8xf32>) -> tensor<2x4x4x8xf32>
  %6 = nn.reshape %2 : (tensor<2x2x4x8xf32>) -> tensor<2x1x2x4x8xf32>
  %7 = nn.broadcast %6 : (tensor<2x1x2x4x8xf32>) -> tensor<2x2x2x4x8xf32>
  %8 = nn.reshape %7 : (tensor<2x2x2x4x8xf32>) -> tensor<2x4x4x8xf32>
  %9 = nn.matmul %0, %5 {transpose_rhs} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> tensor<2x4x4x4xf32>
  %10 = nn.constant dense<0.353553385> : tensor<2x4x4x4xf32>
  %11 = nn.mul %9, %10 : tensor<2x4x4x4xf32>
  %12 = nn.softmax %11 : tensor<2x4x4x4xf32>
  %13 = nn.matmul %12, %8 : (tensor<2x4x4x4xf32>, tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %14 = nn.transpose %13 [0, 2, 1, 3] : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  return %14 : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @five_dims_with_groups
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {scale
// CHECK-NEXT: return %[[R]]
func.func @five_dims_with_groups(%q: tensor<2x4x4x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x4x8xf32> {
  %0 = nn.reshape %q : (tensor<2x4x4x8xf32>) -> tensor<2x4x2x2x8xf32>
  %1 = nn.transpose %0 [0, 2, 3, 1, 4] : (tensor<2x4x2x2x8xf32>) -> tensor<2x2x2x4x8xf32>
  %2 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %2 : (tensor<2x2x4x8xf32>) -> tensor<2x2x1x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<2x2x1x4x8xf32>) -> tensor<2x2x2x4x8xf32>
  %5 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %6 = nn.reshape %5 : (tensor<2x2x4x8xf32>) -> tensor<2x2x1x4x8xf32>
  %7 = nn.broadcast %6 : (tensor<2x2x1x4x8xf32>) -> tensor<2x2x2x4x8xf32>
  %8 = nn.matmul %1, %4 {transpose_rhs} : (tensor<2x2x2x4x8xf32>, tensor<2x2x2x4x8xf32>) -> tensor<2x2x2x4x4xf32>
  %9 = nn.constant dense<0.353553385> : tensor<2x2x2x4x4xf32>
  %10 = nn.mul %8, %9 : tensor<2x2x2x4x4xf32>
  %11 = nn.softmax %10 : tensor<2x2x2x4x4xf32>
  %12 = nn.matmul %11, %7 : (tensor<2x2x2x4x4xf32>, tensor<2x2x2x4x8xf32>) -> tensor<2x2x2x4x8xf32>
  %13 = nn.transpose %12 [0, 3, 1, 2, 4] : (tensor<2x2x2x4x8xf32>) -> tensor<2x4x2x2x8xf32>
  %14 = nn.reshape %13 : (tensor<2x4x2x2x8xf32>) -> tensor<2x4x4x8xf32>
  return %14 : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @more_keys_than_queries_of_another_width
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {causal, scale
// CHECK-NEXT: return %[[R]]
func.func @more_keys_than_queries_of_another_width(%q: tensor<2x3x2x8xf32>, %k: tensor<2x5x2x8xf32>, %v: tensor<2x5x2x6xf32>) -> tensor<2x3x2x6xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x3x2x8xf32>) -> tensor<2x2x3x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x5x2x8xf32>) -> tensor<2x2x5x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x5x2x6xf32>) -> tensor<2x2x5x6xf32>
  %3 = nn.matmul %0, %1 {transpose_rhs} : (tensor<2x2x3x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x2x3x5xf32>
  %4 = nn.constant dense<0.353553385> : tensor<2x2x3x5xf32>
  %5 = nn.mul %3, %4 : tensor<2x2x3x5xf32>
  %6 = nn.constant dense<[[[[0.0, 0.0, 0.0, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x1x3x5xf32>
  %7 = nn.broadcast %6 : (tensor<1x1x3x5xf32>) -> tensor<2x2x3x5xf32>
  %8 = nn.add %5, %7 : tensor<2x2x3x5xf32>
  %9 = nn.softmax %8 : tensor<2x2x3x5xf32>
  %10 = nn.matmul %9, %2 : (tensor<2x2x3x5xf32>, tensor<2x2x5x6xf32>) -> tensor<2x2x3x6xf32>
  %11 = nn.transpose %10 [0, 2, 1, 3] : (tensor<2x2x3x6xf32>) -> tensor<2x3x2x6xf32>
  return %11 : tensor<2x3x2x6xf32>
}

// CHECK-LABEL: @one_head_one_sample_one_query
// CHECK-NEXT: %[[R:result.*]], %{{.*}} = nn.attention %arg0, %arg1, %arg2 {scale
// CHECK-NEXT: return %[[R]]
func.func @one_head_one_sample_one_query(%q: tensor<1x1x1x8xf32>, %k: tensor<1x1x1x8xf32>, %v: tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32> {
  %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
  %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
  %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
  %3 = nn.matmul %0, %1 {transpose_rhs} : (tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x1x1x1xf32>
  %4 = nn.constant dense<0.353553385> : tensor<1x1x1x1xf32>
  %5 = nn.mul %3, %4 : tensor<1x1x1x1xf32>
  %6 = nn.softmax %5 : tensor<1x1x1x1xf32>
  %7 = nn.matmul %6, %2 : (tensor<1x1x1x1xf32>, tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
  %8 = nn.transpose %7 [0, 2, 1, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
  return %8 : tensor<1x1x1x8xf32>
}

// CHECK-LABEL: @a_trained_bias_needs_its_gradient_and_stays
// CHECK-NOT: nn.attention
// CHECK: nn.softmax
// CHECK-NOT: nn.attention
// CHECK: return
func.func @a_trained_bias_needs_its_gradient_and_stays(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.get_parameter @relative : tensor<1x2x4x4xf32>
  %1 = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.transpose %k [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %4 = nn.transpose %2 [0, 1, 3, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x8x4xf32>
  %5 = nn.matmul %1, %4 : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %6 = nn.constant dense<0.353553385> : tensor<2x2x4x4xf32>
  %7 = nn.mul %5, %6 : tensor<2x2x4x4xf32>
  %8 = nn.broadcast %0 : (tensor<1x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %9 = nn.add %7, %8 : tensor<2x2x4x4xf32>
  %10 = nn.softmax %9 : tensor<2x2x4x4xf32>
  %11 = nn.matmul %10, %3 : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @mask_of_one_op_is_taken_apart
// CHECK: %[[K:.*]] = nn.cast %arg3
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 key_mask %[[K]] {causal, scale
func.func @mask_of_one_op_is_taken_apart(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi64> {nn.name = "mask"}) -> tensor<2x4x2x8xf32> {
  %0 = nn.constant dense<[[[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]]]> : tensor<1x1x4x4xi1>
  %1 = nn.broadcast %0 : (tensor<1x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = nn.cast %mask : (tensor<2x4xi64>) -> tensor<2x4xi1>
  %3 = nn.reshape %2 : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %4 = nn.broadcast %3 : (tensor<2x1x1x4xi1>) -> tensor<2x1x4x4xi1>
  %5 = nn.and %1, %4 : tensor<2x1x4x4xi1>
  %6 = nn.constant dense<0.0> : tensor<2x1x4x4xf32>
  %7 = nn.constant dense<0xFF800000> : tensor<2x1x4x4xf32>
  %8 = nn.select %5, %6, %7 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %9, %10 = nn.attention %q, %k, %v bias %8 {scale = 0.35 : f64} : (tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x2x8xf32>, tensor<2x2x4xf32>)
  return %9 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @heads_that_views_repeat_before_one_op
// CHECK-NEXT: nn.attention %arg0, %arg1, %arg2 {scale
func.func @heads_that_views_repeat_before_one_op(%q: tensor<2x4x4x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>) -> tensor<2x4x4x8xf32> {
  %0 = nn.reshape %k : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x1x8xf32>
  %1 = nn.broadcast %0 : (tensor<2x4x2x1x8xf32>) -> tensor<2x4x2x2x8xf32>
  %2 = nn.reshape %1 : (tensor<2x4x2x2x8xf32>) -> tensor<2x4x4x8xf32>
  %3 = nn.reshape %v : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x1x8xf32>
  %4 = nn.broadcast %3 : (tensor<2x4x2x1x8xf32>) -> tensor<2x4x2x2x8xf32>
  %5 = nn.reshape %4 : (tensor<2x4x2x2x8xf32>) -> tensor<2x4x4x8xf32>
  %6, %7 = nn.attention %q, %2, %5 {scale = 0.35 : f64} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  return %6 : tensor<2x4x4x8xf32>
}
