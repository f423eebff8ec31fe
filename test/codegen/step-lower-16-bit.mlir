// A bf16 training step of a small decoder, from the model to the verified plan: activations and gathered parameters have 16 bits,
// gradients of parameters, statistics and the loss 32; what converts gets its scratch memory, and nothing is copied to be cast.
// RUN: shardc-opt %s -nn-precision=precision=bf16 -canonicalize -cse -nn-differentiate -canonicalize -cse -fsdp-form-units=mesh=2 \
// RUN:   -fsdp-shard -fsdp-verify -step-outline-kernels -step-lower=workers=2 -step-plan-memory -step-verify | FileCheck %s
// RUN: shardc-opt %s -nn-precision=precision=param=float16,reduce=float16,output=float32,keep=norm -canonicalize -cse -nn-differentiate \
// RUN:   -canonicalize -cse -fsdp-form-units=mesh=2 -fsdp-shard -fsdp-verify -step-outline-kernels -step-lower -step-plan-memory \
// RUN:   -step-verify | FileCheck %s --check-prefix=F16

nn.parameter @embed : tensor<32x16xf32> {initializer = "e", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable, nn.unit = "root"}
nn.parameter @norm : tensor<16xf32> {initializer = "n", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable, nn.unit = "root"}
nn.parameter @qkv : tensor<48x16xf32> {initializer = "q", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable, nn.unit = "root"}
nn.parameter @qkv.bias : tensor<48xf32> {initializer = "b", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable, nn.unit = "root"}
nn.parameter @head : tensor<32x16xf32> {initializer = "h", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable, nn.unit = "root"}

// 2 workers, each 4 (24 * 64 + 64 * 64 + 24 * 64 + 64) bytes for a product of 16 rows; LinearCrossEntropy: 8 rows of 32 logits in
// float32, 16 losses, and the largest of its products.
// CHECK-LABEL: step.program "train"
// CHECK: step.embedding %{{.*}} : (memref<32x16xbf16>, memref<2x8xi64>, memref<2x8x16xbf16>)
// CHECK: step.buffer workspace 57856 {{.*}}"workspace"
// CHECK: step.gemm %{{.*}}, %{{.*}} bias %{{.*}} into %{{.*}} workspace %{{.*}} {{{.*}}transpose_b} : (memref<16x16xbf16>, memref<48x16xbf16>, memref<48xbf16>, memref<16x48xbf16>, memref<57856xui8>)
// CHECK: step.attention %{{.*}} into %{{.*}}, %{{.*}} workspace {{.*}}memref<2x8x2x8xbf16>, memref<2x2x8xf32>
// CHECK: step.linear_cross_entropy %{{.*}}weight_gradient %{{.*}} : (memref<2x8x16xbf16>, memref<32x16xbf16>, memref<2x8xi64>, memref<f32>, memref<f32>, memref<2x8x16xbf16>, memref<32x16xf32>, memref<{{[0-9]+}}xui8>)
// CHECK: step.attention_grad %{{.*}} : (memref<2x8x2x8xbf16>, {{.*}}memref<2x2x8xf32>, memref<2x8x2x8xbf16
// CHECK: step.gemm %{{.*}} into %{{.*}} workspace %{{.*}} {{{.*}}transpose_a} : (memref<16x48xbf16>, memref<16x16xbf16>, memref<48x16xf32>, memref<{{[0-9]+}}xui8>)
// CHECK: step.embedding_grad %{{.*}} : (memref<2x8x16xbf16>, memref<2x8xi64>, memref<32x16xf32>)
// CHECK: step.reduce_scatter_start {{.*}}memref<{{[0-9]+}}xf32>

// F16-LABEL: step.program "train"
// F16: step.linear_cross_entropy %{{.*}} : (memref<2x8x16xf16>, memref<32x16xf16>, memref<2x8xi64>, memref<f32>, memref<f32>, memref<2x8x16xf16>, memref<32x16xf16>, memref<{{[0-9]+}}xui8>)
// F16: step.gemm %{{.*}} into %{{.*}} workspace %{{.*}} {{{.*}}transpose_a} : (memref<16x48xf16>, memref<16x16xf16>, memref<48x16xf16>, memref<{{[0-9]+}}xui8>)
// F16: step.embedding_grad %{{.*}} : (memref<2x8x16xf16>, memref<2x8xi64>, memref<32x16xf16>)
// F16: step.reduce_scatter_start {{.*}}memref<{{[0-9]+}}xf16>
func.func @model(%ids: tensor<2x8xi64> {nn.name = "ids", nn.role = "input"}, %labels: tensor<2x8xi64> {nn.name = "labels", nn.role = "labels"},
    %scale: tensor<f32> {nn.role = "loss_scale"}) -> tensor<f32> {
  %embed = nn.get_parameter @embed : tensor<32x16xf32>
  %norm = nn.get_parameter @norm : tensor<16xf32>
  %qkv = nn.get_parameter @qkv : tensor<48x16xf32>
  %bias = nn.get_parameter @qkv.bias : tensor<48xf32>
  %head = nn.get_parameter @head : tensor<32x16xf32>
  %x = nn.embedding %embed, %ids : (tensor<32x16xf32>, tensor<2x8xi64>) -> tensor<2x8x16xf32>
  %n, %rstd = nn.rms_norm %x, %norm {epsilon = 1.0e-5 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x1xf32>)
  %p = nn.linear %n, %qkv, %bias {transpose_weight} : (tensor<2x8x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<2x8x48xf32>
  %h = nn.reshape %p : (tensor<2x8x48xf32>) -> tensor<2x8x6x8xf32>
  %q = nn.slice %h [0, 0, 0, 0] to [2, 8, 2, 8] by [1, 1, 1, 1] : (tensor<2x8x6x8xf32>) -> tensor<2x8x2x8xf32>
  %k = nn.slice %h [0, 0, 2, 0] to [2, 8, 4, 8] by [1, 1, 1, 1] : (tensor<2x8x6x8xf32>) -> tensor<2x8x2x8xf32>
  %v = nn.slice %h [0, 0, 4, 0] to [2, 8, 6, 8] by [1, 1, 1, 1] : (tensor<2x8x6x8xf32>) -> tensor<2x8x2x8xf32>
  %a, %lse = nn.attention %q, %k, %v {scale = 0.35 : f64, causal} : (tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> (tensor<2x8x2x8xf32>, tensor<2x2x8xf32>)
  %r = nn.reshape %a : (tensor<2x8x2x8xf32>) -> tensor<2x8x16xf32>
  %y = nn.add %x, %r : tensor<2x8x16xf32>
  %s = nn.silu %y : tensor<2x8x16xf32>
  %loss = nn.linear_cross_entropy %s, %head labels %labels, %scale {ignore_index = -100 : i64, shift = 1 : i64, transpose_weight} : (tensor<2x8x16xf32>, tensor<32x16xf32>, tensor<2x8xi64>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
