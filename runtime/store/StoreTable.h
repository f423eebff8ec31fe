// What a server of the store has, and who waits for what: without sockets.
#ifndef SHARDC_RUNTIME_STORE_STORETABLE_H
#define SHARDC_RUNTIME_STORE_STORETABLE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace shardc::runtime {

class StoreTable {
public:
  /// With so many bytes to be sent, a client's next questions wait: one that
  /// does not read its answers does not fill the server's memory.
  static constexpr size_t mostAnswers = 16 << 20;

  /// A connection, as the table sees it.
  struct Client {
    bool isValidated = false;
    std::set<std::string, std::less<>> awaited; // keys that are not there yet
    std::string answers;                        // to be sent
  };

  void set(const std::string &key, std::string value) {
    values[key] = std::move(value);
  }
  void add(Client *client) { clients.insert(client); }
  void remove(Client *client) { clients.erase(client); }

  /// Reads the messages at the begin of `bytes`, as many as are whole and may
  /// be answered, and adds what they are answered to their client and to those
  /// that wait. Returns how many bytes those took; throws an Error for what is
  /// no message.
  size_t handle(Client &client, std::string_view bytes);

private:
  class Reader;
  bool handleOne(Client &client, Reader &reader);
  void store(const std::string &key, std::string value);
  bool compareSet(Client &client, Reader &reader);
  bool add(Client &client, Reader &reader);
  bool wait(Client &client, Reader &reader, bool isCheck);

  std::map<std::string, std::string, std::less<>> values;
  std::set<Client *> clients;
};

} // namespace shardc::runtime

#endif
