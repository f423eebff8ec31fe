// Host tensors: storage, views, conversion to and from attributes.
#include "frontend/nn/HostTensor.h"
