// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard --fsdp-verify | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=grad_op" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=GRAD-OP
// RUN: shardc-opt %s --fsdp-form-units=mesh=2x2 --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=HYBRID
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=hybrid_opt" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=HYBRID-OPT
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=opt" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=OPT
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=none" --fsdp-shard=optimizer=sgd --fsdp-verify | FileCheck %s --check-prefix=NONE
// RUN: shardc-opt %s --fsdp-form-units="mesh=2x2 strategy=none" --fsdp-shard=accumulate=sharded --fsdp-verify | FileCheck %s --check-prefix=NONE-SHARDED
// RUN: shardc-opt %s --fsdp-form-units=mesh=1 --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=ONE
// RUN: shardc-opt %s --fsdp-form-units=mesh=2x1 --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=ONE-SHARD
// RUN: shardc-opt %s --fsdp-form-units=mesh=1x2 --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=ONE-REPLICA
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 reshard=always" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=ALWAYS
// RUN: shardc-opt %s --fsdp-form-units="mesh=4 reshard=2" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=KEEP
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=accumulate=unsharded --fsdp-verify | FileCheck %s --check-prefix=UNSHARDED
// RUN: shardc-opt %s --fsdp-form-units=mesh=2x2 --fsdp-shard=accumulate=unsharded --fsdp-verify | FileCheck %s --check-prefix=UNSHARDED-HYBRID
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=prefetch=0 --fsdp-verify | FileCheck %s --check-prefix=AHEAD0
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=prefetch=9 --fsdp-verify | FileCheck %s --check-prefix=AHEAD9
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard="optimizer=muon newton-schulz-steps=1" --fsdp-verify | FileCheck %s --check-prefix=MUON
// RUN: shardc-opt %s --fsdp-form-units=mesh=1 --fsdp-shard="optimizer=muon matrices=s.1.w" --fsdp-verify | FileCheck %s --check-prefix=MUON-ONE
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard="optimizer=muon matrices=bias" 2>&1 | FileCheck %s --check-prefix=MUON-NAME
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 after-backward=never" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=STAYS
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2 after-backward=never reshard=always" 2>&1 | FileCheck %s --check-prefix=STAYS-NOT-AFTER
// RUN: not shardc-opt %s --fsdp-form-units="mesh=2 after-backward=half" 2>&1 | FileCheck %s --check-prefix=STAYS-HOW
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=optimizer=adamax 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=prefetch=-1 2>&1 | FileCheck %s --check-prefix=PREFETCH
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=accumulate=half 2>&1 | FileCheck %s --check-prefix=ACCUMULATE
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=update=backward --fsdp-verify | FileCheck %s --check-prefix=UPDATE
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=update=half 2>&1 | FileCheck %s --check-prefix=UPDATE-KIND
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard="update=backward optimizer=muon" 2>&1 | FileCheck %s --check-prefix=UPDATE-MUON
// RUN: not shardc-opt %s --fsdp-shard 2>&1 | FileCheck %s --check-prefix=NO-MESH

