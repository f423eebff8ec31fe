// What is looked for by a process that comes and goes.
#ifndef SHARDC_RUNTIME_LAUNCH_ASKINCHILD_H
#define SHARDC_RUNTIME_LAUNCH_ASKINCHILD_H

#include <functional>
#include <string>

namespace shardc::runtime {

/// What `answer` returns, called in a child of this process, which is gone when
/// this returns: libraries that are opened for it, and their threads, are no
/// part of this process, which may go on to start others. Throws an Error where
/// `answer` did. Call it before any other thread is there.
std::string askInChild(const std::function<std::string()> &answer);

} // namespace shardc::runtime

#endif
