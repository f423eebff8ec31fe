// Rows travel where they are fewer bytes than the table, and where nothing else reads it.
// RUN: shardc-opt %s --fsdp-form-units=mesh=4 --fsdp-shard --fsdp-exchange-rows --fsdp-verify | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units=mesh=2x2 --fsdp-shard --fsdp-exchange-rows=embedding=rows --fsdp-verify | FileCheck %s --check-prefix=HYBRID
// RUN: shardc-opt %s --fsdp-form-units=mesh=4 --fsdp-shard --fsdp-exchange-rows=embedding=table --fsdp-verify | FileCheck %s --check-prefix=TABLE
// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard=accumulate=unsharded --fsdp-exchange-rows=embedding=rows --fsdp-verify \
// RUN:   | FileCheck %s --check-prefix=TABLE
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=opt" --fsdp-shard --fsdp-exchange-rows=embedding=rows --fsdp-verify | FileCheck %s --check-prefix=WHOLE
// RUN: shardc-opt %s --fsdp-form-units=mesh=8 --fsdp-shard --fsdp-exchange-rows=embedding=rows --fsdp-verify | FileCheck %s --check-prefix=TABLE
// RUN: sed 's/tensor<2xi64>/tensor<900xi64>/g; s/tensor<2x4xf32>/tensor<900x4xf32>/g' %s > %t.many.mlir
// RUN: shardc-opt %t.many.mlir --fsdp-form-units=mesh=4 --fsdp-shard --fsdp-exchange-rows --fsdp-verify | FileCheck %s --check-prefix=TABLE
// RUN: shardc-opt %t.many.mlir --fsdp-form-units=mesh=4 --fsdp-shard --fsdp-exchange-rows=embedding=rows --fsdp-verify | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/nn.add %%x, %%y/nn.add %%x, %%rows/; s|// TIED ||' %s > %t.tied.mlir
// RUN: shardc-opt %t.tied.mlir --fsdp-form-units=mesh=2 --fsdp-shard --fsdp-exchange-rows=embedding=rows --fsdp-verify | FileCheck %s --check-prefix=TABLE
// RUN: not shardc-opt %s --fsdp-form-units=mesh=2 --fsdp-shard --fsdp-exchange-rows=embedding=all 2>&1 | FileCheck %s --check-prefix=KIND

// Forward looks two rows up, whose gradients backward adds to the table's. The evaluation does the same.
// CHECK-LABEL: func.func @train
// CHECK-NOT: all_gather_start @table
// CHECK: %[[T:.*]] = fsdp.gather_rows_start @table(%arg0) over @world : tensor<2xi64>
// CHECK-NEXT: %[[X:.*]] = fsdp.gather_rows_wait %[[T]] : tensor<2x4xf32>
// CHECK-NOT: nn.embedding_grad
// CHECK: %[[R:.*]] = fsdp.reduce_rows_start @table(%{{.*}}, %arg0) over @world accumulated : tensor<2x4xf32>, tensor<2xi64>
// CHECK: %[[G:.*]] = fsdp.reduce_scatter_wait %[[R]] : tensor<1024xf32>
// CHECK: fsdp.optimizer_step @table(%[[G]],
// CHECK-LABEL: func.func @eval
// CHECK-NOT: all_gather_start @table
// CHECK: fsdp.gather_rows_start @table(%arg0)

// Over the ranks that hold the slices; what is left of the sum goes on with the slice.
// HYBRID: fsdp.gather_rows_start @table(%arg0) over @shard
// HYBRID: fsdp.reduce_rows_start @table({{.*}}) over @shard accumulated
// HYBRID: %[[G:.*]] = fsdp.reduce_scatter_wait {{.*}} : tensor<2048xf32>
// HYBRID: fsdp.all_reduce_gradients_start @table %[[G]] over @replicate last

// TABLE-NOT: gather_rows
// TABLE: fsdp.all_gather_start @table forward
// TABLE-NOT: gather_rows

// WHOLE-NOT: gather_rows
// WHOLE: fsdp.resident @table

// ROWS: fsdp.gather_rows_start @table(%arg0) over @world : tensor<900xi64>

// KIND: error: embedding all: there are auto, table and rows

module {
  nn.parameter @table.weight : tensor<1024x4xf32> {nn.unit = "table", initializer = "table", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @w.weight : tensor<4x4xf32> {nn.unit = "w", initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  func.func @train(%ids: tensor<2xi64>, %scale: tensor<f32> {nn.role = "loss_scale"})
      -> (tensor<f32>, tensor<1024x4xf32> {nn.gradient_of = @table.weight}, tensor<4x4xf32> {nn.gradient_of = @w.weight}) {
    %table = nn.get_parameter @table.weight : tensor<1024x4xf32>
    %w = nn.get_parameter @w.weight : tensor<4x4xf32>
    // TIED %rows = nn.slice %table [0, 0] to [2, 4] by [1, 1] : (tensor<1024x4xf32>) -> tensor<2x4xf32>
    %x = nn.embedding %table, %ids : (tensor<1024x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %z = nn.add %x, %y : tensor<2x4xf32>
    %sums = nn.reduce_sum %z [0, 1] : (tensor<2x4xf32>) -> tensor<1x1xf32>
    %sum = nn.reshape %sums : (tensor<1x1xf32>) -> tensor<f32>
    %loss = nn.mul %sum, %scale : tensor<f32>
    %one = nn.reshape %scale : (tensor<f32>) -> tensor<1x1xf32>
    %dy = nn.broadcast %one : (tensor<1x1xf32>) -> tensor<2x4xf32>
    %dw = nn.linear_weight_grad %x, %dy : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %dx = nn.linear %dy, %w {transpose_weight} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dtable = nn.embedding_grad %dx, %ids : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<1024x4xf32>
    return %loss, %dtable, %dw : tensor<f32>, tensor<1024x4xf32>, tensor<4x4xf32>
  }
  func.func @eval(%ids: tensor<2xi64>, %scale: tensor<f32> {nn.role = "loss_scale"}) -> tensor<f32> {
    %table = nn.get_parameter @table.weight : tensor<1024x4xf32>
    %x = nn.embedding %table, %ids : (tensor<1024x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    %sums = nn.reduce_sum %x [0, 1] : (tensor<2x4xf32>) -> tensor<1x1xf32>
    %sum = nn.reshape %sums : (tensor<1x1xf32>) -> tensor<f32>
    %loss = nn.mul %sum, %scale : tensor<f32>
    return %loss : tensor<f32>
  }
}