// An embedding tied to the head, two layers, a norm in the root.
//
// A unit's gather begins before its predecessor computes. The root, used last in forward and first in backward, is gathered once.
// CHECK: module attributes {fsdp.accumulate = "sharded"}
// CHECK-LABEL: func.func @train
// CHECK-SAME: %arg2: tensor<f32> {nn.role = "loss_scale"}) {
// CHECK-DAG: %[[TABLE:.*]] = nn.get_parameter @table
// CHECK-DAG: %[[ROOT:.*]] = fsdp.all_gather_start @root forward over @world
// CHECK: %[[L0:.*]] = fsdp.all_gather_start @layers.0 forward over @world
// CHECK: %[[E:.*]]:2 = fsdp.all_gather_wait %[[ROOT]] : tensor<8x4xf32>, tensor<4xf32>
// CHECK-NEXT: nn.embedding %[[E]]#0
// CHECK-NEXT: nn.add {{.*}} %[[TABLE]]
// CHECK-NEXT: %[[L1:.*]] = fsdp.all_gather_start @layers.1 forward over @world
// CHECK-NEXT: %[[W0:.*]]:2 = fsdp.all_gather_wait %[[L0]]
// CHECK-NEXT: nn.linear {{.*}} %[[W0]]#0, %[[W0]]#1
// CHECK-NEXT: fsdp.release @layers.0(%[[W0]]#0, %[[W0]]#1)
// CHECK-NEXT: %[[W1:.*]]:2 = fsdp.all_gather_wait %[[L1]]
// CHECK-NEXT: %[[T1:.*]] = nn.transpose %[[W1]]#0
// CHECK-NEXT: nn.linear {{.*}} %[[T1]], %[[W1]]#1
// CHECK-NEXT: fsdp.release @layers.1(%[[W1]]#0, %[[W1]]#1)
//
// Backward gathers the layers again; a view of the forward buffer is made anew.
// CHECK-NEXT: %[[L1B:.*]] = fsdp.all_gather_start @layers.1 backward over @world
// CHECK-NEXT: nn.rms_norm {{.*}} %[[E]]#1
// CHECK-NEXT: %[[LOSS:[^,]*]], {{.*}} = nn.linear_cross_entropy_grad {{.*}} %[[E]]#0
// CHECK-NEXT: nn.rms_norm_param_grad
// CHECK-NEXT: nn.rms_norm_grad {{.*}} %[[E]]#1
// CHECK-NEXT: fsdp.release @root(%[[E]]#0, %[[E]]#1)
//
// A reduce-scatter begins with the unit's last gradient, in the order of the flat buffer.
// CHECK: %[[DB1:.*]] = nn.reshape
// CHECK-NEXT: %[[DW1:.*]] = nn.linear_weight_grad
// CHECK-NEXT: %[[F1:.*]] = fsdp.flat_gradients @layers.1(%[[DW1]], %[[DB1]]) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<24xf32>
// CHECK-NEXT: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1 %[[F1]] over @world accumulated : tensor<24xf32>
// CHECK-NEXT: %[[L0B:.*]] = fsdp.all_gather_start @layers.0 backward over @world
// CHECK-NEXT: %[[W1B:.*]]:2 = fsdp.all_gather_wait %[[L1B]]
// CHECK-NEXT: %[[T1B:.*]] = nn.transpose %[[W1B]]#0
// CHECK-NEXT: nn.linear {{.*}} %[[T1B]]
// CHECK-NEXT: fsdp.release @layers.1(%[[W1B]]#0, %[[W1B]]#1)
// CHECK: %[[F0:.*]] = fsdp.flat_gradients @layers.0
// CHECK-NEXT: %[[S0:.*]] = fsdp.reduce_scatter_start @layers.0 %[[F0]] over @world accumulated
// CHECK-NEXT: %[[W0B:.*]]:2 = fsdp.all_gather_wait %[[L0B]]
// CHECK-NEXT: nn.linear {{.*}} %[[W0B]]#0
// CHECK-NEXT: fsdp.release @layers.0(%[[W0B]]#0, %[[W0B]]#1)
// CHECK: nn.embedding_grad
//
// Two flat gradients are alive at most; the root's are complete last. Reductions add micro-batches up, too.
// CHECK: %[[G1:.*]] = fsdp.reduce_scatter_wait %[[S1]] : tensor<12xf32>
// CHECK-NEXT: %[[FR:.*]] = fsdp.flat_gradients @root
// CHECK-NEXT: %[[SR:.*]] = fsdp.reduce_scatter_start @root %[[FR]] over @world accumulated : tensor<40xf32>
// CHECK-NEXT: %[[G0:.*]] = fsdp.reduce_scatter_wait %[[S0]] : tensor<12xf32>
// CHECK-NEXT: %[[GR:.*]] = fsdp.reduce_scatter_wait %[[SR]] : tensor<20xf32>
// CHECK-NEXT: %[[LOSS64:.*]] = nn.cast %[[LOSS]] : (tensor<f32>) -> tensor<f64>
// CHECK-NEXT: %[[EXACT:.*]] = fsdp.exact_sum %[[LOSS64]] : tensor<f64> -> tensor<68xi64>
// CHECK-NEXT: %[[LOSSES:.*]] = fsdp.accumulate %[[EXACT]] in i64 : tensor<68xi64>
// CHECK-NEXT: %[[N:.*]] = fsdp.gradient_norm %[[GR]], %[[G0]], %[[G1]] : {{.*}} -> tensor<68xi64>
// CHECK-NEXT: %[[A:.*]] = fsdp.all_reduce_start optimizer(%[[LOSSES]], %[[N]]) over @world {norms = array<i1: false, true>}
// CHECK-NEXT: %[[SUMS:.*]]:2 = fsdp.all_reduce_wait %[[A]]
// CHECK-NEXT: %[[TOTAL:.*]] = fsdp.round_sum %[[SUMS]]#0 : tensor<68xi64> -> tensor<f64>
// CHECK-NEXT: fsdp.metric "loss" %[[TOTAL]]
// CHECK-NEXT: %[[NORM:.*]] = fsdp.round_sum %[[SUMS]]#1 norm : tensor<68xi64> -> tensor<f64>
// CHECK-NEXT: fsdp.metric "gradient_norm" %[[NORM]]
// CHECK-NEXT: fsdp.optimizer_step @root(%[[GR]], %[[NORM]]) "adamw"
// CHECK-NEXT: fsdp.optimizer_step @layers.0(%[[G0]], %[[NORM]]) "adamw"
// CHECK-NEXT: fsdp.optimizer_step @layers.1(%[[G1]], %[[NORM]]) "adamw"
// CHECK-NEXT: return
//
// A unit that @eval does not use is not gathered there. Nothing is accumulated: @eval runs once per batch.
// CHECK-LABEL: func.func @eval
// CHECK-NOT: @layers.1
// CHECK-NOT: fsdp.accumulate
// CHECK: fsdp.release @root
// CHECK: fsdp.all_reduce_start forward(%{{.*}}) over @world {norms = array<i1: false>} : tensor<68xi64>
// CHECK: fsdp.metric "loss"
// CHECK-NEXT: return

