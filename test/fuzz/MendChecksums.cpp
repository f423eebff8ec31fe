// mend-checksums FILE: makes the checksums of a trainer right again.
#include "test/fuzz/MendChecksums.h"

#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: mend-checksums FILE\n";
    return 2;
  }
  std::stringstream bytes;
  bytes << std::ifstream(argv[1], std::ios::binary).rdbuf();
  std::string file = bytes.str();
  shardc::fuzz::mendChecksums(file);
  std::ofstream out(argv[1], std::ios::binary);
  out << file;
  return out.flush() ? 0 : 1;
}
