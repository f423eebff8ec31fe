// Serves a store to the processes of a run.
#include "runtime/store/TcpStoreServer.h"

#include "runtime/files/Descriptor.h"
#include "runtime/store/StoreTable.h"
#include "runtime/store/TcpStoreClient.h"

#include <list>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace shardc::runtime {

/// The thread, its sockets and its table.
class TcpStoreServer::Loop {
public:
  Loop(uint16_t port, const std::string &job, Reach reach);
  ~Loop();
  uint16_t port() const;

private:
  struct Client : StoreTable::Client {
    Descriptor socket;
    std::string bytes; // of a message that is not whole
    bool isGone = false;
  };

  bool listen(int family, uint16_t port, Reach reach);
  void run();
  void acceptAll();
  void read(Client &client);
  void handle(Client &client);
  void write(Client &client);
  void dropGone();

  Descriptor listener, wake;
  bool acceptsNext = true;
  StoreTable table;
  std::list<Client> clients;
  std::thread thread;
};

bool TcpStoreServer::Loop::listen(int family, uint16_t port, Reach reach) {
  listener = Descriptor(
      ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener)
    return false;
  int on = 1, off = 0;
  // Connections of a run that has just ended do not keep the port.
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  bool isHere = reach == Reach::ThisHost;
  sockaddr_in6 v6 = {};
  sockaddr_in v4 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port = htons(port);
  v6.sin6_addr = in6addr_any;
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(isHere ? INADDR_LOOPBACK : INADDR_ANY);
  bool bound;
  if (family == AF_INET6) {
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    bound = bind(listener.get(), reinterpret_cast<sockaddr *>(&v6),
                 sizeof(v6)) == 0;
  } else
    bound = bind(listener.get(), reinterpret_cast<sockaddr *>(&v4),
                 sizeof(v4)) == 0;
  return bound && ::listen(listener.get(), SOMAXCONN) == 0;
}

TcpStoreServer::Loop::Loop(uint16_t port, const std::string &job, Reach reach)
    : wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake)
    failErrno("cannot serve a store");
  table.set(TcpStoreClient::jobKey, job);
  // Of both versions where the machine has IPv6. A port that is taken is taken
  // for both.
  bool listens = reach == Reach::AllHosts && listen(AF_INET6, port, reach);
  if (!listens && (reach == Reach::ThisHost || errno != EADDRINUSE))
    listens = listen(AF_INET, port, reach);
  if (!listens && errno == EADDRINUSE)
    throw PortTaken(
        concat("port ", port, " of this host is taken by another process"));
  if (!listens)
    failErrno("cannot listen on port ", port);
  thread = std::thread([this] { run(); });
}

TcpStoreServer::Loop::~Loop() {
  uint64_t one = 1;
  while (::write(wake.get(), &one, sizeof(one)) < 0 && errno == EINTR)
    ;
  thread.join();
}

uint16_t TcpStoreServer::Loop::port() const {
  sockaddr_in6 own = {};
  socklen_t size = sizeof(own);
  getsockname(listener.get(), reinterpret_cast<sockaddr *>(&own), &size);
  return ntohs(own.sin6_port); // IPv4 has it at the same place
}

void TcpStoreServer::Loop::acceptAll() {
  for (;;) {
    Descriptor socket(accept4(listener.get(), nullptr, nullptr,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      // Without a descriptor to spare, the next ones wait until one is.
      acceptsNext = errno != EMFILE && errno != ENFILE && errno != ENOMEM;
      if (errno == EINTR || errno == ECONNABORTED)
        continue;
      return;
    }
    int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    Client &client = clients.emplace_back();
    client.socket = std::move(socket);
    table.add(&client);
  }
}

void TcpStoreServer::Loop::read(Client &client) {
  char block[64 << 10];
  ssize_t got = recv(client.socket.get(), block, sizeof(block), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0) {
    client.isGone = true;
    return;
  }
  client.bytes.append(block, static_cast<size_t>(got));
  handle(client);
}

void TcpStoreServer::Loop::handle(Client &client) {
  try {
    client.bytes.erase(0, table.handle(client, client.bytes));
  } catch (const std::exception &) {
    // Who speaks another protocol learns it from the end of the connection.
    client.isGone = true;
  }
}

void TcpStoreServer::Loop::write(Client &client) {
  while (!client.answers.empty()) {
    ssize_t sent = send(client.socket.get(), client.answers.data(),
                        client.answers.size(), MSG_NOSIGNAL);
    if (sent > 0)
      client.answers.erase(0, static_cast<size_t>(sent));
    else if (errno == EAGAIN)
      return;
    else if (errno != EINTR) {
      client.isGone = true;
      return;
    }
  }
}

void TcpStoreServer::Loop::dropGone() {
  for (auto each = clients.begin(); each != clients.end();)
    if (each->isGone) {
      table.remove(&*each);
      each = clients.erase(each);
      acceptsNext = true;
    } else
      ++each;
}

/// How long a server that is to end answers those that are still connected.
/// What ends process 0, a deadline say, ends the others a moment later, and
/// they should say it as it is and not that their store is gone.
static constexpr std::chrono::milliseconds linger{500};

void TcpStoreServer::Loop::run() {
  std::vector<pollfd> polled;
  std::optional<Deadline> end;
  while (!end || (!clients.empty() && Clock::now() < *end)) {
    polled.clear();
    polled.push_back({end ? -1 : wake.get(), POLLIN, 0});
    polled.push_back({acceptsNext ? listener.get() : -1, POLLIN, 0});
    for (const Client &client : clients) {
      short events =
          client.answers.size() < StoreTable::mostAnswers ? POLLIN : 0;
      if (!client.answers.empty())
        events |= POLLOUT;
      polled.push_back({client.socket.get(), events, 0});
    }
    int most = end ? 10 : acceptsNext ? -1 : 100;
    if (poll(polled.data(), polled.size(), most) < 0)
      continue;
    if (polled[0].revents)
      end = after(linger);
    acceptsNext = true;
    size_t at = 2;
    for (Client &client : clients)
      if (short events = polled[at++].revents) {
        if (events & POLLIN)
          read(client);
        else if (events & (POLLERR | POLLHUP | POLLNVAL))
          client.isGone = true;
      }
    // What one said may be what others waited for.
    for (Client &client : clients)
      if (!client.isGone && !client.answers.empty()) {
        write(client);
        if (client.answers.empty() && !client.bytes.empty())
          handle(client);
      }
    dropGone();
    if (polled[1].revents)
      acceptAll();
  }
}

TcpStoreServer::TcpStoreServer(uint16_t port, const std::string &job,
                               Reach reach)
    : loop(std::make_unique<Loop>(port, job, reach)) {}

TcpStoreServer::~TcpStoreServer() = default;

uint16_t TcpStoreServer::port() const { return loop->port(); }

} // namespace shardc::runtime