// Every unit stays gathered from forward to backward.
// GRAD-OP-LABEL: func.func @train
// GRAD-OP: %[[L0:.*]] = fsdp.all_gather_start @layers.0 forward
// GRAD-OP: %[[W0:.*]]:2 = fsdp.all_gather_wait %[[L0]]
// GRAD-OP-NOT: fsdp.release
// GRAD-OP-NOT: fsdp.all_gather_start {{.*}} backward
// GRAD-OP: nn.linear_cross_entropy_grad
// GRAD-OP: fsdp.release @root
// GRAD-OP-NOT: fsdp.all_gather_start
// GRAD-OP: fsdp.reduce_scatter_start @layers.1 %{{.*}} over @world accumulated : tensor<24xf32>
// GRAD-OP: fsdp.release @layers.1
// GRAD-OP: fsdp.reduce_scatter_start @layers.0
// GRAD-OP-NEXT: nn.linear {{.*}} %[[W0]]#0
// GRAD-OP-NEXT: fsdp.release @layers.0(%[[W0]]#0, %[[W0]]#1)
// GRAD-OP: return

// Gathers and reduce-scatters stay among neighbours; the sums of their slices cross the other dimension in the last micro-batch.
// The loss is summed over both dimensions, the norm over the one that has other slices.
// HYBRID-LABEL: func.func @train
// HYBRID: fsdp.all_gather_start @layers.0 forward over @shard
// HYBRID: fsdp.all_gather_start @layers.1 backward over @shard
// HYBRID: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1 %{{.*}} over @shard accumulated : tensor<24xf32>
// HYBRID: %[[A1:.*]] = fsdp.reduce_scatter_wait %[[S1]] : tensor<12xf32>
// HYBRID-NEXT: %[[X1:.*]] = fsdp.all_reduce_gradients_start @layers.1 %[[A1]] over @replicate last : tensor<12xf32>
// HYBRID: %[[G1:.*]] = fsdp.all_reduce_gradients_wait %[[X1]] : tensor<12xf32>
// HYBRID: %[[LOSS:.*]] = fsdp.accumulate %{{.*}} in i64
// HYBRID-NEXT: %[[N:.*]] = fsdp.gradient_norm %{{.*}}, %{{.*}}, %[[G1]] :
// HYBRID-NEXT: %[[T:.*]] = fsdp.all_reduce_start optimizer(%[[LOSS]], %[[N]]) over @shard {norms = array<i1: false, true>}
// HYBRID-NEXT: %[[SUMS:.*]]:2 = fsdp.all_reduce_wait %[[T]]
// HYBRID-NEXT: %[[T2:.*]] = fsdp.all_reduce_start optimizer(%[[SUMS]]#0) over @replicate {norms = array<i1: false>}
// HYBRID-NEXT: %[[SUM:.*]] = fsdp.all_reduce_wait %[[T2]]
// HYBRID-NEXT: %[[TOTAL:.*]] = fsdp.round_sum %[[SUM]] :
// HYBRID-NEXT: fsdp.metric "loss" %[[TOTAL]]
// HYBRID-NEXT: %[[NORM:.*]] = fsdp.round_sum %[[SUMS]]#1 norm :
// HYBRID-NEXT: fsdp.metric "gradient_norm" %[[NORM]]
// HYBRID: fsdp.optimizer_step @layers.1(%[[G1]], %[[NORM]]) "adamw" : tensor<12xf32>
// HYBRID-NEXT: return
// HYBRID-LABEL: func.func @eval
// HYBRID: fsdp.all_reduce_start forward(%{{.*}}) over @shard
// HYBRID: fsdp.all_reduce_start forward(%{{.*}}) over @replicate

