#include "io/formats/chakra/fingerprint.h"

#include <algorithm>

namespace exawarp::io {

void Fingerprint::add(std::uint64_t value) {
  a = (a ^ value) * 0x9e3779b97f4a7c15u;
  a ^= a >> 32;
  b = (b + value) * 0xd6e8feb86659fd93u;
  b ^= b >> 29;
}

void Fingerprint::add(std::string_view text) {
  add(text.size());
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::copy_n(text.data(), 8, reinterpret_cast<char*>(&word));
    add(word);
  }
  std::uint64_t word = 0;
  std::copy_n(text.data(), text.size(), reinterpret_cast<char*>(&word));
  add(word);
}

Fingerprint fingerprint(const RankProgram& program) {
  Fingerprint print;
  print.add(program.number);
  for (const StreamFields& stream : program.streams) {
    print.add(stream.name);
    print.add(static_cast<std::uint64_t>(stream.kind));
  }
  const auto add_all = [&print](const std::vector<std::uint64_t>& values) {
    print.add(values.size());
    for (const std::uint64_t value : values) print.add(value);
  };
  for (const auto* texts : {&program.axes, &program.groups}) {
    print.add(texts->size());
    for (const std::string& text : *texts) print.add(text);
  }
  for (const std::vector<std::uint64_t>& table : program.size_tables) add_all(table);
  add_all(program.memory);
  for (const RankNode& node : program.nodes) {
    print.add(node.id);
    print.add(node.name);
    print.add(node.record);
    print.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(node.fields.peer)));
    print.add(std::uint64_t{node.fields.tag} << 32 | node.communicator);
    print.add(std::uint64_t{node.stream} << 32 | node.position);
    add_all(node.data);
    add_all(node.control);
  }
  return print;
}

}  // namespace exawarp::io
