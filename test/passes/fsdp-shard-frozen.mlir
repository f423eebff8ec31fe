// Units that are not trained.
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard --fsdp-verify | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=opt" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=OPT
// RUN: shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=layers,reshard=2}}" --fsdp-shard --fsdp-verify | FileCheck %s --check-prefix=KEEP
// RUN: shardc-opt %s --fsdp-form-units="mesh=4 unit-options={{match=0\.frozen,reshard=never},{match=layers.0,reshard=2}}" | FileCheck %s --check-prefix=OWN

// The first layer's weight is frozen, its bias is not: two units. The second layer is frozen whole. The table is trained, so that
// backward needs both weights; it gathers no bias. Both parts of the first layer are gathered under the compute before it.
// CHECK-LABEL: func.func @train
// CHECK: fsdp.all_gather_start @root forward
// CHECK: fsdp.all_gather_start @layers.0.frozen forward
// CHECK-NEXT: fsdp.all_gather_start @layers.0 forward
// CHECK-NEXT: fsdp.all_gather_wait
// CHECK: fsdp.all_gather_start @layers.1.frozen forward
// CHECK: fsdp.all_gather_start @layers.0.frozen backward
// CHECK: nn.linear {{.*}} %[[W1:[0-9]+]]#0, %[[W1]]#1
//
// The last unit in forward stays gathered, trained or not, and is released after its use in backward.
// CHECK-NOT: fsdp.release
// CHECK: nn.linear {{.*}} %[[W1]]#0
// CHECK-NEXT: fsdp.release @layers.1.frozen(%[[W1]]#0, %[[W1]]#1)
// CHECK-NOT: fsdp.all_gather_start
//
// One reduction per trained unit; what is frozen has none, is no part of the norm, and is not updated.
// CHECK: fsdp.flat_gradients @layers.0(
// CHECK-NEXT: fsdp.reduce_scatter_start @layers.0 %
// CHECK: fsdp.flat_gradients @root(
// CHECK-NEXT: fsdp.reduce_scatter_start @root %
// CHECK-NOT: fsdp.flat_gradients
// CHECK-NOT: fsdp.reduce_scatter_start
// CHECK: fsdp.gradient_norm %{{[0-9]+}}, %{{[0-9]+}} : (tensor<16xf32>, tensor<2xf32>) -> tensor<68xi64>
// CHECK: fsdp.optimizer_step @root(
// CHECK-NEXT: fsdp.optimizer_step @layers.0(
// CHECK-NEXT: return

// OPT-LABEL: func.func @train
// OPT-DAG: fsdp.resident @layers.0.frozen
// OPT-DAG: fsdp.resident @layers.1.frozen
// OPT: fsdp.all_gather_updates_start @root over @world
// OPT-NEXT: fsdp.all_gather_updates_start @layers.0 over @world
// OPT-NEXT: fsdp.all_gather_updates_wait

// Nothing is kept of a unit that backward does not use.
// KEEP-LABEL: func.func @train
// KEEP-NOT: fsdp.keep @layers.0(
// KEEP: %[[K0:.*]] = fsdp.keep @layers.0.frozen(
// KEEP-NOT: fsdp.keep @layers.0(
// KEEP: %[[K1:.*]] = fsdp.keep @layers.1.frozen(
// KEEP: fsdp.all_gather_start @layers.1.frozen backward over @reshard.2 from %[[K1]]
// KEEP: fsdp.all_gather_start @layers.0.frozen backward over @reshard.2 from %[[K0]]

// An option can be for what is frozen of a unit alone.
// OWN: fsdp.unit @layers.0.frozen {{.*}} reshard = 1 :
// OWN: fsdp.unit @layers.0 {{.*}} reshard = 2 :
nn.parameter @embed : tensor<8x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.weight : tensor<4x4xf32> {nn.unit = "layers.0", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @layers.0.bias : tensor<4xf32> {nn.unit = "layers.0", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.weight : tensor<4x4xf32> {nn.unit = "layers.1", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
nn.parameter @layers.1.bias : tensor<4xf32> {nn.unit = "layers.1", initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
func.func @train(%ids: tensor<2xi64>) -> (tensor<f32>, tensor<8x4xf32> {nn.gradient_of = @embed}, tensor<4xf32> {nn.gradient_of = @layers.0.bias}) {
  %embed = nn.get_parameter @embed : tensor<8x4xf32>
  %w0 = nn.get_parameter @layers.0.weight : tensor<4x4xf32>
  %b0 = nn.get_parameter @layers.0.bias : tensor<4xf32>
  %w1 = nn.get_parameter @layers.1.weight : tensor<4x4xf32>
  %b1 = nn.get_parameter @layers.1.bias : tensor<4xf32>
  %x0 = nn.embedding %embed, %ids : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %x1 = nn.linear %x0, %w0, %b0 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %x2 = nn.linear %x1, %w1, %b1 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %s = nn.reduce_sum %x2 [0, 1] : (tensor<2x4xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %s : (tensor<1x1xf32>) -> tensor<f32>
  %one = nn.constant dense<1.0> : tensor<1x1xf32>
  %dx2 = nn.broadcast %one : (tensor<1x1xf32>) -> tensor<2x4xf32>
  %dx1 = nn.linear %dx2, %w1 {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %db0k = nn.reduce_sum %dx1 [0] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %db0 = nn.reshape %db0k : (tensor<1x4xf32>) -> tensor<4xf32>
  %dx0 = nn.linear %dx1, %w0 {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %dembed = nn.embedding_grad %dx0, %ids : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<8x4xf32>
  return %loss, %dembed, %db0 : tensor<f32>, tensor<8x4xf32>, tensor<4xf32>
}
