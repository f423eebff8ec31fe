// RUN: shardc-opt %s -nn-raise | FileCheck %s
//
// Exporters guard softmax against rows of which every score is masked;
// nn.attention gives zeros there itself.

// torch.export's decomposition of scaled_dot_product_attention: all(scores == -inf).
// CHECK-LABEL: @all_scores
// CHECK: nn.attention
// CHECK-NOT: nn.softmax
func.func @all_scores(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi1>) -> tensor<2x4x2x8xf32> {
  %qt = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %kt = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %vt = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %product = nn.matmul %qt, %kt : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %low = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %masked = nn.reshape %mask : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %all = nn.broadcast %masked : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
  %scores = nn.select %all, %low, %product : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %p = nn.softmax %scores : tensor<2x2x4x4xf32>
  %each = nn.compare eq %scores, %low : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xi1>
  %numbers = nn.cast %each : (tensor<2x2x4x4xi1>) -> tensor<2x2x4x4xi64>
  %least = nn.reduce_min %numbers [3] : (tensor<2x2x4x4xi64>) -> tensor<2x2x4x1xi64>
  %rows = nn.cast %least : (tensor<2x2x4x1xi64>) -> tensor<2x2x4x1xi1>
  %guard = nn.broadcast %rows : (tensor<2x2x4x1xi1>) -> tensor<2x2x4x4xi1>
  %safe = nn.select %guard, %zero, %p : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.matmul %safe, %vt : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %result = nn.transpose %y [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %result : tensor<2x4x2x8xf32>
}

// The same, as it writes it in the end: not any(not(scores == -inf)).
// CHECK-LABEL: @not_any_score_is_left
// CHECK: nn.attention
// CHECK-NOT: nn.softmax
func.func @not_any_score_is_left(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi1>) -> tensor<2x4x2x8xf32> {
  %qt = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %kt = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %vt = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %product = nn.matmul %qt, %kt : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %low = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %masked = nn.reshape %mask : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %all = nn.broadcast %masked : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
  %scores = nn.select %all, %low, %product : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %p = nn.softmax %scores : tensor<2x2x4x4xf32>
  %each = nn.compare eq %scores, %low : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xi1>
  %left = nn.not %each : tensor<2x2x4x4xi1>
  %numbers = nn.cast %left : (tensor<2x2x4x4xi1>) -> tensor<2x2x4x4xi64>
  %largest = nn.reduce_max %numbers [3] : (tensor<2x2x4x4xi64>) -> tensor<2x2x4x1xi64>
  %any = nn.cast %largest : (tensor<2x2x4x1xi64>) -> tensor<2x2x4x1xi1>
  %rows = nn.not %any : tensor<2x2x4x1xi1>
  %guard = nn.broadcast %rows : (tensor<2x2x4x1xi1>) -> tensor<2x2x4x4xi1>
  %safe = nn.select %guard, %zero, %p : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.matmul %safe, %vt : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %result = nn.transpose %y [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %result : tensor<2x4x2x8xf32>
}

// PyTorch's exporter by tracing counts what is left; a guard may say which rows stay.
// CHECK-LABEL: @some_scores_are_left
// CHECK: nn.attention
// CHECK-NOT: nn.softmax
func.func @some_scores_are_left(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi1>) -> tensor<2x4x2x8xf32> {
  %qt = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %kt = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %vt = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %product = nn.matmul %qt, %kt : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %low = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %masked = nn.reshape %mask : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %all = nn.broadcast %masked : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
  %scores = nn.select %all, %low, %product : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %p = nn.softmax %scores : tensor<2x2x4x4xf32>
  %left = nn.compare ne %scores, %low : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xi1>
  %numbers = nn.cast %left : (tensor<2x2x4x4xi1>) -> tensor<2x2x4x4xi64>
  %count = nn.reduce_sum %numbers [3] : (tensor<2x2x4x4xi64>) -> tensor<2x2x4x1xi64>
  %none = nn.constant dense<0> : tensor<2x2x4x1xi64>
  %rows = nn.compare gt %count, %none : (tensor<2x2x4x1xi64>, tensor<2x2x4x1xi64>) -> tensor<2x2x4x1xi1>
  %guard = nn.broadcast %rows : (tensor<2x2x4x1xi1>) -> tensor<2x2x4x4xi1>
  %safe = nn.select %guard, %p, %zero : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.matmul %safe, %vt : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %result = nn.transpose %y [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %result : tensor<2x4x2x8xf32>
}

// ONNX's function of Attention: the largest of what is added to a row is -inf.
// CHECK-LABEL: @largest_of_the_bias
// CHECK: nn.attention
// CHECK-NOT: nn.softmax
func.func @largest_of_the_bias(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %bias: tensor<4x4xf32>) -> tensor<2x4x2x8xf32> {
  %qt = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %kt = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %vt = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %product = nn.matmul %qt, %kt : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %low = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %square = nn.reshape %bias : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
  %biases = nn.broadcast %square : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %scores = nn.add %product, %biases : tensor<2x2x4x4xf32>
  %p = nn.softmax %scores : tensor<2x2x4x4xf32>
  %largest = nn.reduce_max %bias [1] : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %lowest = nn.constant dense<0xFF800000> : tensor<4x1xf32>
  %rows = nn.compare eq %largest, %lowest : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xi1>
  %row = nn.reshape %rows : (tensor<4x1xi1>) -> tensor<1x1x4x1xi1>
  %guard = nn.broadcast %row : (tensor<1x1x4x1xi1>) -> tensor<2x2x4x4xi1>
  %safe = nn.select %guard, %zero, %p : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.matmul %safe, %vt : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %result = nn.transpose %y [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %result : tensor<2x4x2x8xf32>
}

// Rows that another bias masks would not be zeros.
// CHECK-LABEL: @another_bias
// CHECK-NOT: nn.attention
// CHECK: nn.softmax
func.func @another_bias(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %bias: tensor<4x4xf32>, %other: tensor<4x4xf32>) -> tensor<2x4x2x8xf32> {
  %qt = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %kt = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %vt = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %product = nn.matmul %qt, %kt : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %low = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %square = nn.reshape %bias : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
  %biases = nn.broadcast %square : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %scores = nn.add %product, %biases : tensor<2x2x4x4xf32>
  %p = nn.softmax %scores : tensor<2x2x4x4xf32>
  %largest = nn.reduce_max %other [1] : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %lowest = nn.constant dense<0xFF800000> : tensor<4x1xf32>
  %rows = nn.compare eq %largest, %lowest : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xi1>
  %row = nn.reshape %rows : (tensor<4x1xi1>) -> tensor<1x1x4x1xi1>
  %guard = nn.broadcast %row : (tensor<1x1x4x1xi1>) -> tensor<2x2x4x4xi1>
  %safe = nn.select %guard, %zero, %p : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.matmul %safe, %vt : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %result = nn.transpose %y [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %result : tensor<2x4x2x8xf32>
}

// Rows of which one score is masked are not masked.
// CHECK-LABEL: @any_score
// CHECK-NOT: nn.attention
// CHECK: nn.softmax
func.func @any_score(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %mask: tensor<2x4xi1>) -> tensor<2x4x2x8xf32> {
  %qt = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %kt = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %vt = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %product = nn.matmul %qt, %kt : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %low = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %masked = nn.reshape %mask : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
  %all = nn.broadcast %masked : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
  %scores = nn.select %all, %low, %product : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %p = nn.softmax %scores : tensor<2x2x4x4xf32>
  %each = nn.compare eq %scores, %low : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xi1>
  %numbers = nn.cast %each : (tensor<2x2x4x4xi1>) -> tensor<2x2x4x4xi64>
  %largest = nn.reduce_max %numbers [3] : (tensor<2x2x4x4xi64>) -> tensor<2x2x4x1xi64>
  %rows = nn.cast %largest : (tensor<2x2x4x1xi64>) -> tensor<2x2x4x1xi1>
  %guard = nn.broadcast %rows : (tensor<2x2x4x1xi1>) -> tensor<2x2x4x4xi1>
  %safe = nn.select %guard, %zero, %p : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.matmul %safe, %vt : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %result = nn.transpose %y [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %result : tensor<2x4x2x8xf32>
}

// Nor are columns rows: what the bias masks of a key, masked of the query of that place.
// CHECK-LABEL: @columns
// CHECK-NOT: nn.attention
// CHECK: nn.softmax
func.func @columns(%q: tensor<2x4x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %bias: tensor<4x4xf32>) -> tensor<2x4x2x8xf32> {
  %qt = nn.transpose %q [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %kt = nn.transpose %k [0, 2, 3, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x2x8x4xf32>
  %vt = nn.transpose %v [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %product = nn.matmul %qt, %kt : (tensor<2x2x4x8xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x4x4xf32>
  %low = nn.constant dense<0xFF800000> : tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x2x4x4xf32>
  %square = nn.reshape %bias : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
  %biases = nn.broadcast %square : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %scores = nn.add %product, %biases : tensor<2x2x4x4xf32>
  %p = nn.softmax %scores : tensor<2x2x4x4xf32>
  %largest = nn.reduce_max %bias [0] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %lowest = nn.constant dense<0xFF800000> : tensor<1x4xf32>
  %keys = nn.compare eq %largest, %lowest : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xi1>
  %rows = nn.reshape %keys : (tensor<1x4xi1>) -> tensor<4x1xi1>
  %row = nn.reshape %rows : (tensor<4x1xi1>) -> tensor<1x1x4x1xi1>
  %guard = nn.broadcast %row : (tensor<1x1x4x1xi1>) -> tensor<2x2x4x4xi1>
  %safe = nn.select %guard, %zero, %p : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = nn.matmul %safe, %vt : (tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  %result = nn.transpose %y [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %result : tensor<2x4x2x8xf32>
}
