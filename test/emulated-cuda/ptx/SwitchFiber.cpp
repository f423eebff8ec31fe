// Written for the processors that the tests run on.
#include "SwitchFiber.h"

#ifndef __x86_64__
#error fibers are written for x86-64
#endif

asm(R"(
.text
.p2align 4
.hidden shardcSwitchFiber
.globl shardcSwitchFiber
.type shardcSwitchFiber,@function
shardcSwitchFiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size shardcSwitchFiber, .-shardcSwitchFiber
.hidden shardcStartFiber
.globl shardcStartFiber
.type shardcStartFiber,@function
shardcStartFiber:
  movq %r12, %rdi
  callq *%r13
  ud2
.size shardcStartFiber, .-shardcStartFiber
)");
