// RUN: shardc-opt %s -split-input-file -nn-sum-over-ranks="mesh=8" -verify-diagnostics | FileCheck %s
// RUN: shardc-opt %s -split-input-file -nn-sum-over-ranks="mesh=1" | FileCheck %s --check-prefix=ALONE
// RUN: shardc-opt %s -split-input-file -nn-sum-over-ranks="mesh=2x4 statistics=sync" | FileCheck %s --check-prefix=SYNC
// ALONE-NOT: rank_sum

// A masked mean: its sum, and its count of integers, are those of all ranks; the gradient of the sum is the same on each.
// CHECK-LABEL: @model
// CHECK: %[[S:.*]] = nn.reduce_sum %{{.*}} [0, 1]
// CHECK: %[[OWN:.*]] = nn.stop_gradient %[[S]]
// CHECK: %[[ALL:.*]] = fsdp.rank_sum %[[OWN]] : tensor<1x1xf32>
// CHECK: %[[EIGHT:.*]] = nn.constant dense<8.0
// CHECK: %[[SHARE:.*]] = nn.mul %[[S]], %[[EIGHT]]
// CHECK: %[[SUM:.*]] = nn.straight_through %[[ALL]] to %[[SHARE]]
// CHECK: %[[N:.*]] = nn.reduce_sum %{{.*}} [0, 1] : (tensor<4x16xi64>)
// CHECK: %[[WIDE:.*]] = nn.cast %[[N]] : (tensor<1x1xi64>) -> tensor<1x1xf64>
// CHECK: %[[COUNTS:.*]] = fsdp.rank_sum %[[WIDE]]
// CHECK: %[[COUNT:.*]] = nn.cast %[[COUNTS]] : (tensor<1x1xf64>) -> tensor<1x1xi64>
// CHECK: nn.max %[[COUNT]]
// CHECK: nn.div %[[SUM]]
func.func @model(%x: tensor<4x16xf32> {nn.name = "x", nn.role = "input"}, %m: tensor<4x16xi64> {nn.name = "m", nn.role = "input"}) -> tensor<f32> {
  %f = nn.cast %m : (tensor<4x16xi64>) -> tensor<4x16xf32>
  %masked = nn.mul %x, %f : tensor<4x16xf32>
  %s = nn.reduce_sum %masked [0, 1] {nn.sample_sum = {factor = 1.0 : f64}} : (tensor<4x16xf32>) -> tensor<1x1xf32>
  %n = nn.reduce_sum %m [0, 1] {nn.sample_sum = {factor = 1.0 : f64}} : (tensor<4x16xi64>) -> tensor<1x1xi64>
  %one = nn.constant dense<1> : tensor<1x1xi64>
  %least = nn.max %n, %one : tensor<1x1xi64>
  %c = nn.cast %least : (tensor<1x1xi64>) -> tensor<1x1xf32>
  %q = nn.div %s, %c : tensor<1x1xf32>
  %loss = nn.reshape %q : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// What one process has is a mean over ranks, or another share of the sum.
// CHECK-LABEL: @model
// CHECK: nn.reduce_mean
// CHECK: fsdp.rank_sum
// CHECK: nn.constant dense<1.250000e-01>
// CHECK: nn.reduce_sum
// CHECK: fsdp.rank_sum
// CHECK: nn.constant dense<0.0967741906>
// CHECK: nn.constant dense<0.774193525>
func.func @model(%x: tensor<4x2xf32> {nn.name = "x", nn.role = "input"}) -> tensor<f32> {
  %m = nn.reduce_mean %x [0, 1] {nn.sample_sum = {factor = 0.125 : f64}} : (tensor<4x2xf32>) -> tensor<1x1xf32>
  %exp = nn.exp %m : tensor<1x1xf32>
  %v = nn.reduce_sum %x [0] {nn.sample_sum = {factor = 0.0967741935 : f64}} : (tensor<4x2xf32>) -> tensor<1x2xf32>
  %less = nn.constant dense<0.333333333> : tensor<1x2xf32>
  %u = nn.mul %v, %less : tensor<1x2xf32>
  %e = nn.exp %u : tensor<1x2xf32>
  %es = nn.reduce_sum %e [1] : (tensor<1x2xf32>) -> tensor<1x1xf32>
  %a = nn.add %exp, %es : tensor<1x1xf32>
  %loss = nn.reshape %a : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Behind a statistic stands a parameter: it is the model's. The ranks' gradients are summed, since each has samples of its own.
nn.parameter @w : tensor<8xf32> {initializer = "w", file = "", offset = 0 : i64, length = 32 : i64, stored_type = f32, trainable}
// CHECK-LABEL: @model
// CHECK-NOT: rank_sum
// SYNC: nn.parameter @w
// SYNC: %[[MEAN:.*]] = nn.reduce_mean %{{.*}} [0]
// SYNC: %[[ALL:.*]] = fsdp.rank_sum %[[MEAN]]
// SYNC-NOT: straight_through
// SYNC: nn.broadcast
func.func @model(%x: tensor<4x8xf32> {nn.name = "x", nn.role = "input"}) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<8xf32>
  // expected-warning @below {{the model uses sums over a batch's samples as batch norms use their statistics}}
  %mean = nn.reduce_mean %x [0] {nn.sample_sum = {factor = 0.125 : f64, meets_samples, statistic}} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %all = nn.broadcast %mean : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %d = nn.sub %x, %all : tensor<4x8xf32>
  %row = nn.reshape %w : (tensor<8xf32>) -> tensor<1x8xf32>
  %rows = nn.broadcast %row : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %y = nn.mul %d, %rows : tensor<4x8xf32>
  %m = nn.reduce_mean %y [0, 1] : (tensor<4x8xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %m : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Samples that are multiplied with each other are told; so is a sum of which it is not known what one process has, and no other is
// summed then.
// CHECK-LABEL: @model
// CHECK-NOT: rank_sum
func.func @model(%x: tensor<4x8xf32> {nn.name = "x", nn.role = "input"}) -> tensor<f32> {
  // expected-warning @below {{samples of a batch are computed with each other}}
  %scores = nn.matmul %x, %x {nn.mixes_samples, transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %m = nn.reduce_mean %scores [0, 1] : (tensor<4x4xf32>) -> tensor<1x1xf32>
  // expected-warning @below {{in ways that were not followed to all samples}}
  %n = nn.reduce_sum %x [0, 1] {nn.sample_sum = {factor = 0.0 : f64}} : (tensor<4x8xf32>) -> tensor<1x1xf32>
  %q = nn.div %m, %n : tensor<1x1xf32>
  %loss = nn.reshape %q : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
