// A store at another process: torch's, where torchrun serves one, or a
// TcpStoreServer.
#ifndef SHARDC_RUNTIME_STORE_TCPSTORECLIENT_H
#define SHARDC_RUNTIME_STORE_TCPSTORECLIENT_H

#include "runtime/store/Store.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

class Connection;

/// Where a store may be: a host, and ports of which it has the first that was
/// free.
struct StoreAddress {
  std::string host;
  uint16_t port = 0;
  int ports = 1;
};

class TcpStoreClient final : public Store {
public:
  /// Has the job that a server is for, on servers of this program.
  static constexpr const char *jobKey = "/shardc/job";

  /// Tries all of `addresses`, and their ports, until one is a store of `job`
  /// (where that is empty: any store) or the deadline comes; the error then has
  /// what each said last. All keys get `prefix` and a slash in front.
  TcpStoreClient(const std::vector<StoreAddress> &addresses,
                 const std::string &job, const std::string &prefix,
                 Deadline deadline);
  ~TcpStoreClient() override;

  std::string name() const override;
  void set(const std::string &key, const std::string &value,
           Deadline deadline) override;
  std::string get(const std::string &key, Deadline deadline) override;
  int64_t add(const std::string &key, int64_t number,
              Deadline deadline) override;
  void wait(const std::vector<std::string> &keys, Deadline deadline) override;
  bool has(const std::string &key, Deadline deadline) override;
  std::string compareSet(const std::string &key, const std::string &expected,
                         const std::string &desired,
                         Deadline deadline) override;

private:
  /// Connects once and sees that a store of this job is there.
  std::unique_ptr<Connection> open(const std::string &host, uint16_t port,
                                   Deadline deadline) const;
  /// Connects where this store was before; a StoreLost at once where nothing
  /// listens there any more.
  std::unique_ptr<Connection> openAgain(Deadline deadline) const;
  std::string stored(const std::string &key) const;
  static void waitOn(Connection &connection,
                     const std::vector<std::string> &keys, Deadline deadline);
  /// Runs one exchange on a connection that no other thread uses. Where that
  /// fails, the connection is dropped with all that may be on its way.
  template <typename Body>
  auto ask(std::string_view what, const std::string &key, Deadline deadline,
           Body &&body);

  std::string job, prefix, host;
  uint16_t port = 0;
  std::mutex mutex;
  std::vector<std::unique_ptr<Connection>> idle;
};

} // namespace shardc::runtime

#endif