// The optimizer has a slice of the slice, and what it writes is gathered after it.
// HYBRID-OPT-LABEL: func.func @train
// HYBRID-OPT: fsdp.all_gather_start @layers.1 backward over @shard
// HYBRID-OPT: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1 %{{.*}} over @shard accumulated : tensor<32xf32>
// HYBRID-OPT: %[[A1:.*]] = fsdp.reduce_scatter_wait %[[S1]] : tensor<16xf32>
// HYBRID-OPT-NEXT: %[[X1:.*]] = fsdp.reduce_scatter_start @layers.1 %[[A1]] over @replicate last : tensor<16xf32>
// HYBRID-OPT: %[[G1:.*]] = fsdp.reduce_scatter_wait %[[X1]] : tensor<8xf32>
// HYBRID-OPT: fsdp.all_reduce_start optimizer(%{{.*}}, %{{.*}}) over @shard {norms = array<i1: false, true>}
// HYBRID-OPT: %[[T:.*]] = fsdp.all_reduce_start optimizer(%{{.*}}, %{{.*}}) over @replicate {norms = array<i1: false, true>}
// HYBRID-OPT-NEXT: %[[SUMS:.*]]:2 = fsdp.all_reduce_wait %[[T]]
// HYBRID-OPT: %[[NORM:.*]] = fsdp.round_sum %[[SUMS]]#1 norm
// HYBRID-OPT: fsdp.optimizer_step @layers.1(%[[G1]], %[[NORM]]) "adamw" : tensor<8xf32>
// HYBRID-OPT-NEXT: %[[UR:.*]] = fsdp.all_gather_updates_start @root over @replicate
// HYBRID-OPT-NEXT: %[[U0:.*]] = fsdp.all_gather_updates_start @layers.0 over @replicate
// HYBRID-OPT-NEXT: %[[U1:.*]] = fsdp.all_gather_updates_start @layers.1 over @replicate
// HYBRID-OPT-NEXT: fsdp.all_gather_updates_wait %[[UR]]
// HYBRID-OPT-NEXT: fsdp.all_gather_updates_wait %[[U0]]
// HYBRID-OPT-NEXT: fsdp.all_gather_updates_wait %[[U1]]
// HYBRID-OPT-NEXT: return
// HYBRID-OPT-LABEL: func.func @eval
// HYBRID-OPT-NOT: all_gather_updates

// Parameters lie on every rank, gradients go to the rank that updates their slice.
// OPT-LABEL: func.func @train
// OPT: fsdp.resident @root
// OPT-NOT: all_gather_start
// OPT: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1 %{{.*}} over @world accumulated : tensor<32xf32>
// OPT: %[[G1:.*]] = fsdp.reduce_scatter_wait %[[S1]] : tensor<8xf32>
// OPT: fsdp.optimizer_step @layers.1(%[[G1]], %{{.*}}) "adamw" : tensor<8xf32>
// OPT: fsdp.all_gather_updates_start @layers.1 over @world

