// A TCP connection whose every step ends at a deadline.
#ifndef SHARDC_RUNTIME_STORE_CONNECTION_H
#define SHARDC_RUNTIME_STORE_CONNECTION_H

#include "runtime/files/Descriptor.h"
#include "runtime/store/Store.h"

#include <cstdint>
#include <string>
#include <string_view>

struct sockaddr;

namespace shardc::runtime {

/// "[::1]:80" where the host is an IPv6 address.
std::string addressText(const std::string &host, uint16_t port);

/// HOST:PORT or [HOST]:PORT. Throws an Error that begins with `what`.
struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};
HostAndPort parseHostAndPort(const std::string &what, const std::string &text);

class Connection {
public:
  /// Tries each address that the host's name has, once. Throws an Error that
  /// says what the last of them answered; a StoreTimeout at the deadline.
  Connection(const std::string &host, uint16_t port, Deadline deadline);

  const std::string &peer() const { return name; }
  /// Throw an Error where the other side has closed or failed, and a
  /// StoreTimeout at the deadline.
  void send(std::string_view bytes, Deadline deadline);
  void receive(void *bytes, size_t size, Deadline deadline);
  template <typename Number> Number receiveNumber(Deadline deadline) {
    Number number;
    receive(&number, sizeof(number), deadline);
    return number;
  }
  /// A text behind its length; an Error where that is above `most`.
  std::string receiveText(uint64_t most, Deadline deadline);

private:
  /// Whether the connection stands; else `why` has the reason.
  bool connectTo(int family, const sockaddr *address, unsigned length,
                 Deadline deadline, std::string &why);
  void waitFor(short events, Deadline deadline);
  [[noreturn]] void failLost(const char *why) const;

  std::string name;
  Descriptor socket;
};

} // namespace shardc::runtime

#endif
