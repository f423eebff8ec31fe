#include "cmake/Precompiled.h"