// Without sharding all gradients are on every rank, so the norm is too; only the loss is summed. Flat gradients
// are added up, so that only the last micro-batch communicates.
// NONE: module attributes {fsdp.accumulate = "unsharded"}
// NONE-LABEL: func.func @train
// NONE: fsdp.resident @root
// NONE-NOT: all_gather
// NONE: %[[F1:.*]] = fsdp.flat_gradients @layers.1
// NONE-NEXT: %[[A1:.*]] = fsdp.accumulate %[[F1]] in f32
// NONE-NEXT: %[[S1:.*]] = fsdp.all_reduce_gradients_start @layers.1 %[[A1]] over @world last : tensor<32xf32>
// NONE: fsdp.all_reduce_gradients_wait %[[S1]] : tensor<32xf32>
// NONE: %[[N:.*]] = fsdp.gradient_norm
// NONE: fsdp.all_reduce_start optimizer(%{{[0-9]+}}) over @shard {norms = array<i1: false>} : tensor<68xi64>
// NONE: fsdp.all_reduce_start optimizer(%{{[0-9]+}}) over @replicate {norms = array<i1: false>} : tensor<68xi64>
// NONE: %[[NORM:.*]] = fsdp.round_sum %[[N]] norm
// NONE: fsdp.metric "gradient_norm" %[[NORM]]
// NONE: fsdp.optimizer_step @root(%{{.*}}, %[[NORM]]) "sgd" : tensor<48xf32>
// NONE-SHARDED: %[[F1:.*]] = fsdp.flat_gradients @layers.1
// NONE-SHARDED-NEXT: %[[S1:.*]] = fsdp.all_reduce_gradients_start @layers.1 %[[F1]] over @world accumulated : tensor<32xf32>
// NONE-SHARDED: %[[G1:.*]] = fsdp.all_reduce_gradients_wait %[[S1]] : tensor<32xf32>
// NONE-SHARDED: fsdp.optimizer_step @layers.1(%[[G1]],

// One rank talks to nobody.
// ONE-NOT: _start
// ONE-LABEL: func.func @train
// ONE: fsdp.resident @layers.1
// ONE-NOT: _start
// ONE: %[[F:.*]] = fsdp.flat_gradients @layers.1({{.*}}) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<20xf32>
// ONE-NOT: _start
// ONE: %[[G:.*]] = fsdp.accumulate %[[F]] in f32
// ONE-NOT: _start
// ONE: fsdp.metric "loss" %{{.*}} : tensor<f64>
// ONE: fsdp.optimizer_step @layers.1(%[[G]],
// ONE-NOT: _start

// Two replicas of one shard: nothing is gathered, the gradients are summed over the replicas.
// ONE-SHARD-LABEL: func.func @train
// ONE-SHARD: fsdp.resident @layers.1
// ONE-SHARD-NOT: all_gather
// ONE-SHARD: %[[A1:.*]] = fsdp.accumulate
// ONE-SHARD-NEXT: %[[S1:.*]] = fsdp.all_reduce_gradients_start @layers.1 %[[A1]] over @world last : tensor<20xf32>
// ONE-SHARD: %[[N:.*]] = fsdp.gradient_norm
// ONE-SHARD: fsdp.all_reduce_start optimizer(%{{[0-9]+}}) over @world
// ONE-SHARD: %[[NORM:.*]] = fsdp.round_sum %[[N]] norm
// ONE-SHARD: fsdp.metric "gradient_norm" %[[NORM]]
// One replica: nothing crosses.
// ONE-REPLICA-LABEL: func.func @train
// ONE-REPLICA-NOT: over @replicate
// ONE-REPLICA: fsdp.reduce_scatter_start @layers.1 %{{.*}} over @world accumulated : tensor<24xf32>
// ONE-REPLICA-NOT: all_reduce_gradients
// ONE-REPLICA: fsdp.all_reduce_start optimizer(%{{.*}}, %{{.*}}) over @world
// ONE-REPLICA-NEXT: fsdp.all_reduce_wait
// ONE-REPLICA: fsdp.metric "loss"

