// RUN: shardc-opt %s -nn-raise | FileCheck %s

// CHECK-LABEL: @gelu_of_bloom_has_x_factored_out
// CHECK-NEXT: nn.gelu %arg0 {tanh}
// CHECK-NEXT: return
func.func @gelu_of_bloom_has_x_factored_out(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = nn.constant dense<0.5> : tensor<2x8xf32>
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %k = nn.constant dense<0.7978845834732056> : tensor<2x8xf32>
  %c = nn.constant dense<0.044714998453855515> : tensor<2x8xf32>
  %0 = nn.mul %x, %half : tensor<2x8xf32>
  %1 = nn.mul %x, %k : tensor<2x8xf32>
  %2 = nn.mul %x, %c : tensor<2x8xf32>
  %3 = nn.mul %2, %x : tensor<2x8xf32>
  %4 = nn.add %3, %one : tensor<2x8xf32>
  %5 = nn.mul %1, %4 : tensor<2x8xf32>
  %6 = nn.tanh %5 : tensor<2x8xf32>
  %7 = nn.add %6, %one : tensor<2x8xf32>
  %8 = nn.mul %0, %7 : tensor<2x8xf32>
  return %8 : tensor<2x8xf32>
}

// CHECK-LABEL: @gelu_of_gpt2_takes_a_power
// CHECK-NEXT: nn.gelu %arg0 {tanh}
// CHECK-NEXT: return
func.func @gelu_of_gpt2_takes_a_power(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = nn.constant dense<0.5> : tensor<2x8xf32>
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %three = nn.constant dense<3.0> : tensor<2x8xf32>
  %k = nn.constant dense<0.7978845834732056> : tensor<2x8xf32>
  %c = nn.constant dense<0.044714998453855515> : tensor<2x8xf32>
  %0 = nn.mul %half, %x : tensor<2x8xf32>
  %1 = nn.pow %x, %three : tensor<2x8xf32>
  %2 = nn.mul %c, %1 : tensor<2x8xf32>
  %3 = nn.add %2, %x : tensor<2x8xf32>
  %4 = nn.mul %3, %k : tensor<2x8xf32>
  %5 = nn.tanh %4 : tensor<2x8xf32>
  %6 = nn.add %one, %5 : tensor<2x8xf32>
  %7 = nn.mul %6, %0 : tensor<2x8xf32>
  return %7 : tensor<2x8xf32>
}

