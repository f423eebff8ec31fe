// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @a_parameter_has_a_symbol() {
  // expected-error @below {{expects an nn.parameter named @w}}
  %w = nn.get_parameter @w : tensor<3xf32>
  return
}

// -----

nn.parameter @w : tensor<3xf32> {initializer = "w", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32}
func.func @a_parameter_has_one_type() {
  // expected-error @below {{expects the parameter's type 'tensor<3xf32>', got 'tensor<3xf64>'}}
  %w = nn.get_parameter @w : tensor<3xf64>
  return
}

// -----

// expected-error @below {{expects 2 dims where the file holds the transpose, got 1}}
nn.parameter @w : tensor<3xf32> {initializer = "w", file = "", offset = 0 : i64, length = 12 : i64, stored_type = f32, transposed}

// -----

// expected-error @below {{expects a byte range, got offset -4 and length 12}}
nn.parameter @w : tensor<3xf32> {initializer = "w", file = "", offset = -4 : i64, length = 12 : i64, stored_type = f32}

// -----

// expected-error @below {{expects float elements of a trainable parameter, got 'i64'}}
nn.parameter @w : tensor<3xi64> {initializer = "w", file = "", offset = 0 : i64, length = 24 : i64, stored_type = i64, trainable}

// -----

// expected-error @below {{expects a tensor of static shape, got 'f32'}}
nn.parameter @w : f32 {initializer = "w", file = "", offset = 0 : i64, length = 4 : i64, stored_type = f32}

// -----

func.func @a_strided_constant_has_one_type() {
  // expected-error @below {{expects elements of the type 'f32', got 'f64'}}
  %m = nn.constant #nn.strided<dense<[0.0, 1.0, 2.0]> : tensor<3xf64>, start 1, strides [-1, 1]> : tensor<2x2xf32>
  return
}

// -----

func.func @a_strided_constant_has_a_stride_per_dim() {
  // expected-error @below {{expects 2 strides, got 1}}
  %m = nn.constant #nn.strided<dense<[0.0, 1.0, 2.0]> : tensor<3xf32>, start 1, strides [1]> : tensor<2x2xf32>
  return
}

// -----

func.func @a_strided_constant_lies_within_its_values() {
  // expected-error @below {{reaches elements -1 to 1 of 3}}
  %m = nn.constant #nn.strided<dense<[0.0, 1.0, 2.0]> : tensor<3xf32>, start 0, strides [-1, 1]> : tensor<2x2xf32>
  return
}

// -----

func.func @where_gradients_stop_is_said_per_element(%x: tensor<2x3xf32>, %m: tensor<2x1xi1>) {
  // expected-error @below {{expects dim 1 of where to be 3, got 1}}
  %y = nn.stop_gradient %x where %m : (tensor<2x3xf32>, tensor<2x1xi1>) -> tensor<2x3xf32>
  return
}
