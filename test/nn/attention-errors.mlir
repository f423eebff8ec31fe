// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @heads_form_groups(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expects the number of query heads to be a multiple of the key heads 2, got 3}}
  %o, %l = nn.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x4x3x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x3x8xf32>, tensor<1x3x4xf32>)
  return
}

// -----

func.func @keys_have_the_queries_dim(%q: tensor<1x4x2x8xf32>, %k: tensor<1x4x2x6xf32>) {
  // expected-error @below {{expects dim 3 of key to be 8, got 6}}
  %o, %l = nn.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x6xf32>, tensor<1x4x2x6xf32>) -> (tensor<1x4x2x6xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @a_bias_repeats_or_fits(%q: tensor<1x4x2x8xf32>, %b: tensor<1x2x3x4xf32>) {
  // expected-error @below {{expects dim 2 of bias to be 4 or 1, got 3}}
  %o, %l = nn.attention %q, %q, %q bias %b {scale = 1.0 : f64}
    : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @a_key_mask_names_keys(%q: tensor<2x4x2x8xf32>, %m: tensor<1x4xi1>) {
  // expected-error @below {{expects dim 0 of key_mask to be 2, got 1}}
  %o, %l = nn.attention %q, %q, %q key_mask %m {scale = 1.0 : f64}
    : (tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<1x4xi1>) -> (tensor<2x4x2x8xf32>, tensor<2x2x4xf32>)
  return
}

// -----

func.func @windows_are_counts(%q: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expects left and right to be -1, which is all keys, or more, got -2}}
  %o, %l = nn.attention %q, %q, %q {left = -2 : i64, scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @causal_says_what_is_behind(%q: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expects no right where it is causal, got 0}}
  %o, %l = nn.attention %q, %q, %q {causal, right = 0 : i64, scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @log_sum_exp_of_16_bits_is_float32(%q: tensor<1x4x2x8xbf16>) {
  // expected-error @below {{expects elements of log_sum_exp to be 'f32', got 'bf16'}}
  %y, %l = nn.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>) -> (tensor<1x4x2x8xbf16>, tensor<1x2x4xbf16>)
  return
}

// -----

func.func @a_bias_has_the_querys_type_or_float32(%q: tensor<1x4x2x8xbf16>, %b: tensor<1x1x4x4xf16>) {
  // expected-error @below {{expects elements of bias to be 'bf16' or 'f32', got 'f16'}}
  %y, %l = nn.attention %q, %q, %q bias %b {scale = 1.0 : f64} : (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x1x4x4xf16>) -> (tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @a_softcap_is_positive(%q: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expects softcap to be 0, which is none, or a positive number, got -2}}
  %y, %l = nn.attention %q, %q, %q {scale = 1.0 : f64, softcap = -2.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @sinks_are_one_of_each_head(%q: tensor<1x4x2x8xf32>, %s: tensor<3xf32>) {
  // expected-error @below {{expects dim 0 of sinks to be 2, got 3}}
  %y, %l = nn.attention %q, %q, %q sinks %s {scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<3xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @a_rate_has_a_site(%q: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expects a rate and a site, or neither}}
  %y, %l = nn.attention %q, %q, %q {scale = 1.0 : f64, rate = 0.1 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @a_rate_is_a_share(%q: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expects a rate in [0, 1], got 1.5}}
  %y, %l = nn.attention %q, %q, %q {scale = 1.0 : f64, rate = 1.5 : f64, site = 0 : i64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @what_is_drawn_has_no_rate(%q: tensor<1x4x2x8xf32>, %w: tensor<8xi32>) {
  // expected-error @below {{expects words or a rate, got both}}
  %y, %l = nn.attention %q, %q, %q drawn %w {scale = 1.0 : f64, rate = 0.5 : f64, site = 0 : i64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<8xi32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @samples_have_whole_rows(%q: tensor<1x4x2x8xf32>, %w: tensor<8xi32>) {
  // expected-error @below {{expects samples that have rows of 4 keys, got a stride of 2}}
  %y, %l = nn.attention %q, %q, %q drawn %w {scale = 1.0 : f64, samples = 2 : i64, sample_stride = 2 : i64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<8xi32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @samples_divide_scores(%q: tensor<1x4x2x8xf32>, %w: tensor<8xi32>) {
  // expected-error @below {{expects elements that 3 samples of stride 4 divide, got 32}}
  %y, %l = nn.attention %q, %q, %q drawn %w {scale = 1.0 : f64, samples = 3 : i64, sample_stride = 4 : i64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<8xi32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return
}