// CHECK-LABEL: @gelu_by_the_error_function
// CHECK-NEXT: nn.gelu %arg0 :
// CHECK-NEXT: return
func.func @gelu_by_the_error_function(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = nn.constant dense<0.5> : tensor<2x8xf32>
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %root = nn.constant dense<1.41421354> : tensor<2x8xf32>
  %0 = nn.div %x, %root : tensor<2x8xf32>
  %1 = nn.erf %0 : tensor<2x8xf32>
  %2 = nn.add %1, %one : tensor<2x8xf32>
  %3 = nn.mul %x, %2 : tensor<2x8xf32>
  %4 = nn.mul %3, %half : tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// CHECK-LABEL: @gelu_with_the_half_inside_and_a_quotient
// CHECK: nn.gelu %arg0 :
func.func @gelu_with_the_half_inside_and_a_quotient(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %half = nn.constant dense<0.5> : tensor<2x8xf32>
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %two = nn.constant dense<2.0> : tensor<2x8xf32>
  %k = nn.constant dense<0.707106769> : tensor<2x8xf32>
  %0 = nn.mul %k, %x : tensor<2x8xf32>
  %1 = nn.erf %0 : tensor<2x8xf32>
  %2 = nn.mul %half, %1 : tensor<2x8xf32>
  %3 = nn.add %half, %2 : tensor<2x8xf32>
  %4 = nn.mul %3, %x : tensor<2x8xf32>
  %5 = nn.add %one, %1 : tensor<2x8xf32>
  %6 = nn.mul %5, %x : tensor<2x8xf32>
  %7 = nn.div %6, %two : tensor<2x8xf32>
  return %4, %7 : tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: @gelu_of_a_product_takes_the_whole_product
// CHECK-NEXT: %[[X:.*]] = nn.mul %arg0, %arg1
// CHECK-NEXT: nn.gelu %[[X]] :
func.func @gelu_of_a_product_takes_the_whole_product(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = nn.constant dense<0.5> : tensor<2x8xf32>
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %k = nn.constant dense<0.707106769> : tensor<2x8xf32>
  %x = nn.mul %a, %b : tensor<2x8xf32>
  %0 = nn.mul %x, %k : tensor<2x8xf32>
  %1 = nn.erf %0 : tensor<2x8xf32>
  %2 = nn.add %1, %one : tensor<2x8xf32>
  %3 = nn.mul %x, %half : tensor<2x8xf32>
  %4 = nn.mul %3, %2 : tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// CHECK-LABEL: @another_factor_is_no_gelu
// CHECK-NOT: nn.gelu
// CHECK: return
func.func @another_factor_is_no_gelu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = nn.constant dense<0.5> : tensor<2x8xf32>
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %k = nn.constant dense<0.72> : tensor<2x8xf32>
  %0 = nn.mul %x, %k : tensor<2x8xf32>
  %1 = nn.erf %0 : tensor<2x8xf32>
  %2 = nn.add %1, %one : tensor<2x8xf32>
  %3 = nn.mul %x, %half : tensor<2x8xf32>
  %4 = nn.mul %3, %2 : tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// CHECK-LABEL: @silu_from_sigmoid_and_from_exponentials
// CHECK: %[[A:.*]] = nn.silu %arg0
// CHECK: return %[[A]], %[[A]], %[[A]]
func.func @silu_from_sigmoid_and_from_exponentials(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %0 = nn.sigmoid %x : tensor<2x8xf32>
  %1 = nn.mul %0, %x : tensor<2x8xf32>
  %2 = nn.neg %x : tensor<2x8xf32>
  %3 = nn.exp %2 : tensor<2x8xf32>
  %4 = nn.add %one, %3 : tensor<2x8xf32>
  %5 = nn.div %x, %4 : tensor<2x8xf32>
  %6 = nn.reciprocal %4 : tensor<2x8xf32>
  %7 = nn.mul %x, %6 : tensor<2x8xf32>
  return %1, %5, %7 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -softplus(-x), and -softplus(x) for the complement: finite where the sigmoid is too small for a float.
// CHECK-LABEL: @log_sigmoid_and_that_of_the_complement
// CHECK-NOT: nn.log
// CHECK-DAG: %[[N:.*]] = nn.neg %arg0
// CHECK-DAG: %[[A:.*]] = nn.softplus %[[N]]
// CHECK-DAG: %[[B:.*]] = nn.softplus %arg0
// CHECK-DAG: %[[R:.*]] = nn.neg %[[A]]
// CHECK-DAG: %[[S:.*]] = nn.neg %[[B]]
// CHECK: return %[[R]], %[[S]]
func.func @log_sigmoid_and_that_of_the_complement(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %one = nn.constant dense<1.0> : tensor<2x8xf32>
  %0 = nn.sigmoid %x : tensor<2x8xf32>
  %1 = nn.log %0 : tensor<2x8xf32>
  %2 = nn.sub %one, %0 : tensor<2x8xf32>
  %3 = nn.log %2 : tensor<2x8xf32>
  return %1, %3 : tensor<2x8xf32>, tensor<2x8xf32>
}

// Half of the gradient of a maximum goes to an equal constant, none of relu's.
// CHECK-LABEL: @a_maximum_is_no_relu
// CHECK: nn.max
func.func @a_maximum_is_no_relu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = nn.constant dense<0.0> : tensor<2x8xf32>
  %0 = nn.max %x, %zero : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
