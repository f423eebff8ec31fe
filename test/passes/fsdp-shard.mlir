// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard --fsdp-verify | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=none" --fsdp-shard=optimizer=sgd --fsdp-verify | FileCheck %s --check-prefix=NONE
// RUN: shardc-opt %s --fsdp-form-units=mesh=1 --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=ONE
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=prefetch=0 --fsdp-verify | FileCheck %s --check-prefix=AHEAD0
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=prefetch=9 --fsdp-verify | FileCheck %s --check-prefix=AHEAD9
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=optimizer=lion 2>&1 | FileCheck %s --check-prefix=LION
// RUN: not shardc-opt %s --fsdp-shard 2>&1 | FileCheck %s --check-prefix=NO-MESH

// An embedding tied to the head, two layers, a norm in the root.
//
// The root is gathered once in forward, for embedding and head; a unit's gather begins before its predecessor computes.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %arg2: tensor<f32> {nn.role = "loss_scale"}) {
// CHECK-DAG: %[[TABLE:.*]] = nn.get_parameter @table
// CHECK-DAG: %[[ROOT:.*]] = fsdp.all_gather_start @root forward
// CHECK: %[[L0:.*]] = fsdp.all_gather_start @layers.0 forward
// CHECK: %[[E:.*]]:2 = fsdp.all_gather_wait %[[ROOT]] : tensor<8x4xf32>, tensor<4xf32>
// CHECK-NEXT: nn.embedding %[[E]]#0
// CHECK-NEXT: nn.add {{.*}} %[[TABLE]]
// CHECK-NEXT: %[[L1:.*]] = fsdp.all_gather_start @layers.1 forward
// CHECK-NEXT: %[[W0:.*]]:2 = fsdp.all_gather_wait %[[L0]]
// CHECK-NEXT: nn.linear {{.*}} %[[W0]]#0, %[[W0]]#1
// CHECK-NEXT: fsdp.release @layers.0(%[[W0]]#0, %[[W0]]#1)
// CHECK-NEXT: %[[W1:.*]]:2 = fsdp.all_gather_wait %[[L1]]
// CHECK-NEXT: %[[T1:.*]] = nn.transpose %[[W1]]#0
// CHECK-NEXT: nn.linear {{.*}} %[[T1]], %[[W1]]#1
// CHECK-NEXT: fsdp.release @layers.1
// CHECK-NEXT: nn.rms_norm {{.*}} %[[E]]#1
// CHECK-NEXT: nn.linear_cross_entropy_grad {{.*}} %[[E]]#0
// CHECK-NEXT: fsdp.release @root(%[[E]]#0, %[[E]]#1)
//
// Backward gathers again; a view of the forward buffer is made anew.
// CHECK: %[[ROOT2:.*]] = fsdp.all_gather_start @root backward
// CHECK: %[[L1B:.*]] = fsdp.all_gather_start @layers.1 backward
// CHECK: %[[E2:.*]]:2 = fsdp.all_gather_wait %[[ROOT2]]
// CHECK-NEXT: nn.rms_norm_grad {{.*}} %[[E2]]#1
// CHECK-NEXT: fsdp.release @root(%[[E2]]#0, %[[E2]]#1)
//
// A reduce-scatter begins with the unit's last gradient, in the order of the flat buffer.
// CHECK: %[[DW1:.*]] = nn.linear_weight_grad
// CHECK-NEXT: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1(%[[DW1]], %{{.*}}) : tensor<4x4xf32>, tensor<4xf32>
// CHECK-NEXT: fsdp.all_gather_start @layers.0 backward
// CHECK-NEXT: %[[W1B:.*]]:2 = fsdp.all_gather_wait %[[L1B]]
// CHECK-NEXT: %[[T1B:.*]] = nn.transpose %[[W1B]]#0
// CHECK-NEXT: nn.linear {{.*}} %[[T1B]]
// CHECK-NEXT: fsdp.release @layers.1
// CHECK: %[[S0:.*]] = fsdp.reduce_scatter_start @layers.0
// CHECK: fsdp.release @layers.0
// CHECK: nn.embedding_grad
//
// Two flat gradients are alive at most; the root's are complete last.
// CHECK: %[[G1:.*]] = fsdp.reduce_scatter_wait %[[S1]] : tensor<12xf32>
// CHECK-NEXT: %[[SR:.*]] = fsdp.reduce_scatter_start @root
// CHECK-NEXT: %[[G0:.*]] = fsdp.reduce_scatter_wait %[[S0]] : tensor<12xf32>
// CHECK-NEXT: %[[GR:.*]] = fsdp.reduce_scatter_wait %[[SR]] : tensor<20xf32>
// CHECK-NEXT: %[[N:.*]] = fsdp.squared_norm %[[GR]], %[[G0]], %[[G1]] {slices = 1 : i64}
// CHECK-NEXT: %[[LOSS:.*]] = nn.cast {{.*}} : (tensor<f32>) -> tensor<f64>
// CHECK-NEXT: %[[A:.*]] = fsdp.all_reduce_start optimizer(%[[LOSS]], %[[N]])
// CHECK-NEXT: %[[SUMS:.*]]:2 = fsdp.all_reduce_wait %[[A]]
// CHECK-NEXT: fsdp.report "loss" %[[SUMS]]#0
// CHECK-NEXT: fsdp.report "squared_norm" %[[SUMS]]#1
// CHECK-NEXT: fsdp.optimizer_step @root(%[[GR]], %[[SUMS]]#1) "adamw"
// CHECK-NEXT: fsdp.optimizer_step @layers.0(%[[G0]], %[[SUMS]]#1) "adamw"
// CHECK-NEXT: fsdp.optimizer_step @layers.1(%[[G1]], %[[SUMS]]#1) "adamw"
// CHECK-NEXT: return
//
// A unit that @eval does not use is not gathered there.
// CHECK-LABEL: func.func @eval
// CHECK-NOT: @layers.1
// CHECK: fsdp.release @root
// CHECK: fsdp.all_reduce_start forward(%{{.*}}) : tensor<f64>
// CHECK: fsdp.report "loss"
// CHECK-NEXT: return

