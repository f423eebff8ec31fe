// RUN: not shardc-opt %s --fsdp-assign-units=units=blocks 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shardc-opt %s --fsdp-assign-units=units=size:3XB 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not shardc-opt %s --fsdp-assign-units=units=scope:a[ 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not shardc-opt %s --fsdp-assign-units=units=scope:blocks 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: not shardc-opt %s --fsdp-assign-units=units=class:Layer 2>&1 | FileCheck %s --check-prefix=CLASS
// RUN: sed 's/nn.scope_classes/nn.nothing/' %s > %t.mlir
// RUN: not shardc-opt %t.mlir --fsdp-assign-units=units=class:Block 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not shardc-opt %s --fsdp-assign-units=cluster=dgx 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: sed 's/latency_us/latency/' %S/units-cluster.toml > %t.toml
// RUN: not shardc-opt %s --fsdp-assign-units=cluster=%t.toml 2>&1 | FileCheck %s --check-prefix=TOML
// RUN: not shardc-opt %s --fsdp-assign-units=mesh=0 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not shardc-opt %s --fsdp-assign-units=element-bytes=3 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not shardc-opt %s --nn-differentiate --fsdp-assign-units 2>&1 | FileCheck %s --check-prefix=LATE

// FORM: error: --units blocks: unknown way to form units; accepted are auto, block, one, class:NAME[,NAME], scope:REGEX and size:BYTES (size:100MB)
// SIZE: error: --units size:3XB: expects a number of bytes from 1 on, with kB, MB, GB, KiB, MiB or GiB after it; accepted are
// REGEX: error: --units scope:a[: brackets ([ ]) not balanced; accepted are
// SCOPE: error: --units scope:blocks: matches no parameter; there are layers.{0..1}.proj
// CLASS: error: --units class:Layer: no module with parameters is of this class; there are Block (2), Linear (2)
// CLASSES: error: --units class: the model's file does not tell its modules' classes (PyTorch's dynamo exporter writes them); use block or scope:REGEX
// CLUSTER: error: --cluster dgx: No such file or directory; it is a TOML file or one of cpu, dgx-h100, dgx-a100, cloud-l40s
// TOML: error: --cluster {{.*}}.toml:7: unknown key 'latency' of [inside_node]; there are bandwidth_gb_per_s, latency_us
// MESH: error: mesh 0: a mesh dimension must be at least 1
// BYTES: error: element-bytes: expects 2, 4 or 8, got 3
// LATE: error: expects a function @model
module attributes {nn.scope_classes = {"layers.0" = "pkg.Block", "layers.1" = "pkg.Block", "layers.0.proj" = "Linear", "layers.1.proj" = "Linear"}} {
  nn.parameter @layers.0.proj.weight : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @layers.1.proj.weight : tensor<4xf32> {initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  func.func @model(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = nn.get_parameter @layers.0.proj.weight : tensor<4xf32>
    %y = nn.mul %x, %0 : tensor<4xf32>
    %1 = nn.get_parameter @layers.1.proj.weight : tensor<4xf32>
    %z = nn.mul %y, %1 : tensor<4xf32>
    %s = nn.reduce_sum %z [0] : (tensor<4xf32>) -> tensor<1xf32>
    %loss = nn.reshape %s : (tensor<1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
