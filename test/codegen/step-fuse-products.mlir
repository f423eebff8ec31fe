// Products add residuals and sum bias gradients where the target's library does; nothing else changes.
// RUN: shardc-opt %s -step-fuse-products | FileCheck %s

// CHECK-LABEL: func.func @residuals
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x4x8xbf16>, %[[W:[^:]*]]: tensor<8x8xbf16>, %[[B:[^:]*]]: tensor<8xbf16>)
func.func @residuals(%x: tensor<2x4x8xbf16>, %w: tensor<8x8xbf16>, %b: tensor<8xbf16>) -> (tensor<2x4x8xbf16>, tensor<2x4x8xbf16>) {
  // An argument is there, on either side.
  // CHECK-NEXT: %[[Y:.*]] = nn.linear %[[X]], %[[W]], %[[B]] residual %[[X]] :
  %0 = nn.linear %x, %w, %b : (tensor<2x4x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>) -> tensor<2x4x8xbf16>
  %1 = nn.add %x, %0 : tensor<2x4x8xbf16>
  // Of two products one is the other's residual.
  // CHECK-NEXT: %[[L:.*]] = nn.linear %[[X]], %[[W]] : (
  // CHECK-NEXT: %[[Z:.*]] = nn.linear %[[Y]], %[[W]] residual %[[L]] {transpose_weight} :
  %2 = nn.linear %x, %w : (tensor<2x4x8xbf16>, tensor<8x8xbf16>) -> tensor<2x4x8xbf16>
  %3 = nn.linear %1, %w {transpose_weight} : (tensor<2x4x8xbf16>, tensor<8x8xbf16>) -> tensor<2x4x8xbf16>
  %4 = nn.add %2, %3 : tensor<2x4x8xbf16>
  // CHECK-NEXT: return %[[Y]], %[[Z]]
  return %1, %4 : tensor<2x4x8xbf16>, tensor<2x4x8xbf16>
}

// CHECK-LABEL: func.func @no_residuals
// CHECK-NOT: residual
func.func @no_residuals(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // The product is read elsewhere.
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nn.add %x, %0 : tensor<4x8xf32>
  // A kernel would make what is added for this alone.
  %2 = nn.gelu %y : tensor<4x8xf32>
  %3 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = nn.add %2, %3 : tensor<4x8xf32>
  // It is made behind the product.
  %5 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %6 = nn.matmul %y, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %7 = nn.add %5, %6 : tensor<4x8xf32>
  return %0, %1, %4, %7 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @bias_gradients
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x4x8xbf16>, %[[DY:[^:]*]]: tensor<2x4x6xbf16>)
func.func @bias_gradients(%x: tensor<2x4x8xbf16>, %dy: tensor<2x4x6xbf16>) -> (tensor<8x6xf32>, tensor<6xf32>) {
  // CHECK-NEXT: %[[DW:.*]], %[[SUMS:.*]] = nn.linear_weight_grad %[[X]], %[[DY]] : (tensor<2x4x8xbf16>, tensor<2x4x6xbf16>) -> (tensor<8x6xf32>, tensor<6xf32>)
  // CHECK-NEXT: %[[ROW:.*]] = nn.reshape %[[SUMS]] : (tensor<6xf32>) -> tensor<1x1x6xf32>
  // CHECK-NEXT: %[[DB:.*]] = nn.reshape %[[ROW]]
  // CHECK-NEXT: return %[[DW]], %[[DB]]
  %dw = nn.linear_weight_grad %x, %dy : (tensor<2x4x8xbf16>, tensor<2x4x6xbf16>) -> tensor<8x6xf32>
  %0 = nn.reduce_sum %dy [0, 1] : (tensor<2x4x6xbf16>) -> tensor<1x1x6xf32>
  %db = nn.reshape %0 : (tensor<1x1x6xf32>) -> tensor<6xf32>
  return %dw, %db : tensor<8x6xf32>, tensor<6xf32>
}

// Another type, other dims, and a sum that is read before the product is there.
// CHECK-LABEL: func.func @other_sums
// CHECK-COUNT-3: nn.reduce_sum
func.func @other_sums(%x: tensor<4x8xbf16>, %dy: tensor<4x6xbf16>) -> (tensor<8x6xf32>, tensor<1x6xbf16>, tensor<4x1xf32>, tensor<6xf32>) {
  %2 = nn.reduce_sum %dy [0] : (tensor<4x6xbf16>) -> tensor<1x6xf32>
  %3 = nn.reshape %2 : (tensor<1x6xf32>) -> tensor<6xf32>
  %dw = nn.linear_weight_grad %x, %dy : (tensor<4x8xbf16>, tensor<4x6xbf16>) -> tensor<8x6xf32>
  %0 = nn.reduce_sum %dy [0] : (tensor<4x6xbf16>) -> tensor<1x6xbf16>
  %1 = nn.reduce_sum %dy [1] : (tensor<4x6xbf16>) -> tensor<4x1xf32>
  return %dw, %0, %1, %3 : tensor<8x6xf32>, tensor<1x6xbf16>, tensor<4x1xf32>, tensor<6xf32>
}