// Without sharding all gradients are on every rank, so the norm is too; only the loss is summed. The norm adds the slices
// that `full` has.
// NONE-LABEL: func.func @train
// NONE: fsdp.resident @root
// NONE-NOT: all_gather
// NONE: %[[S1:.*]] = fsdp.all_reduce_gradients_start @layers.1
// NONE: fsdp.all_reduce_gradients_wait %[[S1]] : tensor<24xf32>
// NONE: %[[N:.*]] = fsdp.squared_norm {{.*}} {slices = 2 : i64}
// NONE: fsdp.all_reduce_start optimizer(%{{[0-9]+}}) : tensor<f64>
// NONE: fsdp.report "squared_norm" %[[N]]
// NONE: fsdp.optimizer_step @root(%{{.*}}, %[[N]]) "sgd" : tensor<40xf32>

// One rank talks to nobody.
// ONE-NOT: _start
// ONE-LABEL: func.func @train
// ONE: fsdp.resident @layers.1
// ONE-NOT: _start
// ONE: %[[G:.*]] = fsdp.flat_gradients @layers.1({{.*}}) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<20xf32>
// ONE-NOT: _start
// ONE: fsdp.report "loss" %{{.*}} : tensor<f32>
// ONE: fsdp.optimizer_step @layers.1(%[[G]],

// AHEAD0-LABEL: func.func @train
// AHEAD0: %[[T:.*]] = fsdp.all_gather_start @layers.0 forward
// AHEAD0-NEXT: fsdp.all_gather_wait %[[T]]

// However far ahead, a unit is not gathered again before it was released.
// AHEAD9-LABEL: func.func @train
// AHEAD9: fsdp.all_gather_start @root forward
// AHEAD9-NEXT: fsdp.all_gather_start @layers.0 forward
// AHEAD9-NEXT: fsdp.all_gather_start @layers.1 forward
// AHEAD9-NEXT: fsdp.all_gather_wait
// AHEAD9: fsdp.release @root
// AHEAD9-NEXT: fsdp.all_gather_start @root backward
// AHEAD9-NEXT: fsdp.all_gather_start @layers.1 backward
// AHEAD9-NEXT: fsdp.all_gather_start @layers.0 backward

