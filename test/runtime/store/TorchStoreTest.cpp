// What torch 2.15's clients and servers said, as test/tools/torch_store.py
// recorded it: "> " what the client sent, "< " what the server answered.
#include "runtime/files/Descriptor.h"
#include "runtime/store/StoreTable.h"
#include "runtime/store/TcpStoreClient.h"
#include "test/runtime/store/StoreCalls.h"

#include <fstream>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace shardc::runtime;

namespace {

struct Said {
  bool byClient;
  std::string bytes;
};

std::vector<Said> recorded(const std::string &name) {
  std::ifstream file(SHARDC_TEST_RECORDED "/store/" + name);
  std::vector<Said> all;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("> ") || line.starts_with("< ")) {
      Said &said = all.emplace_back(Said{line[0] == '>', ""});
      for (size_t i = 2; i + 1 < line.size(); i += 2)
        said.bytes +=
            static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
  EXPECT_GT(all.size(), 10u) << name;
  return all;
}

/// Plays torch's server to one client; what the client sends has to be what it
/// sent then, but for the number of its ping.
void play(const std::vector<Said> &all, int listener) {
  Descriptor client(accept(listener, nullptr, nullptr));
  std::string sent;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].byClient) {
      sent.resize(all[i].bytes.size());
      ASSERT_EQ(recv(client.get(), sent.data(), sent.size(), MSG_WAITALL),
                ssize_t(sent.size()));
      if (i > 0)
        ASSERT_EQ(sent, all[i].bytes) << i;
      else
        ASSERT_EQ(sent.substr(0, 6), all[i].bytes.substr(0, 6));
    } else {
      const std::string &answer = i == 1 ? sent.substr(6) : all[i].bytes;
      // In two pieces, as a network may bring it.
      size_t half = answer.size() / 2;
      send(client.get(), answer.data(), half, 0);
      send(client.get(), answer.data() + half, answer.size() - half, 0);
    }
}

} // namespace

TEST(TorchStore, ATorchClientGetsTheAnswersOfATorchServer) {
  StoreTable table;
  StoreTable::Client client;
  table.add(&client);
  std::string answers;
  for (const Said &said : recorded("torch-client.txt"))
    if (said.byClient) {
      EXPECT_EQ(table.handle(client, said.bytes), said.bytes.size());
      answers = std::exchange(client.answers, "");
    } else
      EXPECT_EQ(answers, said.bytes);
}

TEST(TorchStore, TheClientUnderstandsATorchServer) {
  Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto *plain = reinterpret_cast<sockaddr *>(&address);
  ASSERT_EQ(bind(listener.get(), plain, size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  getsockname(listener.get(), plain, &size);
  std::vector<Said> all = recorded("own-client.txt");
  std::thread server([&] { play(all, listener.get()); });
  std::string returned;
  try {
    TcpStoreClient client({{"127.0.0.1", ntohs(address.sin_port)}}, "", "run/0",
                          after(std::chrono::seconds(20)));
    returned = callAll(client);
  } catch (const Error &error) {
    returned = error.what();
  }
  server.join();
  EXPECT_EQ(returned, allCalls);
}
