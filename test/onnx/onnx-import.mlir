// RUN: shardc-opt %s --onnx-import="path=%models/mlp-tiny-loss/model.onnx dims=batch=4" | FileCheck %s
// RUN: shardc-opt %s --onnx-import="path=%models/s2-llama-tiny-mask/model.onnx dims=batch=2,sequence=16" \
// RUN:   | FileCheck %s --check-prefix=LLAMA
module {}

// The module knows its model; a weight knows where its bytes lie, and how PyTorch would initialise it.
// CHECK: module attributes {nn.model = "model.onnx"}
// CHECK: nn.parameter @layers.0.weight : tensor<64x32xf32>
// CHECK-SAME: file = "", init = "uniform:-0.176776695,0.176776695", initializer = "layers.0.weight", length = 8192
// CHECK-SAME: scope = "layers.0", stored_type = f32, trainable
// CHECK: func.func @model(%[[X:.*]]: tensor<4x32xf32> {nn.name = "x", nn.role = "input"}, %[[LABELS:.*]]: tensor<4xi64>
// CHECK-SAME: -> (tensor<f32> {nn.name = "loss"})
// A Gemm with transB is a linear layer as torch keeps it.
// CHECK: %[[W:.*]] = nn.get_parameter @layers.0.weight
// CHECK: nn.linear %[[X]], %[[W]], %{{.*}} {transpose_weight}
// CHECK: %[[COUNT:.*]] = nn.reciprocal
// CHECK: nn.cross_entropy %{{.*}}, %[[LABELS]], %[[COUNT]]

// The exporter merged all norms into one initializer, and transposed and renamed the projections.
// LLAMA: nn.parameter @layers.0.input_norm.weight : tensor<64xf32> {bindings = [{initializer = "layers.0.input_norm.weight", uses = ["node_mul_1:1"]}]
// LLAMA-SAME: init = "constant:1"
// LLAMA: nn.parameter @layers.0.attn.k_proj.weight : tensor<32x64xf32>
// LLAMA-SAME: initializer = "val_21"
// LLAMA-SAME: trainable, transposed
// LLAMA: nn.parameter @rotary.cos : tensor<128x16xf32>
// LLAMA-SAME: stored_type = f32}
// LLAMA: nn.parameter @layers.0.post_norm.weight : tensor<64xf32> {bindings = [{initializer = "layers.0.input_norm.weight", uses = ["node_mul_23:1"]}]
// LLAMA: func.func @model
// LLAMA: %[[K:.*]] = nn.get_parameter @layers.0.attn.k_proj.weight : tensor<32x64xf32>
// LLAMA: nn.linear %{{.*}}, %[[K]] {transpose_weight}