// Resharded like the others, the root is gathered again for backward, before its successor there.
// ALWAYS-LABEL: func.func @train
// ALWAYS: nn.linear_cross_entropy_grad
// ALWAYS-NEXT: fsdp.release @root
// ALWAYS-NEXT: %[[ROOT:.*]] = fsdp.all_gather_start @root backward over @world
// ALWAYS: %[[L1:.*]] = fsdp.all_gather_start @layers.1 backward over @world
// ALWAYS: %[[E:.*]]:2 = fsdp.all_gather_wait %[[ROOT]]
// ALWAYS-NEXT: nn.rms_norm_grad {{.*}} %[[E]]#1
// ALWAYS-NEXT: fsdp.release @root(%[[E]]#0, %[[E]]#1)
// ALWAYS: fsdp.all_gather_wait %[[L1]]

// A rank keeps half of a unit until backward, which gathers it between two neighbours; gradients go to all four.
// KEEP-LABEL: func.func @train
// KEEP: fsdp.all_gather_start @layers.1 forward over @world
// KEEP: %[[W0:.*]]:2 = fsdp.all_gather_wait
// KEEP-NEXT: nn.linear
// KEEP-NEXT: %[[K0:.*]] = fsdp.keep @layers.0(%[[W0]]#0, %[[W0]]#1) over @reshard.2 : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<16xf32>
// KEEP-NEXT: fsdp.release @layers.0(%[[W0]]#0, %[[W0]]#1)
// KEEP: %[[K1:.*]] = fsdp.keep @layers.1
// KEEP-NEXT: fsdp.release @layers.1
// KEEP: %[[KR:.*]] = fsdp.keep @root{{.*}} -> tensor<24xf32>
// KEEP-NEXT: fsdp.release @root
// KEEP-NEXT: fsdp.all_gather_start @root backward over @reshard.2 from %[[KR]] : tensor<24xf32>
// KEEP: fsdp.all_gather_start @layers.1 backward over @reshard.2 from %[[K1]] : tensor<16xf32>
// KEEP: fsdp.reduce_scatter_start @layers.1 %{{.*}} over @world accumulated : tensor<32xf32>
// KEEP-NEXT: fsdp.all_gather_start @layers.0 backward over @reshard.2 from %[[K0]] : tensor<16xf32>
// @eval has no backward to keep anything for.
// KEEP-LABEL: func.func @eval
// KEEP-NOT: fsdp.keep
// KEEP: return

// Flat gradients are added up, and reduced in the last micro-batch alone. Parameters are gathered in every one.
// UNSHARDED: module attributes {fsdp.accumulate = "unsharded"}
// UNSHARDED-LABEL: func.func @train
// UNSHARDED: fsdp.all_gather_start @layers.1 backward over @world{{$}}
// UNSHARDED: %[[F1:.*]] = fsdp.flat_gradients @layers.1
// UNSHARDED-NEXT: %[[A1:.*]] = fsdp.accumulate %[[F1]] in f32 : tensor<24xf32>
// UNSHARDED-NEXT: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1 %[[A1]] over @world last : tensor<24xf32>
// UNSHARDED: %[[G1:.*]] = fsdp.reduce_scatter_wait %[[S1]] : tensor<12xf32>
// UNSHARDED-NEXT: fsdp.flat_gradients @root
// UNSHARDED: fsdp.optimizer_step @layers.1(%[[G1]],
// UNSHARDED-HYBRID: %[[A1:.*]] = fsdp.accumulate %{{.*}} in f32 : tensor<24xf32>
// UNSHARDED-HYBRID-NEXT: %[[S1:.*]] = fsdp.reduce_scatter_start @layers.1 %[[A1]] over @shard last : tensor<24xf32>
// UNSHARDED-HYBRID: %[[R1:.*]] = fsdp.reduce_scatter_wait %[[S1]] : tensor<12xf32>
// UNSHARDED-HYBRID-NEXT: fsdp.all_reduce_gradients_start @layers.1 %[[R1]] over @replicate last : tensor<12xf32>

