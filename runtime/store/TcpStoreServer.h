// Serves a store to the processes of a run, in a thread of its own. torch's
// TCPStore clients may use it as well.
#ifndef SHARDC_RUNTIME_STORE_TCPSTORESERVER_H
#define SHARDC_RUNTIME_STORE_TCPSTORESERVER_H

#include "runtime/base/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace shardc::runtime {

/// Another socket listens on the port.
class PortTaken : public Error {
public:
  using Error::Error;
};

class TcpStoreServer {
public:
  enum class Reach { AllHosts, ThisHost };

  /// Listens from now on; port 0: any that is free. `job` is what clients
  /// compare with theirs. What a client sends that is no message of the
  /// protocol, or too long for it, closes its connection and nothing else.
  TcpStoreServer(uint16_t port, const std::string &job,
                 Reach reach = Reach::AllHosts);
  /// Answers those that are still connected for at most half a second more.
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer &) = delete;
  TcpStoreServer &operator=(const TcpStoreServer &) = delete;

  uint16_t port() const;

private:
  class Loop;
  std::unique_ptr<Loop> loop;
};

} // namespace shardc::runtime

#endif
