// Generated code against the reference evaluation of every op, in every precision; shapes that no vector width divides. Fused or
// not, results have the same bits.
// RUN: sed -e s/FLOAT/f32/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=compare-unfused=true -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/f64/g -e s/STAT/f64/g %s | shardc-opt -test-step-kernels -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/f32/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=cpu=x86-64-v3 -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/bf16/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=compare-unfused=true -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/bf16/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=cpu=x86-64-v3 -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/f16/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=compare-unfused=true -o /dev/null | FileCheck %s
// RUN: sed -e s/FLOAT/f16/g -e s/STAT/f32/g %s | shardc-opt -test-step-kernels=cpu=x86-64 -o /dev/null | FileCheck %s

// CHECK: @neg: 1 kernels agree
func.func @neg(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.neg %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @abs: 1 kernels agree
func.func @abs(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.abs %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @exp: 1 kernels agree
func.func @exp(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.exp %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @sin: 1 kernels agree
func.func @sin(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.sin %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @cos: 1 kernels agree
func.func @cos(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.cos %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @tanh: 1 kernels agree
func.func @tanh(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.tanh %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @erf: 1 kernels agree
func.func @erf(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.erf %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @expm1: 1 kernels agree
func.func @expm1(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.expm1 %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @softplus: 1 kernels agree
func.func @softplus(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.softplus %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @sigmoid: 1 kernels agree
func.func @sigmoid(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.sigmoid %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @relu: 1 kernels agree
func.func @relu(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.relu %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @silu: 1 kernels agree
func.func @silu(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.silu %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @floor: 1 kernels agree
func.func @floor(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.floor %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @ceil: 1 kernels agree
func.func @ceil(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.ceil %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @gelu: 1 kernels agree
func.func @gelu(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.gelu %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @log: 1 kernels agree
func.func @log(%a: tensor<3x17xFLOAT> {step.low = 0.1 : f64, step.high = 4.0 : f64}) -> tensor<3x17xFLOAT> {
  %0 = nn.log %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @sqrt: 1 kernels agree
func.func @sqrt(%a: tensor<3x17xFLOAT> {step.low = 0.1 : f64, step.high = 4.0 : f64}) -> tensor<3x17xFLOAT> {
  %0 = nn.sqrt %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @rsqrt: 1 kernels agree
func.func @rsqrt(%a: tensor<3x17xFLOAT> {step.low = 0.1 : f64, step.high = 4.0 : f64}) -> tensor<3x17xFLOAT> {
  %0 = nn.rsqrt %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @reciprocal: 1 kernels agree
func.func @reciprocal(%a: tensor<3x17xFLOAT> {step.low = 0.1 : f64, step.high = 4.0 : f64}) -> tensor<3x17xFLOAT> {
  %0 = nn.reciprocal %a : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @gelu_tanh: 1 kernels agree
func.func @gelu_tanh(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.gelu %a {tanh} : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @gelu_gradients: 1 kernels agree
func.func @gelu_gradients(%a: tensor<3x17xFLOAT>, %d: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.gelu_grad %a, %d {tanh} : tensor<3x17xFLOAT>
  %1 = nn.gelu_grad %a, %d : tensor<3x17xFLOAT>
  %2 = nn.silu_grad %a, %d : tensor<3x17xFLOAT>
  %3 = nn.add %0, %1 : tensor<3x17xFLOAT>
  %4 = nn.add %3, %2 : tensor<3x17xFLOAT>
  return %4 : tensor<3x17xFLOAT>
}

// CHECK: @add: 1 kernels agree
func.func @add(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.add %a, %b : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @sub: 1 kernels agree
func.func @sub(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.sub %a, %b : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @mul: 1 kernels agree
func.func @mul(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.mul %a, %b : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @div: 1 kernels agree
func.func @div(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.div %a, %b : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @max: 1 kernels agree
func.func @max(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.max %a, %b : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @min: 1 kernels agree
func.func @min(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.min %a, %b : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @pow: 1 kernels agree
func.func @pow(%a: tensor<3x17xFLOAT> {step.low = 0.1 : f64, step.high = 3.0 : f64}, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.pow %a, %b : tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @mod: 1 kernels agree
func.func @mod(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT> {step.low = 0.5 : f64, step.high = 1.5 : f64}) -> tensor<3x17xFLOAT> {
  %0 = nn.mod %a, %b : tensor<3x17xFLOAT>
  %1 = nn.mod %a, %b {fmod} : tensor<3x17xFLOAT>
  %2 = nn.add %0, %1 : tensor<3x17xFLOAT>
  return %2 : tensor<3x17xFLOAT>
}

// CHECK: @integers: 1 kernels agree
func.func @integers(%a: tensor<3x17xi64> {step.low = -9.0 : f64, step.high = 9.0 : f64}, %b: tensor<3x17xi64> {step.low = 1.0 : f64, step.high = 5.0 : f64}) -> tensor<3x17xi64> {
  %0 = nn.div %a, %b : tensor<3x17xi64>
  %1 = nn.mod %a, %b : tensor<3x17xi64>
  %2 = nn.mul %0, %1 : tensor<3x17xi64>
  %3 = nn.max %2, %b : tensor<3x17xi64>
  return %3 : tensor<3x17xi64>
}

// CHECK: @booleans: 1 kernels agree
func.func @booleans(%a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xi1> {
  %0 = nn.compare lt %a, %b : (tensor<3x17xFLOAT>, tensor<3x17xFLOAT>) -> tensor<3x17xi1>
  %1 = nn.compare ge %a, %a : (tensor<3x17xFLOAT>, tensor<3x17xFLOAT>) -> tensor<3x17xi1>
  %2 = nn.and %0, %1 : tensor<3x17xi1>
  %3 = nn.not %2 : tensor<3x17xi1>
  %4 = nn.xor %3, %1 : tensor<3x17xi1>
  return %4 : tensor<3x17xi1>
}

// CHECK: @stored_booleans: 1 kernels agree
func.func @stored_booleans(%m: tensor<3x17xi1>, %a: tensor<3x17xFLOAT>, %b: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.select %m, %a, %b : (tensor<3x17xi1>, tensor<3x17xFLOAT>, tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT>
  return %0 : tensor<3x17xFLOAT>
}

// CHECK: @casts: 1 kernels agree
func.func @casts(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %0 = nn.cast %a : (tensor<3x17xFLOAT>) -> tensor<3x17xi64>
  %1 = nn.cast %0 : (tensor<3x17xi64>) -> tensor<3x17xFLOAT>
  %2 = nn.cast %a : (tensor<3x17xFLOAT>) -> tensor<3x17xi1>
  %3 = nn.cast %2 : (tensor<3x17xi1>) -> tensor<3x17xFLOAT>
  %4 = nn.add %1, %3 : tensor<3x17xFLOAT>
  return %4 : tensor<3x17xFLOAT>
}

// CHECK: @nan_and_infinity: 1 kernels agree
func.func @nan_and_infinity(%a: tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT> {
  %z = nn.constant dense<0.0> : tensor<3x17xFLOAT>
  %0 = nn.div %a, %z : tensor<3x17xFLOAT>
  %1 = nn.sub %0, %0 : tensor<3x17xFLOAT>
  %2 = nn.max %1, %a : tensor<3x17xFLOAT>
  %3 = nn.is_nan %2 : (tensor<3x17xFLOAT>) -> tensor<3x17xi1>
  %4 = nn.select %3, %0, %2 : (tensor<3x17xi1>, tensor<3x17xFLOAT>, tensor<3x17xFLOAT>) -> tensor<3x17xFLOAT>
  return %4 : tensor<3x17xFLOAT>
}

// CHECK: @norms_1: {{[0-9]+}} kernels agree
func.func @norms_1(%x: tensor<5x1xFLOAT>, %r: tensor<5x1xFLOAT>, %g: tensor<1xFLOAT>, %b: tensor<1xFLOAT>) -> (tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>, tensor<5x1xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xFLOAT>, tensor<5x1xFLOAT>) {
  %0 = nn.add %x, %r : tensor<5x1xFLOAT>
  %y, %m, %s = nn.layer_norm %0, %g, %b {epsilon = 1.0e-5 : f64} : (tensor<5x1xFLOAT>, tensor<1xFLOAT>, tensor<1xFLOAT>) -> (tensor<5x1xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>)
  %z, %q = nn.rms_norm %y, %g {epsilon = 1.0e-6 : f64} : (tensor<5x1xFLOAT>, tensor<1xFLOAT>) -> (tensor<5x1xFLOAT>, tensor<5x1xSTAT>)
  %w = nn.softmax %z : tensor<5x1xFLOAT>
  %v = nn.log_softmax %0 : tensor<5x1xFLOAT>
  return %0, %y, %m, %s, %z, %q, %w, %v : tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>, tensor<5x1xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xFLOAT>, tensor<5x1xFLOAT>
}

// CHECK: @norm_gradients_1: {{[0-9]+}} kernels agree
func.func @norm_gradients_1(%d: tensor<5x1xFLOAT>, %x: tensor<5x1xFLOAT>, %g: tensor<1xFLOAT>, %m: tensor<5x1xSTAT>, %s: tensor<5x1xSTAT> {step.low = 0.5 : f64, step.high = 2.0 : f64}) -> (tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<1xFLOAT>, tensor<1xFLOAT>, tensor<1xFLOAT>) {
  %0 = nn.layer_norm_grad %d, %x, %g, %m, %s : (tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<1xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>) -> tensor<5x1xFLOAT>
  %1 = nn.rms_norm_grad %d, %x, %g, %s : (tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<1xFLOAT>, tensor<5x1xSTAT>) -> tensor<5x1xFLOAT>
  %2 = nn.softmax_grad %0, %d : tensor<5x1xFLOAT>
  %a, %b = nn.layer_norm_param_grad %d, %x, %m, %s : (tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<5x1xSTAT>, tensor<5x1xSTAT>) -> (tensor<1xFLOAT>, tensor<1xFLOAT>)
  %e = nn.rms_norm_param_grad %d, %x, %s : (tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<5x1xSTAT>) -> tensor<1xFLOAT>
  return %0, %1, %2, %a, %b, %e : tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<5x1xFLOAT>, tensor<1xFLOAT>, tensor<1xFLOAT>, tensor<1xFLOAT>
}

// CHECK: @norms_10: 1 kernels agree
func.func @norms_10(%x: tensor<3x10xFLOAT>, %r: tensor<3x10xFLOAT>, %g: tensor<10xFLOAT>, %b: tensor<10xFLOAT>) -> (tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<3x1xSTAT>, tensor<3x1xSTAT>, tensor<3x10xFLOAT>, tensor<3x1xSTAT>, tensor<3x10xFLOAT>, tensor<3x10xFLOAT>) {
  %0 = nn.add %x, %r : tensor<3x10xFLOAT>
  %y, %m, %s = nn.layer_norm %0, %g, %b {epsilon = 1.0e-5 : f64} : (tensor<3x10xFLOAT>, tensor<10xFLOAT>, tensor<10xFLOAT>) -> (tensor<3x10xFLOAT>, tensor<3x1xSTAT>, tensor<3x1xSTAT>)
  %z, %q = nn.rms_norm %y, %g {epsilon = 1.0e-6 : f64} : (tensor<3x10xFLOAT>, tensor<10xFLOAT>) -> (tensor<3x10xFLOAT>, tensor<3x1xSTAT>)
  %w = nn.softmax %z : tensor<3x10xFLOAT>
  %v = nn.log_softmax %0 : tensor<3x10xFLOAT>
  return %0, %y, %m, %s, %z, %q, %w, %v : tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<3x1xSTAT>, tensor<3x1xSTAT>, tensor<3x10xFLOAT>, tensor<3x1xSTAT>, tensor<3x10xFLOAT>, tensor<3x10xFLOAT>
}

// CHECK: @norm_gradients_10: {{[0-9]+}} kernels agree
func.func @norm_gradients_10(%d: tensor<3x10xFLOAT>, %x: tensor<3x10xFLOAT>, %g: tensor<10xFLOAT>, %m: tensor<3x1xSTAT>, %s: tensor<3x1xSTAT> {step.low = 0.5 : f64, step.high = 2.0 : f64}) -> (tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<10xFLOAT>, tensor<10xFLOAT>, tensor<10xFLOAT>) {
  %0 = nn.layer_norm_grad %d, %x, %g, %m, %s : (tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<10xFLOAT>, tensor<3x1xSTAT>, tensor<3x1xSTAT>) -> tensor<3x10xFLOAT>
  %1 = nn.rms_norm_grad %d, %x, %g, %s : (tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<10xFLOAT>, tensor<3x1xSTAT>) -> tensor<3x10xFLOAT>
  %2 = nn.softmax_grad %0, %d : tensor<3x10xFLOAT>
  %a, %b = nn.layer_norm_param_grad %d, %x, %m, %s : (tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<3x1xSTAT>, tensor<3x1xSTAT>) -> (tensor<10xFLOAT>, tensor<10xFLOAT>)
  %e = nn.rms_norm_param_grad %d, %x, %s : (tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<3x1xSTAT>) -> tensor<10xFLOAT>
  return %0, %1, %2, %a, %b, %e : tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<3x10xFLOAT>, tensor<10xFLOAT>, tensor<10xFLOAT>, tensor<10xFLOAT>
}

// CHECK: @norms_64: 1 kernels agree
func.func @norms_64(%x: tensor<4x64xFLOAT>, %r: tensor<4x64xFLOAT>, %g: tensor<64xFLOAT>, %b: tensor<64xFLOAT>) -> (tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<4x1xSTAT>, tensor<4x1xSTAT>, tensor<4x64xFLOAT>, tensor<4x1xSTAT>, tensor<4x64xFLOAT>, tensor<4x64xFLOAT>) {
  %0 = nn.add %x, %r : tensor<4x64xFLOAT>
  %y, %m, %s = nn.layer_norm %0, %g, %b {epsilon = 1.0e-5 : f64} : (tensor<4x64xFLOAT>, tensor<64xFLOAT>, tensor<64xFLOAT>) -> (tensor<4x64xFLOAT>, tensor<4x1xSTAT>, tensor<4x1xSTAT>)
  %z, %q = nn.rms_norm %y, %g {epsilon = 1.0e-6 : f64} : (tensor<4x64xFLOAT>, tensor<64xFLOAT>) -> (tensor<4x64xFLOAT>, tensor<4x1xSTAT>)
  %w = nn.softmax %z : tensor<4x64xFLOAT>
  %v = nn.log_softmax %0 : tensor<4x64xFLOAT>
  return %0, %y, %m, %s, %z, %q, %w, %v : tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<4x1xSTAT>, tensor<4x1xSTAT>, tensor<4x64xFLOAT>, tensor<4x1xSTAT>, tensor<4x64xFLOAT>, tensor<4x64xFLOAT>
}

// CHECK: @norm_gradients_64: {{[0-9]+}} kernels agree
func.func @norm_gradients_64(%d: tensor<4x64xFLOAT>, %x: tensor<4x64xFLOAT>, %g: tensor<64xFLOAT>, %m: tensor<4x1xSTAT>, %s: tensor<4x1xSTAT> {step.low = 0.5 : f64, step.high = 2.0 : f64}) -> (tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<64xFLOAT>, tensor<64xFLOAT>, tensor<64xFLOAT>) {
  %0 = nn.layer_norm_grad %d, %x, %g, %m, %s : (tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<64xFLOAT>, tensor<4x1xSTAT>, tensor<4x1xSTAT>) -> tensor<4x64xFLOAT>
  %1 = nn.rms_norm_grad %d, %x, %g, %s : (tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<64xFLOAT>, tensor<4x1xSTAT>) -> tensor<4x64xFLOAT>
  %2 = nn.softmax_grad %0, %d : tensor<4x64xFLOAT>
  %a, %b = nn.layer_norm_param_grad %d, %x, %m, %s : (tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<4x1xSTAT>, tensor<4x1xSTAT>) -> (tensor<64xFLOAT>, tensor<64xFLOAT>)
  %e = nn.rms_norm_param_grad %d, %x, %s : (tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<4x1xSTAT>) -> tensor<64xFLOAT>
  return %0, %1, %2, %a, %b, %e : tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<4x64xFLOAT>, tensor<64xFLOAT>, tensor<64xFLOAT>, tensor<64xFLOAT>
}

// CHECK: @norms_771: 1 kernels agree
func.func @norms_771(%x: tensor<2x771xFLOAT>, %r: tensor<2x771xFLOAT>, %g: tensor<771xFLOAT>, %b: tensor<771xFLOAT>) -> (tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>, tensor<2x771xFLOAT>, tensor<2x1xSTAT>, tensor<2x771xFLOAT>, tensor<2x771xFLOAT>) {
  %0 = nn.add %x, %r : tensor<2x771xFLOAT>
  %y, %m, %s = nn.layer_norm %0, %g, %b {epsilon = 1.0e-5 : f64} : (tensor<2x771xFLOAT>, tensor<771xFLOAT>, tensor<771xFLOAT>) -> (tensor<2x771xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>)
  %z, %q = nn.rms_norm %y, %g {epsilon = 1.0e-6 : f64} : (tensor<2x771xFLOAT>, tensor<771xFLOAT>) -> (tensor<2x771xFLOAT>, tensor<2x1xSTAT>)
  %w = nn.softmax %z : tensor<2x771xFLOAT>
  %v = nn.log_softmax %0 : tensor<2x771xFLOAT>
  return %0, %y, %m, %s, %z, %q, %w, %v : tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>, tensor<2x771xFLOAT>, tensor<2x1xSTAT>, tensor<2x771xFLOAT>, tensor<2x771xFLOAT>
}

// CHECK: @norm_gradients_771: {{[0-9]+}} kernels agree
func.func @norm_gradients_771(%d: tensor<2x771xFLOAT>, %x: tensor<2x771xFLOAT>, %g: tensor<771xFLOAT>, %m: tensor<2x1xSTAT>, %s: tensor<2x1xSTAT> {step.low = 0.5 : f64, step.high = 2.0 : f64}) -> (tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<771xFLOAT>, tensor<771xFLOAT>, tensor<771xFLOAT>) {
  %0 = nn.layer_norm_grad %d, %x, %g, %m, %s : (tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<771xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>) -> tensor<2x771xFLOAT>
  %1 = nn.rms_norm_grad %d, %x, %g, %s : (tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<771xFLOAT>, tensor<2x1xSTAT>) -> tensor<2x771xFLOAT>
  %2 = nn.softmax_grad %0, %d : tensor<2x771xFLOAT>
  %a, %b = nn.layer_norm_param_grad %d, %x, %m, %s : (tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>) -> (tensor<771xFLOAT>, tensor<771xFLOAT>)
  %e = nn.rms_norm_param_grad %d, %x, %s : (tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<2x1xSTAT>) -> tensor<771xFLOAT>
  return %0, %1, %2, %a, %b, %e : tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<2x771xFLOAT>, tensor<771xFLOAT>, tensor<771xFLOAT>, tensor<771xFLOAT>
}

// CHECK: @norms_50257: 1 kernels agree
func.func @norms_50257(%x: tensor<2x50257xFLOAT>, %r: tensor<2x50257xFLOAT>, %g: tensor<50257xFLOAT>, %b: tensor<50257xFLOAT>) -> (tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>, tensor<2x50257xFLOAT>, tensor<2x1xSTAT>, tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>) {
  %0 = nn.add %x, %r : tensor<2x50257xFLOAT>
  %y, %m, %s = nn.layer_norm %0, %g, %b {epsilon = 1.0e-5 : f64} : (tensor<2x50257xFLOAT>, tensor<50257xFLOAT>, tensor<50257xFLOAT>) -> (tensor<2x50257xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>)
  %z, %q = nn.rms_norm %y, %g {epsilon = 1.0e-6 : f64} : (tensor<2x50257xFLOAT>, tensor<50257xFLOAT>) -> (tensor<2x50257xFLOAT>, tensor<2x1xSTAT>)
  %w = nn.softmax %z : tensor<2x50257xFLOAT>
  %v = nn.log_softmax %0 : tensor<2x50257xFLOAT>
  return %0, %y, %m, %s, %z, %q, %w, %v : tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>, tensor<2x50257xFLOAT>, tensor<2x1xSTAT>, tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>
}

// CHECK: @norm_gradients_50257: {{[0-9]+}} kernels agree
func.func @norm_gradients_50257(%d: tensor<2x50257xFLOAT>, %x: tensor<2x50257xFLOAT>, %g: tensor<50257xFLOAT>, %m: tensor<2x1xSTAT>, %s: tensor<2x1xSTAT> {step.low = 0.5 : f64, step.high = 2.0 : f64}) -> (tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<50257xFLOAT>, tensor<50257xFLOAT>, tensor<50257xFLOAT>) {
  %0 = nn.layer_norm_grad %d, %x, %g, %m, %s : (tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<50257xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>) -> tensor<2x50257xFLOAT>
  %1 = nn.rms_norm_grad %d, %x, %g, %s : (tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<50257xFLOAT>, tensor<2x1xSTAT>) -> tensor<2x50257xFLOAT>
  %2 = nn.softmax_grad %0, %d : tensor<2x50257xFLOAT>
  %a, %b = nn.layer_norm_param_grad %d, %x, %m, %s : (tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<2x1xSTAT>, tensor<2x1xSTAT>) -> (tensor<50257xFLOAT>, tensor<50257xFLOAT>)
  %e = nn.rms_norm_param_grad %d, %x, %s : (tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<2x1xSTAT>) -> tensor<50257xFLOAT>
  return %0, %1, %2, %a, %b, %e : tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<2x50257xFLOAT>, tensor<50257xFLOAT>, tensor<50257xFLOAT>, tensor<50257xFLOAT>
}

// CHECK: @reduce_0: {{[0-9]+}} kernels agree
func.func @reduce_0(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>) {
  %0 = nn.reduce_sum %x [0] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x9xFLOAT>
  %1 = nn.reduce_mean %x [0] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x9xFLOAT>
  %2 = nn.reduce_max %x [0] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x9xFLOAT>
  %3 = nn.reduce_min %x [0] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x9xFLOAT>
  %4 = nn.reduce_prod %x [0] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x9xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>, tensor<1x5x2x9xFLOAT>
}

// CHECK: @reduce_1: {{[0-9]+}} kernels agree
func.func @reduce_1(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>) {
  %0 = nn.reduce_sum %x [1] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x9xFLOAT>
  %1 = nn.reduce_mean %x [1] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x9xFLOAT>
  %2 = nn.reduce_max %x [1] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x9xFLOAT>
  %3 = nn.reduce_min %x [1] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x9xFLOAT>
  %4 = nn.reduce_prod %x [1] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x9xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>, tensor<3x1x2x9xFLOAT>
}

// CHECK: @reduce_2: {{[0-9]+}} kernels agree
func.func @reduce_2(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>) {
  %0 = nn.reduce_sum %x [2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x9xFLOAT>
  %1 = nn.reduce_mean %x [2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x9xFLOAT>
  %2 = nn.reduce_max %x [2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x9xFLOAT>
  %3 = nn.reduce_min %x [2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x9xFLOAT>
  %4 = nn.reduce_prod %x [2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x9xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>, tensor<3x5x1x9xFLOAT>
}

// CHECK: @reduce_3: {{[0-9]+}} kernels agree
func.func @reduce_3(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>) {
  %0 = nn.reduce_sum %x [3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x2x1xFLOAT>
  %1 = nn.reduce_mean %x [3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x2x1xFLOAT>
  %2 = nn.reduce_max %x [3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x2x1xFLOAT>
  %3 = nn.reduce_min %x [3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x2x1xFLOAT>
  %4 = nn.reduce_prod %x [3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x2x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>, tensor<3x5x2x1xFLOAT>
}

// CHECK: @reduce_01: {{[0-9]+}} kernels agree
func.func @reduce_01(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 1] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x9xFLOAT>
  %1 = nn.reduce_mean %x [0, 1] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x9xFLOAT>
  %2 = nn.reduce_max %x [0, 1] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x9xFLOAT>
  %3 = nn.reduce_min %x [0, 1] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x9xFLOAT>
  %4 = nn.reduce_prod %x [0, 1] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x9xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>, tensor<1x1x2x9xFLOAT>
}

// CHECK: @reduce_02: {{[0-9]+}} kernels agree
func.func @reduce_02(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x9xFLOAT>
  %1 = nn.reduce_mean %x [0, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x9xFLOAT>
  %2 = nn.reduce_max %x [0, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x9xFLOAT>
  %3 = nn.reduce_min %x [0, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x9xFLOAT>
  %4 = nn.reduce_prod %x [0, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x9xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>, tensor<1x5x1x9xFLOAT>
}

// CHECK: @reduce_03: {{[0-9]+}} kernels agree
func.func @reduce_03(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x1xFLOAT>
  %1 = nn.reduce_mean %x [0, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x1xFLOAT>
  %2 = nn.reduce_max %x [0, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x1xFLOAT>
  %3 = nn.reduce_min %x [0, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x1xFLOAT>
  %4 = nn.reduce_prod %x [0, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x2x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>, tensor<1x5x2x1xFLOAT>
}

// CHECK: @reduce_12: {{[0-9]+}} kernels agree
func.func @reduce_12(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>) {
  %0 = nn.reduce_sum %x [1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x9xFLOAT>
  %1 = nn.reduce_mean %x [1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x9xFLOAT>
  %2 = nn.reduce_max %x [1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x9xFLOAT>
  %3 = nn.reduce_min %x [1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x9xFLOAT>
  %4 = nn.reduce_prod %x [1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x9xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>, tensor<3x1x1x9xFLOAT>
}

// CHECK: @reduce_13: {{[0-9]+}} kernels agree
func.func @reduce_13(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>) {
  %0 = nn.reduce_sum %x [1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x1xFLOAT>
  %1 = nn.reduce_mean %x [1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x1xFLOAT>
  %2 = nn.reduce_max %x [1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x1xFLOAT>
  %3 = nn.reduce_min %x [1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x1xFLOAT>
  %4 = nn.reduce_prod %x [1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x2x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>, tensor<3x1x2x1xFLOAT>
}

// CHECK: @reduce_23: {{[0-9]+}} kernels agree
func.func @reduce_23(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>) {
  %0 = nn.reduce_sum %x [2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x1xFLOAT>
  %1 = nn.reduce_mean %x [2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x1xFLOAT>
  %2 = nn.reduce_max %x [2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x1xFLOAT>
  %3 = nn.reduce_min %x [2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x1xFLOAT>
  %4 = nn.reduce_prod %x [2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x5x1x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>, tensor<3x5x1x1xFLOAT>
}

// CHECK: @reduce_012: {{[0-9]+}} kernels agree
func.func @reduce_012(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x9xFLOAT>
  %1 = nn.reduce_mean %x [0, 1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x9xFLOAT>
  %2 = nn.reduce_max %x [0, 1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x9xFLOAT>
  %3 = nn.reduce_min %x [0, 1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x9xFLOAT>
  %4 = nn.reduce_prod %x [0, 1, 2] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x9xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>, tensor<1x1x1x9xFLOAT>
}

// CHECK: @reduce_013: {{[0-9]+}} kernels agree
func.func @reduce_013(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x1xFLOAT>
  %1 = nn.reduce_mean %x [0, 1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x1xFLOAT>
  %2 = nn.reduce_max %x [0, 1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x1xFLOAT>
  %3 = nn.reduce_min %x [0, 1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x1xFLOAT>
  %4 = nn.reduce_prod %x [0, 1, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x2x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>, tensor<1x1x2x1xFLOAT>
}

// CHECK: @reduce_023: {{[0-9]+}} kernels agree
func.func @reduce_023(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x1xFLOAT>
  %1 = nn.reduce_mean %x [0, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x1xFLOAT>
  %2 = nn.reduce_max %x [0, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x1xFLOAT>
  %3 = nn.reduce_min %x [0, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x1xFLOAT>
  %4 = nn.reduce_prod %x [0, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x5x1x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>, tensor<1x5x1x1xFLOAT>
}

// CHECK: @reduce_123: {{[0-9]+}} kernels agree
func.func @reduce_123(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>) {
  %0 = nn.reduce_sum %x [1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x1xFLOAT>
  %1 = nn.reduce_mean %x [1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x1xFLOAT>
  %2 = nn.reduce_max %x [1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x1xFLOAT>
  %3 = nn.reduce_min %x [1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x1xFLOAT>
  %4 = nn.reduce_prod %x [1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<3x1x1x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>, tensor<3x1x1x1xFLOAT>
}

// CHECK: @reduce_0123: {{[0-9]+}} kernels agree
func.func @reduce_0123(%x: tensor<3x5x2x9xFLOAT>) -> (tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x1xFLOAT>
  %1 = nn.reduce_mean %x [0, 1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x1xFLOAT>
  %2 = nn.reduce_max %x [0, 1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x1xFLOAT>
  %3 = nn.reduce_min %x [0, 1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x1xFLOAT>
  %4 = nn.reduce_prod %x [0, 1, 2, 3] : (tensor<3x5x2x9xFLOAT>) -> tensor<1x1x1x1xFLOAT>
  return %0, %1, %2, %3, %4 : tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>, tensor<1x1x1x1xFLOAT>
}

// CHECK: @reduces_many_rows: {{[0-9]+}} kernels agree
func.func @reduces_many_rows(%x: tensor<300x2x65xFLOAT>) -> (tensor<1x1x65xFLOAT>, tensor<1x2x65xFLOAT>, tensor<1x1x1xFLOAT>, tensor<1x2x1xFLOAT>) {
  %0 = nn.reduce_sum %x [0, 1] : (tensor<300x2x65xFLOAT>) -> tensor<1x1x65xFLOAT>
  %1 = nn.reduce_mean %x [0] : (tensor<300x2x65xFLOAT>) -> tensor<1x2x65xFLOAT>
  %2 = nn.reduce_sum %x [0, 1, 2] : (tensor<300x2x65xFLOAT>) -> tensor<1x1x1xFLOAT>
  %3 = nn.reduce_max %x [0, 2] : (tensor<300x2x65xFLOAT>) -> tensor<1x2x1xFLOAT>
  return %0, %1, %2, %3 : tensor<1x1x65xFLOAT>, tensor<1x2x65xFLOAT>, tensor<1x1x1xFLOAT>, tensor<1x2x1xFLOAT>
}

// CHECK: @rope: {{[0-9]+}} kernels agree
func.func @rope(%x: tensor<2x3x5x8xFLOAT>, %c: tensor<1x3x8xFLOAT>, %s: tensor<1x3x8xFLOAT>) -> (tensor<2x3x5x8xFLOAT>, tensor<2x3x5x8xFLOAT>, tensor<2x3x5x8xFLOAT>, tensor<2x3x5x8xFLOAT>) {
  %0 = nn.rope %x, %c, %s : (tensor<2x3x5x8xFLOAT>, tensor<1x3x8xFLOAT>, tensor<1x3x8xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  %1 = nn.rope %x, %c, %s {transposed} : (tensor<2x3x5x8xFLOAT>, tensor<1x3x8xFLOAT>, tensor<1x3x8xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  %2 = nn.rope %x, %c, %s {interleaved} : (tensor<2x3x5x8xFLOAT>, tensor<1x3x8xFLOAT>, tensor<1x3x8xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  %3 = nn.rope %x, %c, %s {interleaved, transposed} : (tensor<2x3x5x8xFLOAT>, tensor<1x3x8xFLOAT>, tensor<1x3x8xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  return %0, %1, %2, %3 : tensor<2x3x5x8xFLOAT>, tensor<2x3x5x8xFLOAT>, tensor<2x3x5x8xFLOAT>, tensor<2x3x5x8xFLOAT>
}

// CHECK: @rotates_half_by_hand: {{[0-9]+}} kernels agree
func.func @rotates_half_by_hand(%x: tensor<2x3x5x8xFLOAT>, %c: tensor<2x3x5x8xFLOAT>, %s: tensor<2x3x5x8xFLOAT>) -> tensor<2x3x5x8xFLOAT> {
  %a = nn.slice %x [0, 0, 0, 0] to [2, 3, 5, 4] by [1, 1, 1, 1] : (tensor<2x3x5x8xFLOAT>) -> tensor<2x3x5x4xFLOAT>
  %b = nn.slice %x [0, 0, 0, 4] to [2, 3, 5, 8] by [1, 1, 1, 1] : (tensor<2x3x5x8xFLOAT>) -> tensor<2x3x5x4xFLOAT>
  %n = nn.neg %b : tensor<2x3x5x4xFLOAT>
  %r = nn.concat %n, %a {axis = 3 : i64} : (tensor<2x3x5x4xFLOAT>, tensor<2x3x5x4xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  %p = nn.mul %x, %c : tensor<2x3x5x8xFLOAT>
  %k = nn.mul %r, %s : tensor<2x3x5x8xFLOAT>
  %o = nn.add %p, %k : tensor<2x3x5x8xFLOAT>
  return %o : tensor<2x3x5x8xFLOAT>
}

// CHECK: @transposes_then_adds: 1 kernels agree
func.func @transposes_then_adds(%x: tensor<2x3x5x8xFLOAT>, %y: tensor<2x5x3x8xFLOAT>, %z: tensor<8x5x3x2xFLOAT>) -> tensor<2x5x3x8xFLOAT> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x3x5x8xFLOAT>) -> tensor<2x5x3x8xFLOAT>
  %1 = nn.transpose %z [3, 1, 2, 0] : (tensor<8x5x3x2xFLOAT>) -> tensor<2x5x3x8xFLOAT>
  %2 = nn.add %0, %y : tensor<2x5x3x8xFLOAT>
  %3 = nn.mul %2, %1 : tensor<2x5x3x8xFLOAT>
  return %3 : tensor<2x5x3x8xFLOAT>
}

// CHECK: @reshapes_between_row_spaces: 1 kernels agree
func.func @reshapes_between_row_spaces(%x: tensor<2x6x32xFLOAT>, %y: tensor<12x32xFLOAT>, %g: tensor<32xFLOAT>) -> (tensor<12x32xFLOAT>, tensor<2x6x32xFLOAT>, tensor<2x6x1xSTAT>) {
  %0 = nn.reshape %x : (tensor<2x6x32xFLOAT>) -> tensor<12x32xFLOAT>
  %1 = nn.add %0, %y : tensor<12x32xFLOAT>
  %2 = nn.reshape %1 : (tensor<12x32xFLOAT>) -> tensor<2x6x32xFLOAT>
  %n, %r = nn.rms_norm %2, %g {epsilon = 1.0e-6 : f64} : (tensor<2x6x32xFLOAT>, tensor<32xFLOAT>) -> (tensor<2x6x32xFLOAT>, tensor<2x6x1xSTAT>)
  return %1, %n, %r : tensor<12x32xFLOAT>, tensor<2x6x32xFLOAT>, tensor<2x6x1xSTAT>
}

// CHECK: @broadcasts: 1 kernels agree
func.func @broadcasts(%x: tensor<2x3x5x8xFLOAT>, %v: tensor<8xFLOAT>, %w: tensor<2x1x5x1xFLOAT>, %u: tensor<1x3x1x8xFLOAT>) -> tensor<2x3x5x8xFLOAT> {
  %0 = nn.reshape %v : (tensor<8xFLOAT>) -> tensor<1x1x1x8xFLOAT>
  %1 = nn.broadcast %0 : (tensor<1x1x1x8xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  %2 = nn.broadcast %w : (tensor<2x1x5x1xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  %3 = nn.broadcast %u : (tensor<1x3x1x8xFLOAT>) -> tensor<2x3x5x8xFLOAT>
  %4 = nn.mul %x, %1 : tensor<2x3x5x8xFLOAT>
  %5 = nn.add %4, %2 : tensor<2x3x5x8xFLOAT>
  %6 = nn.sub %5, %3 : tensor<2x3x5x8xFLOAT>
  return %6 : tensor<2x3x5x8xFLOAT>
}

// CHECK: @concats: {{[0-9]+}} kernels agree
func.func @concats(%x: tensor<3x4x9xFLOAT>, %y: tensor<3x2x9xFLOAT>, %z: tensor<3x4x30xFLOAT>) -> (tensor<3x10x9xFLOAT>, tensor<3x4x39xFLOAT>, tensor<6x4x9xFLOAT>) {
  %0 = nn.concat %x, %y, %x {axis = 1 : i64} : (tensor<3x4x9xFLOAT>, tensor<3x2x9xFLOAT>, tensor<3x4x9xFLOAT>) -> tensor<3x10x9xFLOAT>
  %1 = nn.concat %x, %z {axis = 2 : i64} : (tensor<3x4x9xFLOAT>, tensor<3x4x30xFLOAT>) -> tensor<3x4x39xFLOAT>
  %2 = nn.concat %x, %x {axis = 0 : i64} : (tensor<3x4x9xFLOAT>, tensor<3x4x9xFLOAT>) -> tensor<6x4x9xFLOAT>
  return %0, %1, %2 : tensor<3x10x9xFLOAT>, tensor<3x4x39xFLOAT>, tensor<6x4x9xFLOAT>
}

// CHECK: @pads_and_slices: {{[0-9]+}} kernels agree
func.func @pads_and_slices(%x: tensor<3x4x9xFLOAT>) -> (tensor<4x10x28xFLOAT>, tensor<2x3x3xFLOAT>, tensor<3x4x9xFLOAT>) {
  %0 = nn.pad %x [1, 0, 2] [0, 3, 1] [0, 1, 2] : (tensor<3x4x9xFLOAT>) -> tensor<4x10x28xFLOAT>
  %1 = nn.slice %x [0, 1, 0] to [3, 4, 9] by [2, 1, 3] : (tensor<3x4x9xFLOAT>) -> tensor<2x3x3xFLOAT>
  %2 = nn.exp %1 : tensor<2x3x3xFLOAT>
  %3 = nn.reverse %x [0, 2] : tensor<3x4x9xFLOAT>
  return %0, %2, %3 : tensor<4x10x28xFLOAT>, tensor<2x3x3xFLOAT>, tensor<3x4x9xFLOAT>
}

// CHECK: @tiny_and_scalar: {{[0-9]+}} kernels agree
func.func @tiny_and_scalar(%x: tensor<FLOAT>, %y: tensor<1xFLOAT>, %z: tensor<7x1xFLOAT>) -> (tensor<FLOAT>, tensor<1xFLOAT>, tensor<7x1xFLOAT>, tensor<7x1xFLOAT>) {
  %0 = nn.exp %x : tensor<FLOAT>
  %1 = nn.tanh %y : tensor<1xFLOAT>
  %2 = nn.silu %z : tensor<7x1xFLOAT>
  %3 = nn.reduce_sum %z [1] : (tensor<7x1xFLOAT>) -> tensor<7x1xFLOAT>
  return %0, %1, %2, %3 : tensor<FLOAT>, tensor<1xFLOAT>, tensor<7x1xFLOAT>, tensor<7x1xFLOAT>
}

// CHECK: @many_chunks: 1 kernels agree
func.func @many_chunks(%x: tensor<9001xFLOAT>, %y: tensor<9001xFLOAT>) -> tensor<9001xFLOAT> {
  %0 = nn.silu %x : tensor<9001xFLOAT>
  %1 = nn.mul %0, %y : tensor<9001xFLOAT>
  return %1 : tensor<9001xFLOAT>
}

// CHECK: @masked_softmax: 1 kernels agree
func.func @masked_softmax(%x: tensor<2x3x7x19xFLOAT>, %m: tensor<1x1x7x19xi1>) -> tensor<2x3x7x19xFLOAT> {
  %b = nn.broadcast %m : (tensor<1x1x7x19xi1>) -> tensor<2x3x7x19xi1>
  %k = nn.constant dense<0.125> : tensor<2x3x7x19xFLOAT>
  %i = nn.constant dense<-1.0e4> : tensor<2x3x7x19xFLOAT>
  %0 = nn.mul %x, %k : tensor<2x3x7x19xFLOAT>
  %1 = nn.select %b, %0, %i : (tensor<2x3x7x19xi1>, tensor<2x3x7x19xFLOAT>, tensor<2x3x7x19xFLOAT>) -> tensor<2x3x7x19xFLOAT>
  %2 = nn.softmax %1 : tensor<2x3x7x19xFLOAT>
  return %2 : tensor<2x3x7x19xFLOAT>
}

// CHECK: @feeds_a_column_sum: 1 kernels agree
func.func @feeds_a_column_sum(%x: tensor<40x33xFLOAT>, %d: tensor<40x33xFLOAT>) -> tensor<1x33xFLOAT> {
  %0 = nn.gelu_grad %x, %d : tensor<40x33xFLOAT>
  %1 = nn.reduce_sum %0 [0] : (tensor<40x33xFLOAT>) -> tensor<1x33xFLOAT>
  return %1 : tensor<1x33xFLOAT>
}

// Between a bias and an activation, across rows that samples end in, and with a sample in each column.
// CHECK: @dropout: {{[0-9]+}} kernels agree
func.func @dropout(%a: tensor<4x3x17xFLOAT>, %b: tensor<17x5xFLOAT>, %words: tensor<8xi32> {test.values = dense<[5, 3, 4, -1073741824, 1431655765, 1073042773, 0, 0]> : tensor<8xi32>})
    -> (tensor<4x3x17xFLOAT>, tensor<4x3x17xFLOAT>, tensor<17x5xFLOAT>, tensor<17x5xFLOAT>) {
  %0 = nn.add %a, %a : tensor<4x3x17xFLOAT>
  %1 = nn.dropout %0 drawn %words {samples = 4 : i64, sample_stride = 51 : i64} : (tensor<4x3x17xFLOAT>, tensor<8xi32>) -> tensor<4x3x17xFLOAT>
  %2 = nn.relu %1 : tensor<4x3x17xFLOAT>
  %3 = nn.dropout %a drawn %words {samples = 6 : i64, sample_stride = 34 : i64} : (tensor<4x3x17xFLOAT>, tensor<8xi32>) -> tensor<4x3x17xFLOAT>
  %4 = nn.dropout %b drawn %words {samples = 5 : i64, sample_stride = 1 : i64} : (tensor<17x5xFLOAT>, tensor<8xi32>) -> tensor<17x5xFLOAT>
  %5 = nn.dropout %b drawn %words : (tensor<17x5xFLOAT>, tensor<8xi32>) -> tensor<17x5xFLOAT>
  return %2, %3, %4, %5 : tensor<4x3x17xFLOAT>, tensor<4x3x17xFLOAT>, tensor<17x5xFLOAT>, tensor<17x5xFLOAT>
}

// Beside an op that reads a tensor, alone, and of floats that are narrowed.
// CHECK: @draw: {{[0-9]+}} kernels agree
func.func @draw(%a: tensor<4x3x17xFLOAT>, %words: tensor<8xi32> {test.values = dense<[5, 3, 4, -1073741824, 1431655765, 1073042773, 0, 0]> : tensor<8xi32>})
    -> (tensor<4x3x17xFLOAT>, tensor<4x3x17xFLOAT>, tensor<17x5xFLOAT>) {
  %0 = nn.draw normal drawn %words {samples = 4 : i64, sample_stride = 51 : i64} : (tensor<8xi32>) -> tensor<4x3x17xFLOAT>
  %1 = nn.add %a, %0 : tensor<4x3x17xFLOAT>
  %2 = nn.draw uniform drawn %words {samples = 6 : i64, sample_stride = 34 : i64} : (tensor<8xi32>) -> tensor<4x3x17xFLOAT>
  %3 = nn.draw normal drawn %words : (tensor<8xi32>) -> tensor<17x5xFLOAT>
  return %1, %2, %3 : tensor<4x3x17xFLOAT>, tensor<4x3x17xFLOAT>, tensor<17x5xFLOAT>
}

// Ten windows of one tensor, of every second row, are read where they lie: multiplied and added up, and summed over their rows.
// CHECK: @windows_in_place: {{[0-9]+}} kernels agree
func.func @windows_in_place(%x: tensor<2x9x12x64xFLOAT>, %w: tensor<10x64xFLOAT>) -> (tensor<2x4x3x64xFLOAT>, tensor<1x1x1x64xFLOAT>, tensor<1x1x1x64xFLOAT>) {
  %s0 = nn.slice %x [0, 0, 0, 0] to [2, 7, 7, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v0 = nn.slice %w [0, 0] to [1, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r0 = nn.reshape %v0 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b0 = nn.broadcast %r0 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m0 = nn.mul %s0, %b0 : tensor<2x4x3x64xFLOAT>
  %s1 = nn.slice %x [0, 0, 1, 0] to [2, 7, 8, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v1 = nn.slice %w [1, 0] to [2, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r1 = nn.reshape %v1 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b1 = nn.broadcast %r1 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m1 = nn.mul %s1, %b1 : tensor<2x4x3x64xFLOAT>
  %t1 = nn.add %m0, %m1 : tensor<2x4x3x64xFLOAT>
  %s2 = nn.slice %x [0, 0, 2, 0] to [2, 7, 9, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v2 = nn.slice %w [2, 0] to [3, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r2 = nn.reshape %v2 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b2 = nn.broadcast %r2 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m2 = nn.mul %s2, %b2 : tensor<2x4x3x64xFLOAT>
  %t2 = nn.add %t1, %m2 : tensor<2x4x3x64xFLOAT>
  %s3 = nn.slice %x [0, 0, 3, 0] to [2, 7, 10, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v3 = nn.slice %w [3, 0] to [4, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r3 = nn.reshape %v3 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b3 = nn.broadcast %r3 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m3 = nn.mul %s3, %b3 : tensor<2x4x3x64xFLOAT>
  %t3 = nn.add %t2, %m3 : tensor<2x4x3x64xFLOAT>
  %s4 = nn.slice %x [0, 0, 4, 0] to [2, 7, 11, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v4 = nn.slice %w [4, 0] to [5, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r4 = nn.reshape %v4 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b4 = nn.broadcast %r4 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m4 = nn.mul %s4, %b4 : tensor<2x4x3x64xFLOAT>
  %t4 = nn.add %t3, %m4 : tensor<2x4x3x64xFLOAT>
  %s5 = nn.slice %x [0, 1, 0, 0] to [2, 8, 7, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v5 = nn.slice %w [5, 0] to [6, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r5 = nn.reshape %v5 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b5 = nn.broadcast %r5 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m5 = nn.mul %s5, %b5 : tensor<2x4x3x64xFLOAT>
  %t5 = nn.add %t4, %m5 : tensor<2x4x3x64xFLOAT>
  %s6 = nn.slice %x [0, 1, 1, 0] to [2, 8, 8, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v6 = nn.slice %w [6, 0] to [7, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r6 = nn.reshape %v6 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b6 = nn.broadcast %r6 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m6 = nn.mul %s6, %b6 : tensor<2x4x3x64xFLOAT>
  %t6 = nn.add %t5, %m6 : tensor<2x4x3x64xFLOAT>
  %s7 = nn.slice %x [0, 1, 2, 0] to [2, 8, 9, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v7 = nn.slice %w [7, 0] to [8, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r7 = nn.reshape %v7 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b7 = nn.broadcast %r7 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m7 = nn.mul %s7, %b7 : tensor<2x4x3x64xFLOAT>
  %t7 = nn.add %t6, %m7 : tensor<2x4x3x64xFLOAT>
  %s8 = nn.slice %x [0, 1, 3, 0] to [2, 8, 10, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v8 = nn.slice %w [8, 0] to [9, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r8 = nn.reshape %v8 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b8 = nn.broadcast %r8 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m8 = nn.mul %s8, %b8 : tensor<2x4x3x64xFLOAT>
  %t8 = nn.add %t7, %m8 : tensor<2x4x3x64xFLOAT>
  %s9 = nn.slice %x [0, 1, 4, 0] to [2, 8, 11, 64] by [1, 2, 3, 1] : (tensor<2x9x12x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %v9 = nn.slice %w [9, 0] to [10, 64] by [1, 1] : (tensor<10x64xFLOAT>) -> tensor<1x64xFLOAT>
  %r9 = nn.reshape %v9 : (tensor<1x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %b9 = nn.broadcast %r9 : (tensor<1x1x1x64xFLOAT>) -> tensor<2x4x3x64xFLOAT>
  %m9 = nn.mul %s9, %b9 : tensor<2x4x3x64xFLOAT>
  %t9 = nn.add %t8, %m9 : tensor<2x4x3x64xFLOAT>
  %p3 = nn.mul %s3, %t9 : tensor<2x4x3x64xFLOAT>
  %q3 = nn.reduce_sum %p3 [0, 1, 2] : (tensor<2x4x3x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  %p7 = nn.mul %s7, %t9 : tensor<2x4x3x64xFLOAT>
  %q7 = nn.reduce_sum %p7 [0, 1, 2] : (tensor<2x4x3x64xFLOAT>) -> tensor<1x1x1x64xFLOAT>
  return %t9, %q3, %q7 : tensor<2x4x3x64xFLOAT>, tensor<1x1x1x64xFLOAT>, tensor<1x1x1x64xFLOAT>
}
