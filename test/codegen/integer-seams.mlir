// Integers divided by 0 and -1 and raised to any power: generated code, interpreted, on the CPU in vectors and tails and as the
// threads of a GPU, against the reference evaluation; and floats that no integer of the type is near. LOW is the type's lowest number.
// RUN: sed -e s/ELEM/i64/g -e s/LOW/-9223372036854775808/g %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/ELEM/i8/g -e s/LOW/-128/g %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/ELEM/ui8/g -e s/LOW/128/g -e 's/\([ [(,]\)-\([0-9]\)/\1\2/g' %s | shardc-opt -test-nn-kernels -o /dev/null
// RUN: sed -e s/ELEM/i64/g -e s/LOW/-9223372036854775808/g %s | shardc-opt -test-step-kernels -o /dev/null | FileCheck %s
// RUN: sed -e s/ELEM/i32/g -e s/LOW/-2147483648/g %s | shardc-opt -test-step-kernels -o /dev/null | FileCheck %s
// RUN: sed -e s/ELEM/i32/g -e s/LOW/-2147483648/g %s | shardc-opt -test-step-kernels=cpu=x86-64 -o /dev/null | FileCheck %s
// RUN: sed -e s/ELEM/i8/g -e s/LOW/-128/g %s | shardc-opt -test-step-kernels -o /dev/null | FileCheck %s
// RUN: sed -e s/ELEM/ui8/g -e s/LOW/128/g -e 's/\([ [(,]\)-\([0-9]\)/\1\2/g' %s | shardc-opt -test-step-kernels -o /dev/null | FileCheck %s
// RUN: sed -e s/ELEM/i64/g -e s/LOW/-9223372036854775808/g %s | shardc-opt -test-step-kernels=emulate-gpu=true -o /dev/null | FileCheck %s
// RUN: sed -e s/ELEM/ui8/g -e s/LOW/128/g -e 's/\([ [(,]\)-\([0-9]\)/\1\2/g' %s | shardc-opt -test-step-kernels=emulate-gpu=true -o /dev/null | FileCheck %s

// CHECK: @quotients: {{.*}} agree
func.func @quotients(%x: tensor<19xELEM> {test.values = dense<[7, -7, 7, -7, 0, 5, LOW, LOW, LOW, 0, 1, -1, 3, 100, -100, 9, 8, 7, 6]> : tensor<19xELEM>}, %y: tensor<19xELEM> {test.values = dense<[3, 3, -3, -3, 0, 0, -1, 0, 1, -1, LOW, -1, 0, 7, 7, -9, 1, 0, 2]> : tensor<19xELEM>})
    -> (tensor<19xELEM>, tensor<19xELEM>, tensor<19xELEM>) {
  %0 = nn.div %x, %y : tensor<19xELEM>
  %1 = nn.mod %x, %y : tensor<19xELEM>
  %2 = nn.mod %x, %y {fmod} : tensor<19xELEM>
  return %0, %1, %2 : tensor<19xELEM>, tensor<19xELEM>, tensor<19xELEM>
}

// CHECK: @powers: {{.*}} agree
func.func @powers(%x: tensor<19xELEM> {test.values = dense<[0, 0, 0, 1, 1, -1, -1, -1, 2, 2, 2, 3, 3, -2, -2, LOW, LOW, 5, -3]> : tensor<19xELEM>}, %y: tensor<19xELEM> {test.values = dense<[0, 1, -1, 0, -5, 2, 3, -3, 0, 6, -1, 5, 41, 3, 7, 1, 2, 100, 99]> : tensor<19xELEM>})
    -> (tensor<19xELEM>, tensor<19xELEM>, tensor<19xELEM>, tensor<19xELEM>) {
  %c0 = nn.constant dense<0> : tensor<19xELEM>
  %c2 = nn.constant dense<2> : tensor<19xELEM>
  %c5 = nn.constant dense<5> : tensor<19xELEM>
  %0 = nn.pow %x, %y : tensor<19xELEM>
  %1 = nn.pow %x, %c0 : tensor<19xELEM>
  %2 = nn.pow %x, %c2 : tensor<19xELEM>
  %3 = nn.pow %x, %c5 : tensor<19xELEM>
  return %0, %1, %2, %3 : tensor<19xELEM>, tensor<19xELEM>, tensor<19xELEM>, tensor<19xELEM>
}

// CHECK: @casts: {{.*}} agree
func.func @casts(%x: tensor<11xf32> {test.values = dense<[0.5, 1.7, 127.9, 128.0, 255.0, 256.0, 3.0e9, 1.0e30, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<11xf32>}) -> (tensor<11xELEM>, tensor<11xELEM>) {
  %0 = nn.cast %x : (tensor<11xf32>) -> tensor<11xELEM>
  %1 = nn.neg %x : tensor<11xf32>
  %2 = nn.cast %1 : (tensor<11xf32>) -> tensor<11xELEM>
  return %0, %2 : tensor<11xELEM>, tensor<11xELEM>
}
