// RUN: not shardc-opt %s --nn-mark-parameters=freeze=wpe 2>&1 | FileCheck %s --check-prefix=MATCH
// RUN: not shardc-opt %s --nn-mark-parameters=trainable=p3,wpe 2>&1 | FileCheck %s --check-prefix=TRAINABLE
// RUN: not shardc-opt %s --nn-mark-parameters=freeze=table 2>&1 | FileCheck %s --check-prefix=BUFFER
// RUN: not shardc-opt %s --nn-mark-parameters=freeze=*p 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not shardc-opt %s --nn-mark-parameters=freeze=p 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not shardc-opt %s --nn-mark-parameters="trainable=p1$ freeze=p" 2>&1 | FileCheck %s --check-prefix=NONE-LEFT

// MATCH: error: --freeze wpe: matches no parameter; there are p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, ... (13 in all)
// TRAINABLE: error: --trainable wpe: matches no parameter; there are p1,
// A buffer is not trained anyhow.
// BUFFER: error: --freeze table: matches no parameter; there are p1,
// REGEX: error: --freeze *p: no regular expression: {{.+}}
// ALL: error: no parameter is left to train: --freeze matches all 13
// NONE-LEFT: error: no parameter is left to train: --freeze and --trainable leave out all 13
nn.parameter @p1 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p2 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p3 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p4 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p5 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p6 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p7 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p8 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p9 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p10 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p11 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p12 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @p13 : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @table : tensor<4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32}
