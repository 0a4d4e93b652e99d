// A StableHLO module as the reader keeps it: functions of operations with their types; attributes
// as text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/formats/stablehlo/lexer.h"

namespace exawarp::io::stablehlo {

struct TensorType {
  std::string_view element;  // "f32", "i1", "complex<f32>"
  std::vector<std::uint64_t> dims;

  [[nodiscard]] std::uint64_t elements() const;  // at most kElementsMax: the parser sees to it
  // Of an element; 0 where the element type is not known.
  [[nodiscard]] std::uint32_t width_bits() const;
  // Bits packed, rounded up to at least a byte: (bits + 8) / 8 where 8 does not divide them, as
  // the published tool counts.
  [[nodiscard]] std::uint64_t bytes() const;
};

constexpr std::uint64_t kElementsMax = 1ull << 48;  // of a tensor

// A value's type: one tensor, several (a tuple, what an asynchronous operation will give), or none
// (a token).
using ValueType = std::vector<TensorType>;
using ValueId = std::uint32_t;  // counted over the module

struct Attribute {
  std::string_view name, value;
};

struct Operation;

struct Region {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;  // of all its blocks
};

struct Operation {
  std::string name;         // "add", "all_reduce", "func.call", "return"; others keep a dialect
  std::string_view callee;  // without "@": of calls and custom calls
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Attribute> attributes;
  std::vector<Region> regions;
  std::size_t offset = 0;   // in the source

  // Its text, or an empty one.
  [[nodiscard]] std::string_view attribute(std::string_view wanted) const;
};

struct Function {
  std::string_view name;
  Region body;
  std::size_t offset = 0;
};

// A named mesh: axes in the order declared, the last one varying fastest.
struct NamedMesh {
  std::vector<std::pair<std::string, std::uint64_t>> axes;
  std::vector<std::int64_t> device_ids;  // by place in the mesh; empty: in order
};

struct Module {
  std::vector<Function> functions;
  std::map<std::string, NamedMesh, std::less<>> meshes;
  std::map<std::string, std::string_view, std::less<>> aliases;  // "#name": its text
  std::vector<ValueType> types;                            // by value
  std::vector<std::optional<std::int64_t>> constants;      // by value: of a scalar integer
  std::uint64_t replicas = 1, partitions = 1;

  [[nodiscard]] const Function* find(std::string_view name) const;
};

// The integers in a text, in order: "[[0, 1], [2, -1]]" gives 0, 1, 2, -1. A number that a letter
// follows or precedes (i64, 2x4) is none.
std::vector<std::int64_t> integers_in(std::string_view text);

}  // namespace exawarp::io::stablehlo
