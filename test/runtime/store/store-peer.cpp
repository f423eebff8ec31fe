// Either side of the store, for another program's: `serve` prints its port and
// serves until stdin ends, `use HOST:PORT` prints what all calls returned.
#include "runtime/store/Connection.h"
#include "runtime/store/TcpStoreClient.h"
#include "runtime/store/TcpStoreServer.h"
#include "test/runtime/store/StoreCalls.h"

#include <cstdio>

using namespace shardc::runtime;

int main(int argc, char **argv) {
  try {
    if (argc == 2 && std::string(argv[1]) == "serve") {
      TcpStoreServer server(0, "peer");
      std::printf("%d\n", server.port());
      std::fflush(stdout);
      while (std::getchar() != EOF)
        ;
      return 0;
    }
    if (argc != 3 || std::string(argv[1]) != "use")
      fail("expects serve, or use HOST:PORT");
    HostAndPort at = parseHostAndPort("use", argv[2]);
    TcpStoreClient client({{at.host, at.port}}, "", "run/0",
                          after(std::chrono::seconds(20)));
    std::puts(callAll(client).c_str());
    return 0;
  } catch (const Error &error) {
    std::fprintf(stderr, "store-peer: error: %s\n", error.what());
    return 1;
  }
}
