// A TCP connection whose every step ends at a deadline.
#include "runtime/store/Connection.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace shardc::runtime {

std::string addressText(const std::string &host, uint16_t port) {
  bool isV6 = host.find(':') != std::string::npos;
  return concat(isV6 ? "[" : "", host, isV6 ? "]:" : ":", port);
}

HostAndPort parseHostAndPort(const std::string &what, const std::string &text) {
  size_t colon = text.rfind(':');
  HostAndPort parsed;
  if (colon != std::string::npos) {
    parsed.host = text.substr(0, colon);
    const char *end = text.data() + text.size();
    auto [stop, error] =
        std::from_chars(text.data() + colon + 1, end, parsed.port);
    if (error != std::errc() || stop != end)
      parsed.port = 0;
  }
  std::string &host = parsed.host;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos)
    host.clear();
  if (host.empty() || parsed.port == 0)
    fail(what,
         " expects HOST:PORT, [ADDRESS]:PORT for IPv6, with a port from "
         "1 to 65535, got '",
         text, "'");
  return parsed;
}

/// For poll(): rounded up, so that it does not come back too early.
static int millisecondsTo(Deadline deadline) {
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(
      std::clamp<int64_t>(left.count(), 0, 24 * 3600 * 1000));
}

Connection::Connection(const std::string &host, uint16_t port,
                       Deadline deadline)
    : name(addressText(host, port)) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int code =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found,
                                                               freeaddrinfo);
  if (code != 0)
    fail("cannot find the host of ", name, ": ", gai_strerror(code));
  std::string why = "no address";
  for (const addrinfo *each = found; each; each = each->ai_next)
    if (connectTo(each->ai_family, each->ai_addr, each->ai_addrlen, deadline,
                  why))
      return;
  fail("cannot connect to ", name, ": ", why);
}

bool Connection::connectTo(int family, const sockaddr *address, unsigned length,
                           Deadline deadline, std::string &why) {
  socket = Descriptor(
      ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto refused = [&](int code) {
    why = std::strerror(code);
    return false;
  };
  if (!socket)
    return refused(errno);
  int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // A host that loses its power says nothing.
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  if (::connect(socket.get(), address, length) != 0) {
    if (errno != EINPROGRESS)
      return refused(errno);
    waitFor(POLLOUT, deadline);
    int code = 0;
    socklen_t size = sizeof(code);
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0)
      return refused(code);
  }
  // A port of this machine that nobody listens on may be given to the socket
  // that looks for it, which then is connected with itself.
  sockaddr_storage own = {}, other = {};
  socklen_t ownSize = sizeof(own), otherSize = sizeof(other);
  getsockname(socket.get(), reinterpret_cast<sockaddr *>(&own), &ownSize);
  getpeername(socket.get(), reinterpret_cast<sockaddr *>(&other), &otherSize);
  if (ownSize == otherSize && std::memcmp(&own, &other, ownSize) == 0)
    return refused(ECONNREFUSED);
  return true;
}

void Connection::waitFor(short events, Deadline deadline) {
  for (;;) {
    pollfd polled = {socket.get(), events, 0};
    int ready = poll(&polled, 1, millisecondsTo(deadline));
    if (ready > 0)
      return;
    if (ready == 0 && Clock::now() >= deadline)
      throw StoreTimeout("no answer from " + name);
    if (ready < 0 && errno != EINTR)
      failErrno("cannot wait for ", name);
  }
}

void Connection::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t sent =
        ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes.remove_prefix(static_cast<size_t>(sent));
    else if (errno == EAGAIN)
      waitFor(POLLOUT, deadline);
    else if (errno != EINTR)
      failLost(std::strerror(errno));
  }
}

void Connection::failLost(const char *why) const {
  throw StoreLost(concat("lost the connection to ", name, ": ", why));
}

void Connection::receive(void *bytes, size_t size, Deadline deadline) {
  for (char *at = static_cast<char *>(bytes); size > 0;) {
    ssize_t got = ::recv(socket.get(), at, size, 0);
    if (got == 0)
      failLost("it was closed there");
    if (got > 0) {
      at += got;
      size -= static_cast<size_t>(got);
    } else if (errno == EAGAIN)
      waitFor(POLLIN, deadline);
    else if (errno != EINTR)
      failLost(std::strerror(errno));
  }
}

std::string Connection::receiveText(uint64_t most, Deadline deadline) {
  auto size = receiveNumber<uint64_t>(deadline);
  if (size > most)
    fail(name, " answers with ", size, " bytes, where a store has at most ",
         most);
  std::string text(size, '\0');
  receive(text.data(), size, deadline);
  return text;
}

} // namespace shardc::runtime
