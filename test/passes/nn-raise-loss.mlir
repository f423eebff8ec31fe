// RUN: shardc-opt %s -nn-raise | FileCheck %s

// NegativeLogLikelihoodLoss(LogSoftmax(x)), as its decoder writes it.
// CHECK-LABEL: @picked_log_probabilities_are_a_cross_entropy
// CHECK-NOT: nn.log_softmax
// CHECK: nn.cross_entropy %arg0, %arg1, %{{.*}} {ignore_index = -1 : i64, nn.reduction = "mean", shift = 0 : i64}
func.func @picked_log_probabilities_are_a_cross_entropy(%x: tensor<4x8xf32>, %labels: tensor<4xi64>) -> tensor<f32> {
  %ignored = nn.constant dense<-1> : tensor<4xi64>
  %zero = nn.constant dense<0> : tensor<4xi64>
  %0 = nn.log_softmax %x : tensor<4x8xf32>
  %1 = nn.compare ne %labels, %ignored : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %2 = nn.select %1, %labels, %zero : (tensor<4xi1>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %3 = nn.reshape %2 : (tensor<4xi64>) -> tensor<4x1xi64>
  %4 = nn.gather_nd %0, %3 {batch_dims = 1 : i64} : (tensor<4x8xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  %5 = nn.neg %4 : tensor<4xf32>
  %6 = nn.cast %1 : (tensor<4xi1>) -> tensor<4xf32>
  %7 = nn.mul %5, %6 : tensor<4xf32>
  %8 = nn.reduce_sum %7 [0] : (tensor<4xf32>) -> tensor<1xf32>
  %9 = nn.reshape %8 : (tensor<1xf32>) -> tensor<f32>
  %10 = nn.reduce_sum %6 [0] : (tensor<4xf32>) -> tensor<1xf32>
  %11 = nn.reshape %10 : (tensor<1xf32>) -> tensor<f32>
  %12 = nn.div %9, %11 : tensor<f32>
  return %12 : tensor<f32>
}

// CHECK-LABEL: @without_ignored_labels_the_count_is_a_constant
// CHECK: %[[N:.*]] = nn.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[S:.*]] = nn.reciprocal %[[N]] : tensor<f32>
// CHECK: nn.cross_entropy %arg0, %{{.*}}, %[[S]] {{.*}}nn.reduction = "mean"
func.func @without_ignored_labels_the_count_is_a_constant(%x: tensor<4x8xf32>, %labels: tensor<4xi64>) -> tensor<f32> {
  %four = nn.constant dense<4.0> : tensor<f32>
  %0 = nn.log_softmax %x : tensor<4x8xf32>
  %3 = nn.reshape %labels : (tensor<4xi64>) -> tensor<4x1xi64>
  %4 = nn.gather_nd %0, %3 {batch_dims = 1 : i64} : (tensor<4x8xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  %5 = nn.neg %4 : tensor<4xf32>
  %8 = nn.reduce_sum %5 [0] : (tensor<4xf32>) -> tensor<1xf32>
  %9 = nn.reshape %8 : (tensor<1xf32>) -> tensor<f32>
  %12 = nn.div %9, %four : tensor<f32>
  return %12 : tensor<f32>
}

// Sums of one loss and of one label fold away: it is the mean over the valid labels of one.
// CHECK-LABEL: @one_label
// CHECK: %[[N:.*]] = nn.reciprocal
// CHECK: nn.cross_entropy %arg0, %arg1, %[[N]] {ignore_index = -1 : i64, nn.reduction = "mean", shift = 0 : i64}
func.func @one_label(%x: tensor<1x8xf32>, %labels: tensor<1xi64>) -> tensor<f32> {
  %ignored = nn.constant dense<-1> : tensor<1xi64>
  %zero = nn.constant dense<0> : tensor<1xi64>
  %0 = nn.log_softmax %x : tensor<1x8xf32>
  %1 = nn.compare ne %labels, %ignored : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  %2 = nn.select %1, %labels, %zero : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %3 = nn.reshape %2 : (tensor<1xi64>) -> tensor<1x1xi64>
  %4 = nn.gather_nd %0, %3 {batch_dims = 1 : i64} : (tensor<1x8xf32>, tensor<1x1xi64>) -> tensor<1xf32>
  %5 = nn.neg %4 : tensor<1xf32>
  %6 = nn.cast %1 : (tensor<1xi1>) -> tensor<1xf32>
  %7 = nn.mul %5, %6 : tensor<1xf32>
  %8 = nn.reduce_sum %7 [0] : (tensor<1xf32>) -> tensor<1xf32>
  %9 = nn.reshape %8 : (tensor<1xf32>) -> tensor<f32>
  %10 = nn.reduce_sum %6 [0] : (tensor<1xf32>) -> tensor<1xf32>
  %11 = nn.reshape %10 : (tensor<1xf32>) -> tensor<f32>
  %12 = nn.div %9, %11 : tensor<f32>
  return %12 : tensor<f32>
}
