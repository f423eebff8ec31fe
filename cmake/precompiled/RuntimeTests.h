// What nearly every test of the runtime includes.
#include "cmake/precompiled/Runtime.h"

#include "runtime/engine/Executor.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