// LION: error: optimizer lion: there are adamw, adam and sgd
// NO-MESH: error: expects fsdp.mesh and @train; run nn-differentiate and fsdp-form-units first
nn.parameter @embed.weight : tensor<8x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.weight : tensor<4x4xf32> {initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.bias : tensor<4xf32> {initializer = "2", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.weight : tensor<4x4xf32> {initializer = "3", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.bias : tensor<4xf32> {initializer = "4", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @norm.weight : tensor<4xf32> {initializer = "5", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @table : tensor<2x4xf32> {initializer = "6", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32}

func.func @train(%ids: tensor<2xi64> {nn.name = "input_ids", nn.role = "input"}, %labels: tensor<2xi64> {nn.role = "labels"}, %scale: tensor<f32> {nn.role = "loss_scale"})
    -> (tensor<f32>, tensor<8x4xf32> {nn.gradient_of = @embed.weight}, tensor<4x4xf32> {nn.gradient_of = @layers.0.weight}, tensor<4xf32> {nn.gradient_of = @layers.0.bias},
        tensor<4x4xf32> {nn.gradient_of = @layers.1.weight}, tensor<4xf32> {nn.gradient_of = @layers.1.bias}, tensor<4xf32> {nn.gradient_of = @norm.weight}) {
  %embed = nn.get_parameter @embed.weight : tensor<8x4xf32>
  %w0 = nn.get_parameter @layers.0.weight : tensor<4x4xf32>
  %b0 = nn.get_parameter @layers.0.bias : tensor<4xf32>
  %w1 = nn.get_parameter @layers.1.weight : tensor<4x4xf32>
  %w1t = nn.transpose %w1 [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b1 = nn.get_parameter @layers.1.bias : tensor<4xf32>
  %gamma = nn.get_parameter @norm.weight : tensor<4xf32>
  %table = nn.get_parameter @table : tensor<2x4xf32>
  %x0 = nn.embedding %embed, %ids : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %p0 = nn.add %x0, %table : tensor<2x4xf32>
  %x1 = nn.linear %p0, %w0, %b0 {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %x2 = nn.linear %x1, %w1t, %b1 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %x3, %rstd = nn.rms_norm %x2, %gamma {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %loss, %dx3, %dhead = nn.linear_cross_entropy_grad %x3, %embed labels %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64, transpose_weight, resultSegmentSizes = array<i32: 1, 1, 1, 0>}
    : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<2xi64>, tensor<f32>) -> (tensor<f32>, tensor<2x4xf32>, tensor<8x4xf32>)
  %dgamma = nn.rms_norm_param_grad %dx3, %x2, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<4xf32>
  %dx2 = nn.rms_norm_grad %dx3, %x2, %gamma, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %db1k = nn.reduce_sum %dx2 [0] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %db1 = nn.reshape %db1k : (tensor<1x4xf32>) -> tensor<4xf32>
  %dw1 = nn.linear_weight_grad %x1, %dx2 {transpose_weight} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %dx1 = nn.linear %dx2, %w1t {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %db0k = nn.reduce_sum %dx1 [0] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %db0 = nn.reshape %db0k : (tensor<1x4xf32>) -> tensor<4xf32>
  %dw0 = nn.linear_weight_grad %p0, %dx1 {transpose_weight} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %dx0 = nn.linear %dx1, %w0 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %dtable = nn.embedding_grad %dx0, %ids : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<8x4xf32>
  %dembed = nn.add %dhead, %dtable : tensor<8x4xf32>
  return %loss, %dembed, %dw0, %db0, %dw1, %db1, %dgamma : tensor<f32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func @eval(%ids: tensor<2xi64>, %labels: tensor<2xi64>, %scale: tensor<f32>) -> tensor<f32> {
  %embed = nn.get_parameter @embed.weight : tensor<8x4xf32>
  %x0 = nn.embedding %embed, %ids : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %w0 = nn.get_parameter @layers.0.weight : tensor<4x4xf32>
  %b0 = nn.get_parameter @layers.0.bias : tensor<4xf32>
  %x1 = nn.linear %x0, %w0, %b0 {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %loss = nn.linear_cross_entropy %x1, %embed labels %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64, transpose_weight}
    : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
