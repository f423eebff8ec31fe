// RUN: shardc-opt %s -nn-raise | FileCheck %s

nn.parameter @gamma : tensor<8xf32> {initializer = "g", file = "", offset = 0 : i64, length = 32 : i64, stored_type = f32, trainable}
nn.parameter @beta : tensor<8xf32> {initializer = "b", file = "", offset = 0 : i64, length = 32 : i64, stored_type = f32, trainable}

// CHECK-LABEL: @rms_norm_with_gamma_on_the_left_and_a_quotient
// CHECK: %[[G:.*]] = nn.get_parameter @gamma
// CHECK: nn.rms_norm %arg0, %[[G]] {epsilon = 9.9999999999999995E-7 : f64}
// CHECK-NEXT: return
func.func @rms_norm_with_gamma_on_the_left_and_a_quotient(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %g = nn.get_parameter @gamma : tensor<8xf32>
  %g3 = nn.reshape %g : (tensor<8xf32>) -> tensor<1x1x8xf32>
  %gb = nn.broadcast %g3 : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
  %eps = nn.constant dense<9.99999997E-7> : tensor<2x4x1xf32>
  %0 = nn.mul %x, %x : tensor<2x4x8xf32>
  %1 = nn.reduce_mean %0 [2] : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %2 = nn.add %eps, %1 : tensor<2x4x1xf32>
  %3 = nn.sqrt %2 : tensor<2x4x1xf32>
  %4 = nn.broadcast %3 : (tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %5 = nn.div %x, %4 : tensor<2x4x8xf32>
  %6 = nn.mul %gb, %5 : tensor<2x4x8xf32>
  return %6 : tensor<2x4x8xf32>
}

// CHECK-LABEL: @rms_norm_of_one_row_and_a_sum
// CHECK: nn.rms_norm %arg0
// CHECK-NEXT: return
func.func @rms_norm_of_one_row_and_a_sum(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<1x1xf32>
  %eighth = nn.constant dense<0.125> : tensor<1x1xf32>
  %two = nn.constant dense<2.0> : tensor<1x8xf32>
  %0 = nn.pow %x, %two : tensor<1x8xf32>
  %1 = nn.reduce_sum %0 [1] : (tensor<1x8xf32>) -> tensor<1x1xf32>
  %2 = nn.mul %1, %eighth : tensor<1x1xf32>
  %3 = nn.add %2, %eps : tensor<1x1xf32>
  %4 = nn.rsqrt %3 : tensor<1x1xf32>
  %5 = nn.broadcast %4 : (tensor<1x1xf32>) -> tensor<1x8xf32>
  %6 = nn.mul %5, %x : tensor<1x8xf32>
  return %6 : tensor<1x8xf32>
}

// CHECK-LABEL: @layer_norm_with_gamma_and_beta
// CHECK-DAG: %[[G:.*]] = nn.get_parameter @gamma
// CHECK-DAG: %[[B:.*]] = nn.get_parameter @beta
// CHECK: nn.layer_norm %arg0, %[[G]], %[[B]] {epsilon = 1.000000e-05 : f64}
// CHECK-NEXT: return
func.func @layer_norm_with_gamma_and_beta(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %g = nn.get_parameter @gamma : tensor<8xf32>
  %g3 = nn.reshape %g : (tensor<8xf32>) -> tensor<1x1x8xf32>
  %gb = nn.broadcast %g3 : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
  %b = nn.get_parameter @beta : tensor<8xf32>
  %b3 = nn.reshape %b : (tensor<8xf32>) -> tensor<1x1x8xf32>
  %bb = nn.broadcast %b3 : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
  %eps = nn.constant dense<9.99999974E-6> : tensor<2x4x1xf32>
  %two = nn.constant dense<2.0> : tensor<2x4x8xf32>
  %0 = nn.reduce_mean %x [2] : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %1 = nn.broadcast %0 : (tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %2 = nn.sub %x, %1 : tensor<2x4x8xf32>
  %3 = nn.pow %2, %two : tensor<2x4x8xf32>
  %4 = nn.reduce_mean %3 [2] : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %5 = nn.add %4, %eps : tensor<2x4x1xf32>
  %6 = nn.sqrt %5 : tensor<2x4x1xf32>
  %7 = nn.broadcast %6 : (tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %8 = nn.div %2, %7 : tensor<2x4x8xf32>
  %9 = nn.mul %8, %gb : tensor<2x4x8xf32>
  %10 = nn.add %bb, %9 : tensor<2x4x8xf32>
  return %10 : tensor<2x4x8xf32>
}

// The mean is over a dim that is not the last.
// CHECK-LABEL: @a_mean_over_rows_is_no_norm
// CHECK-NOT: nn.rms_norm
// CHECK: return
func.func @a_mean_over_rows_is_no_norm(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<1x8xf32>
  %0 = nn.mul %x, %x : tensor<8x8xf32>
  %1 = nn.reduce_mean %0 [0] : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %2 = nn.add %1, %eps : tensor<1x8xf32>
  %3 = nn.rsqrt %2 : tensor<1x8xf32>
  %4 = nn.broadcast %3 : (tensor<1x8xf32>) -> tensor<8x8xf32>
  %5 = nn.mul %4, %x : tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

// CHECK-LABEL: @softmax_and_its_logarithm
// CHECK-DAG: nn.softmax %arg0
// CHECK-DAG: nn.log_softmax %arg0
// CHECK-NOT: nn.exp
// CHECK: return
func.func @softmax_and_its_logarithm(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = nn.reduce_max %x [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = nn.broadcast %0 : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = nn.sub %x, %1 : tensor<4x8xf32>
  %3 = nn.exp %2 : tensor<4x8xf32>
  %4 = nn.reduce_sum %3 [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %5 = nn.broadcast %4 : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %6 = nn.div %3, %5 : tensor<4x8xf32>
  %7 = nn.log %4 : tensor<4x1xf32>
  %8 = nn.broadcast %7 : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %9 = nn.sub %2, %8 : tensor<4x8xf32>
  return %6, %9 : tensor<4x8xf32>, tensor<4x8xf32>
}
