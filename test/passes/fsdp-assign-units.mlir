// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 cluster=%S/units-cluster.toml" | FileCheck %s --check-prefix=AUTO
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 units=block" | FileCheck %s --check-prefix=BLOCK
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 units=one" | FileCheck %s --check-prefix=ONE
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 units=size:1kB" | FileCheck %s --check-prefix=SIZE
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 units=size:20kB element-bytes=8" | FileCheck %s --check-prefix=SIZE64
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 units=class:Block" | FileCheck %s --check-prefix=CLASS
// RUN: shardc-opt %s --fsdp-assign-units='mesh=2 units=scope:layers[.]\d+' | FileCheck %s --check-prefix=SCOPE
// RUN: shardc-opt %s --fsdp-assign-units="mesh=8 cluster=dgx-h100" | FileCheck %s --check-prefix=MERGED
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2x8 strategy=full cluster=dgx-h100" | FileCheck %s --check-prefix=NODES
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2x8 strategy=hybrid cluster=dgx-h100" | FileCheck %s --check-prefix=HYBRID
// RUN: shardc-opt %s --fsdp-assign-units="mesh=1 cluster=dgx-h100" | FileCheck %s --check-prefix=ALONE
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 strategy=none units=one" | FileCheck %s --check-prefix=NONE
// RUN: sed s/0.00025/0.0001/ %S/units-cluster.toml > %t.toml
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 cluster=%t.toml" | FileCheck %s --check-prefix=SPLIT
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 units=block" --fsdp-form-units=mesh=2 | FileCheck %s --check-prefix=FORMED
// RUN: shardc-opt %s --fsdp-assign-units="mesh=2 cluster=%t.toml" --remarks-filter=fsdp-assign-units -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Reasons stand by first use, with what the unit costs. A table of 16 kB is more than a twentieth of the memory, but one parameter.
//
// AUTO: module attributes {fsdp.unit_reasons = {{\[\[}}"embedding", "used before the first block; not split although 16.0 kB gathered
// AUTO-SAME: would be 6.4 % of 250 kB: almost all is one parameter; gather 16.0 kB over 2 ranks: 800 ns transfer, 0 ns latency;
// AUTO-SAME: ["layers.0", "block 1 of 2 (layers.0); gather 10.2 kB over 2 ranks: 510 ns transfer, 0 ns latency; forward computes
// AUTO-SAME: ["layers.1", "block 2 of 2 (layers.1);
// AUTO-SAME: ["head", "used after the last block;
// AUTO-NOT: nn.scope_classes
//
// SPLIT: "layers.0.part.0", "block 1 of 2 (layers.0); split: 10.2 kB gathered would be 10.2 % of 100 kB, part 1 of 2 (norm); gather 200 B
// SPLIT-SAME: ["layers.0.part.1", "block 1 of 2 (layers.0); split: 10.2 kB gathered would be 10.2 % of 100 kB, part 2 of 2 (proj); gather 10.0 kB
//
// WHY: remark: [Passed] unit | Category:fsdp-assign-units | Remark="unit embedding (embed.weight): used before the first block; not split although
// WHY: Remark="unit layers.0.part.0 (layers.0.norm.weight): block 1 of 2 (layers.0); split: 10.2 kB gathered
//
// The frozen scale is in a unit, the buffer in none, nor what @model does not read.
//
// BLOCK: ["root", "in no repeated block; gather 32.0 kB over 2 ranks: 1.60 us transfer, 5.00 us latency; forward computes
// BLOCK-SAME: ["layers.0", "block 1 of 2 (layers.0); gather 10.2 kB over 2 ranks: 510 ns transfer, 5.00 us latency; forward computes
// BLOCK-SAME: ["layers.1", "block 2 of 2 (layers.1); gather 10.2 kB
// BLOCK: nn.parameter @embed.weight {{.*}}nn.unit = "root"
// BLOCK: nn.parameter @layers.0.norm.weight {{.*}}nn.unit = "layers.0"
// BLOCK: nn.parameter @layers.0.proj.weight {{.*}}nn.unit = "layers.0"
// BLOCK: nn.parameter @layers.1.norm.weight {{.*}}frozen{{.*}}nn.unit = "layers.1"
// BLOCK: nn.parameter @layers.1.proj.weight {{.*}}nn.unit = "layers.1"
// BLOCK: nn.parameter @head.weight {{.*}}nn.unit = "root"
// BLOCK-NOT: nn.unit
//
// ONE: fsdp.unit_reasons = {{\[\[}}"model", "the whole model, as --units one asks; gather 52.4 kB over 2 ranks{{[^]]*}}]]
// SIZE: ["part.0", "parameters in order of use, up to 1.00 kB; gather 16.0 kB {{.*}}["part.1", {{.*}} gather 200 B {{.*}}["part.2", {{.*}} gather 10.0 kB {{.*}}["part.5",
// SIZE64: ["part.0", {{.*}} gather 32.0 kB {{.*}}["part.1", {{.*}} gather 400 B {{.*}}["part.2", {{.*}} gather 20.0 kB
// CLASS: ["root", "in no module of the classes given; {{.*}}["layers.0", "module of class Block; {{.*}}["layers.1", "module of class Block;
// SCOPE: ["root", "does not match scope:layers[.]\\d+; {{.*}}["layers.0", "matches scope:layers[.]\\d+; {{.*}}["layers.1"
//
// Everything is too small for a collective of its own, where there are collectives.
//
// MERGED: {{\[\[}}"model", "merged layers.0 .. layers.1: one gather would be 20 ns transfer under 23.8 us latency; with embedding, whose gather would be 31 ns transfer under 23.8 us latency; with head,
// NODES: over 16 ranks: 167 ns transfer, 37.8 us latency
// HYBRID: over 8 ranks: 102 ns transfer, 23.8 us latency
// ALONE: {{\[\[}}"embedding", "used before the first block; 16.0 kB, no communication"], ["layers.0", {{.*}}["layers.1", {{.*}}["head",
// NONE: all-reduce 52.4 kB over 2 ranks: 5.24 us transfer, 10.0 us latency
//
// fsdp-form-units takes the decision, and the attributes away.
//
// FORMED-NOT: fsdp.unit_reasons
// FORMED: fsdp.unit @root {{.*}}parameters = [@embed.weight, @head.weight], reason = "in no repeated block; gather
// FORMED: fsdp.unit @layers.0 {{.*}}parameters = [@layers.0.proj.weight, @layers.0.norm.weight], reason = "block 1 of 2
// FORMED-DAG: fsdp.unit @layers.1 {{.*}}parameters = [@layers.1.proj.weight]
// FORMED-DAG: fsdp.unit @layers.1.frozen {{.*}}parameters = [@layers.1.norm.weight]
// FORMED-NOT: nn.unit =
module attributes {nn.scope_classes = {"embed" = "torch.Embedding", "layers.0" = "pkg.Block", "layers.1" = "pkg.Block"}} {
  nn.parameter @embed.weight : tensor<80x50xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @layers.0.norm.weight : tensor<50xf32> {initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @layers.0.proj.weight : tensor<50x50xf32> {initializer = "2", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @layers.1.norm.weight : tensor<50xf32> {initializer = "3", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, frozen}
  nn.parameter @layers.1.proj.weight : tensor<50x50xf32> {initializer = "4", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @head.weight : tensor<80x50xf32> {initializer = "5", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @table : tensor<2x50xf32> {initializer = "6", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32}
  nn.parameter @unused : tensor<2x50xf32> {initializer = "7", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  func.func @model(%ids: tensor<2xi64>) -> tensor<2x80xf32> {
    %0 = nn.get_parameter @embed.weight : tensor<80x50xf32>
    %x0 = nn.embedding %0, %ids : (tensor<80x50xf32>, tensor<2xi64>) -> tensor<2x50xf32>
    %t = nn.get_parameter @table : tensor<2x50xf32>
    %x1 = nn.add %x0, %t : tensor<2x50xf32>
    %1 = nn.get_parameter @layers.0.norm.weight : tensor<50xf32>
    %n0, %r0 = nn.rms_norm %x1, %1 {epsilon = 1.0e-5 : f64} : (tensor<2x50xf32>, tensor<50xf32>) -> (tensor<2x50xf32>, tensor<2x1xf32>)
    %2 = nn.get_parameter @layers.0.proj.weight : tensor<50x50xf32>
    %p0 = nn.linear %n0, %2 : (tensor<2x50xf32>, tensor<50x50xf32>) -> tensor<2x50xf32>
    %x2 = nn.add %x1, %p0 : tensor<2x50xf32>
    %3 = nn.get_parameter @layers.1.norm.weight : tensor<50xf32>
    %n1, %r1 = nn.rms_norm %x2, %3 {epsilon = 1.0e-5 : f64} : (tensor<2x50xf32>, tensor<50xf32>) -> (tensor<2x50xf32>, tensor<2x1xf32>)
    %4 = nn.get_parameter @layers.1.proj.weight : tensor<50x50xf32>
    %p1 = nn.linear %n1, %4 : (tensor<2x50xf32>, tensor<50x50xf32>) -> tensor<2x50xf32>
    %x3 = nn.add %x2, %p1 : tensor<2x50xf32>
    %5 = nn.get_parameter @head.weight : tensor<80x50xf32>
    %x4 = nn.linear %x3, %5 {transpose_weight} : (tensor<2x50xf32>, tensor<80x50xf32>) -> tensor<2x80xf32>
    return %x4 : tensor<2x80xf32>
  }
}
