// What a program sees to before it opens its first file. Shared by the compiler
// and the runtime; no dependencies.
#ifndef SHARDC_RUNTIME_LAUNCH_GUARD_H
#define SHARDC_RUNTIME_LAUNCH_GUARD_H

namespace shardc {

/// From now on:
/// - A standard stream that was closed when the program began is there, and
///   cannot be used: no file that is opened gets its number, and with it what
///   is printed; printing fails as it would have.
/// - A mapped file that is truncated while it is in use, or whose disk fails,
///   ends the program with one line that names it and exit code 1 (the system
///   says so with SIGBUS).
/// - A file that outgrows the limit of its size (SIGXFSZ) is an error of the
///   write.
/// - Threads have 8 MiB of stack, where `ulimit -s` gives less.
/// `program` begins that line and must stay.
void guardProcess(const char *program);

} // namespace shardc

#endif
