// What a server of the store makes of what clients send, in pieces of any size.
#include "runtime/store/StoreProtocol.h"
#include "runtime/store/StoreTable.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;
using namespace shardc::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string all(reinterpret_cast<const char *>(data), size);
  StoreTable table;
  StoreTable::Client whole, pieces, other;
  for (StoreTable::Client *client : {&whole, &pieces, &other})
    table.add(client);
  StoreMessage hello(StoreQuery::Validate);
  table.handle(other, hello.number(storeMagic).bytes);
  table.handle(other, StoreMessage(StoreQuery::Wait).texts({"/a"}).bytes);
  fuzz::read([&] {
    size_t taken = table.handle(whole, all);
    fuzz::require(taken <= all.size());
  });
  // The same messages, whatever the network makes of them.
  size_t step = size ? 1 + data[size - 1] % 16 : 1;
  std::string bytes;
  fuzz::read([&] {
    for (size_t at = 0; at < all.size(); at += step) {
      bytes += all.substr(at, step);
      bytes.erase(0, table.handle(pieces, bytes));
    }
  });
  // Who waits learns of what came, and once.
  fuzz::require(other.answers.size() <= 1 &&
                other.answers.empty() != other.awaited.empty());
  return 0;
}
