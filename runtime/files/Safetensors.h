// The safetensors format (https://github.com/huggingface/safetensors#format):
// eight bytes with the length of a JSON header, the header, and the tensors'
// bytes one after the other.
#ifndef SHARDC_RUNTIME_FILES_SAFETENSORS_H
#define SHARDC_RUNTIME_FILES_SAFETENSORS_H

#include "runtime/files/Descriptor.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

struct SafetensorsEntry {
  std::string name;
  plan::DType dtype =
      plan::INVALID; // INVALID: a dtype that the runtime does not know
  std::vector<int64_t> shape;
  uint64_t offset = 0; // bytes from the file's begin
  uint64_t length = 0; // bytes
};

/// Reads and checks a file's header. Throws an Error with the file's name.
/// `metadata`: gets the texts of its __metadata__, where that is asked for.
std::map<std::string, SafetensorsEntry>
readSafetensorsHeader(const Descriptor &file, const std::string &path,
                      std::map<std::string, std::string> *metadata = nullptr);

/// The first bytes of a file with these tensors (name, dtype and shape are
/// used) in this order, a multiple of 8 long. `metadata`: texts by name.
std::string safetensorsHeader(
    const std::vector<SafetensorsEntry> &entries,
    const std::vector<std::pair<std::string, std::string>> &metadata = {
        {"format", "pt"}});

} // namespace shardc::runtime

#endif
