// Switching from one stack to another in a few instructions.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_SWITCHFIBER_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_SWITCHFIBER_H

// Saves what a callee keeps and the stack of the caller in *from, and goes on
// where `to` was saved (System V ABI, AMD64, 3.2.1).
extern "C" __attribute__((visibility("hidden"))) void
shardcSwitchFiber(void **from, void *to);
extern "C" __attribute__((visibility("hidden"))) void shardcStartFiber();

#endif