// Once in a step, and held to its end: no gather in backward.
// STAYS: fsdp.unit @layers.0 {{.*}}reshard = 1 : i64, shards = 2 : i64, stays}
// STAYS-LABEL: func.func @train
// STAYS-DAG: fsdp.all_gather_start @root forward over @world first
// STAYS-DAG: fsdp.all_gather_start @layers.0 forward over @world first
// STAYS-DAG: fsdp.all_gather_start @layers.1 forward over @world first
// STAYS-NOT: all_gather_start
// STAYS-LABEL: func.func @eval
// STAYS-NOT: over @world first

// STAYS-NOT-AFTER: error: unit {{.*}}: what is not resharded after backward cannot be after forward; expects
// STAYS-HOW: error: --reshard-after-backward half: expected always or never

// AHEAD0-LABEL: func.func @train
// AHEAD0: %[[T:.*]] = fsdp.all_gather_start @layers.0 forward
// AHEAD0-NEXT: fsdp.all_gather_wait %[[T]]
// AHEAD0: nn.linear_cross_entropy_grad
// AHEAD0: %[[T:.*]] = fsdp.all_gather_start @layers.1 backward
// AHEAD0-NEXT: fsdp.all_gather_wait %[[T]]

// However far ahead, a unit is not gathered again before it was released.
// AHEAD9-LABEL: func.func @train
// AHEAD9: fsdp.all_gather_start @root forward
// AHEAD9-NEXT: fsdp.all_gather_start @layers.0 forward
// AHEAD9-NEXT: fsdp.all_gather_start @layers.1 forward
// AHEAD9-NEXT: fsdp.all_gather_wait
// AHEAD9: fsdp.release @layers.1
// AHEAD9-NEXT: fsdp.all_gather_start @layers.1 backward
// AHEAD9-NEXT: fsdp.all_gather_start @layers.0 backward

// As many units as ranks go together; each matrix has an owner, who makes its update of the whole. Of the head there is no direction.
// MUON: nn.parameter @embed.weight {{.*}}nn.optimizer = "adamw"
// MUON: nn.parameter @layers.0.weight
// MUON-NOT: nn.optimizer
// MUON: nn.parameter @layers.0.bias {{.*}}nn.optimizer = "adamw"
// MUON-LABEL: func.func @train
// MUON: fsdp.metric "gradient_norm" %[[N:.*]] : tensor<f64>
// MUON-NEXT: fsdp.optimizer_step @root(%{{.*}}, %[[N]]) "muon" : tensor<20xf32>, tensor<f64>
// MUON-NEXT: %[[D0:.*]] = fsdp.matrix_direction @layers.0(%[[G0:.*]], %[[N]]) "muon" : (tensor<12xf32>, tensor<f64>) -> tensor<12xf32>
// MUON-NEXT: %[[D1:.*]] = fsdp.matrix_direction @layers.1(%[[G1:.*]], %[[N]]) "muon"
// MUON-NEXT: %[[T:.*]] = fsdp.gather_matrices_start(%[[D0]], %[[D1]])
// MUON-SAME: offsets = array<i64: 0, 0>, owners = array<i64: 0, 1>, slots = array<i64: 0, 0>, unit_of = array<i64: 0, 1>, units = [@layers.0, @layers.1]
// MUON-NEXT: %[[M:.*]] = fsdp.gather_matrices_wait %[[T]] : tensor<4x4xf32>
// MUON: %[[X:.*]] = nn.div %[[M]],
// MUON: %[[A:.*]] = nn.matmul %[[X]], %[[X]] {transpose_rhs}
// MUON: nn.matmul %[[A]], %[[A]]
// MUON: %[[B:.*]] = nn.add
// MUON-NEXT: nn.matmul %[[B]], %[[X]]
// MUON-NOT: nn.matmul
// MUON: %[[O:.*]] = nn.add
// MUON-NEXT: %[[S:.*]] = fsdp.scatter_matrices_start(%[[O]]) over(%[[D0]], %[[D1]]) {offsets = array<i64: 0, 0>, owners = array<i64: 0, 1>
// MUON-NEXT: %[[R:.*]]:2 = fsdp.scatter_matrices_wait %[[S]]
// MUON-NEXT: fsdp.optimizer_step @layers.0(%[[G0]], %[[N]]) "muon" along %[[R]]#0
// MUON-NEXT: fsdp.optimizer_step @layers.1(%[[G1]], %[[N]]) "muon" along %[[R]]#1
// MUON-NEXT: return

// MUON-ONE: fsdp.optimizer_step @root
// MUON-ONE-NEXT: fsdp.optimizer_step @layers.0({{[^)]*}}) "muon" : tensor
// MUON-ONE-NEXT: fsdp.matrix_direction @layers.1
// MUON-ONE-NEXT: fsdp.gather_matrices_start{{.*}} owners = array<i64: 0>
// MUON-ONE-COUNT-15: nn.matmul
// MUON-ONE: fsdp.optimizer_step @layers.1({{.*}} along

// MUON-NAME: error: --muon bias: is found in the name of no trained matrix
// KIND: error: optimizer adamax: expected adamw, adam, sgd, lion, amsgrad, adagrad or muon
// PREFETCH: error: prefetch -1: expected auto, or the number of units to gather ahead, 0 to 64, as N or forward=N,backward=M
// ACCUMULATE: error: accumulate half: there are sharded and unsharded

// Updated in backward: each unit behind its release, when its gradient is there. The loss is summed before the first, which asks whether
// it is finite; the norm is added up on the way, for the metrics alone.
// UPDATE-LABEL: func.func @train
// UPDATE: fsdp.release @layers.1({{.*}} : tensor<4x4xf32>, tensor<4xf32>
// UPDATE: fsdp.release @layers.1(
// UPDATE: fsdp.release @layers.0(
// UPDATE: %[[G1:.*]] = fsdp.reduce_scatter_wait
// UPDATE: %[[LOSS:.*]] = fsdp.accumulate {{.*}} in i64
// UPDATE-NEXT: %[[T:.*]] = fsdp.all_reduce_start optimizer(%[[LOSS]]) over @world {norms = array<i1: false>}
// UPDATE-NEXT: %[[SUM:.*]] = fsdp.all_reduce_wait %[[T]]
// UPDATE-NEXT: %[[TOTAL:.*]] = fsdp.round_sum %[[SUM]]
// UPDATE-NEXT: fsdp.metric "loss" %[[TOTAL]]
// UPDATE-NEXT: %[[N1:.*]] = fsdp.gradient_norm %[[G1]] :
// UPDATE-NEXT: fsdp.optimizer_step @layers.1(%[[G1]]) "adamw" : tensor<12xf32>{{$}}
// UPDATE: fsdp.reduce_scatter_start @root
// UPDATE-NEXT: %[[G0:.*]] = fsdp.reduce_scatter_wait
// UPDATE-NEXT: %[[N0:.*]] = fsdp.gradient_norm %[[G0]] plus(%[[N1]] : tensor<68xi64>)
// UPDATE-NEXT: fsdp.optimizer_step @layers.0(%[[G0]])
// UPDATE-NEXT: %[[GR:.*]] = fsdp.reduce_scatter_wait
// UPDATE-NEXT: %[[N:.*]] = fsdp.gradient_norm %[[GR]] plus(%[[N0]] : tensor<68xi64>)
// UPDATE-NEXT: fsdp.optimizer_step @root(%[[GR]])
// UPDATE-NEXT: %[[NT:.*]] = fsdp.all_reduce_start optimizer(%[[N]]) over @world {norms = array<i1: true>}
// UPDATE-NEXT: %[[NSUM:.*]] = fsdp.all_reduce_wait %[[NT]]
// UPDATE-NEXT: %[[NORM:.*]] = fsdp.round_sum %[[NSUM]] norm
// UPDATE-NEXT: fsdp.metric "gradient_norm" %[[NORM]]
// UPDATE-NEXT: return

// UPDATE-KIND: error: update half: there are step and backward
// UPDATE-MUON: error: update backward: muon takes whole matrices, whose directions are made when all gradients are there
// NO-MESH: error: expects fsdp.mesh and @train; run nn-differentiate and fsdp-form-units first
nn.parameter @embed.weight : tensor<8x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.weight : tensor<4x4xf32> {nn.unit = "layers.0", initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.bias : tensor<4xf32> {nn.unit = "layers.0", initializer = "2", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.weight : tensor<4x4xf32> {nn.unit = "layers.1", initializer = "3", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.bias : tensor<4xf32> {nn.unit = "layers.1", initializer = "4", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
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
