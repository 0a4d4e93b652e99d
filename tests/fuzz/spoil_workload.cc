// A change takes its decisions from eight bytes, each modulo the number of choices. Half of the
// changes go to a field of some node; the others walk from the root, at each structure to one of
// its fields and at each list to one of its elements, until they come to a number or a text. What
// is done there is the last decision; '7' is to do nothing, and leads there from anywhere.
#include "tests/fuzz/spoil_workload.h"

#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "tests/fuzz/seeds.h"

namespace exawarp::fuzz {
namespace {

namespace schema = model::schema;
using capnp::DynamicList;
using capnp::DynamicStruct;
using capnp::DynamicValue;
using capnp::schema::Type;

constexpr unsigned kActions = 8;

const std::vector<std::string>& graphs() {
  static const std::vector<std::string> seeds = xwg_seeds();
  return seeds;
}

unsigned bits_of(Type::Which type) {
  switch (type) {
    case Type::BOOL: return 1;
    case Type::INT8:
    case Type::UINT8: return 8;
    case Type::INT16:
    case Type::UINT16:
    case Type::ENUM: return 16;
    case Type::INT32:
    case Type::UINT32: return 32;
    default: return 64;
  }
}

// `bits` as a value of `type`: a number cut to its width, or an enumerator that may not exist.
DynamicValue::Reader value_of(capnp::Type type, std::uint64_t bits) {
  const unsigned width = bits_of(type.which());
  if (width < 64) bits &= (std::uint64_t{1} << width) - 1;
  switch (type.which()) {
    case Type::ENUM: return capnp::DynamicEnum(type.asEnum(), static_cast<std::uint16_t>(bits));
    case Type::INT32: return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
    case Type::FLOAT64: {
      double value = 0;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    default: return bits;
  }
}

std::uint64_t number_in(const DynamicValue::Reader& value) {
  switch (value.getType()) {
    case DynamicValue::INT: return static_cast<std::uint64_t>(value.as<std::int64_t>());
    case DynamicValue::UINT: return value.as<std::uint64_t>();
    case DynamicValue::ENUM: return value.as<capnp::DynamicEnum>().getRaw();
    default: return 0;
  }
}

class Change {
 public:
  explicit Change(std::string_view bytes) : bytes_(bytes) {}

  void apply(schema::Workload::Builder root) {
    if (below(2) != 0) return change_field(DynamicStruct::Builder(root));
    auto programs = root.getPrograms();
    if (programs.size() == 0) return;
    auto nodes = programs[below(programs.size())].getNodes();
    if (nodes.size() != 0) change_field(DynamicStruct::Builder(nodes[below(nodes.size())]));
  }

 private:
  std::uint64_t draw() {
    return drawn_ < bytes_.size() ? static_cast<unsigned char>(bytes_[drawn_++]) : '7';
  }
  unsigned below(unsigned count) { return static_cast<unsigned>(draw() % count); }

  void change_field(DynamicStruct::Builder structure) {
    const auto fields = structure.getSchema().getFields();
    const capnp::StructSchema::Field field = fields[below(fields.size())];
    const bool in_union = field.getProto().getDiscriminantValue() !=
                          capnp::schema::Field::NO_DISCRIMINANT;
    const bool active = !in_union || structure.which() == field;
    switch (field.getType().which()) {
      case Type::STRUCT:
        if (!active && below(kActions) == 7) return;
        return change_field(
            (active ? structure.get(field) : structure.init(field)).as<DynamicStruct>());
      case Type::LIST: return change_list(structure, field, active);
      case Type::TEXT: return change_text(structure, field);
      case Type::DATA: return;
      default: break;
    }
    if (const auto bits = changed(active ? number_in(structure.get(field).asReader()) : 0)) {
      structure.set(field, value_of(field.getType(), *bits));
    }
  }

  // Seldom gives the list another length, all elements of which are empty.
  void change_list(DynamicStruct::Builder structure, capnp::StructSchema::Field field,
                   bool active) {
    if (!active || below(kActions) == 0) {
      const unsigned size = below(kActions);
      if (size != 7) structure.init(field, size);
      return;
    }
    change_element(structure.get(field).as<DynamicList>());
  }

  void change_element(DynamicList::Builder list) {
    if (list.size() == 0) return;
    const unsigned at = below(list.size());
    switch (list.getSchema().whichElementType()) {
      case Type::STRUCT: return change_field(list[at].as<DynamicStruct>());
      case Type::LIST: {
        const unsigned size = below(2 * kActions);
        if (size < kActions && size != 7) {
          list.init(at, size);
        } else {
          change_element(list[at].as<DynamicList>());
        }
        return;
      }
      case Type::TEXT:
      case Type::DATA: return;
      default: break;
    }
    if (const auto bits = changed(number_in(list[at].asReader()))) {
      list.set(at, value_of(list.getSchema().getElementType(), *bits));
    }
  }

  void change_text(DynamicStruct::Builder structure, capnp::StructSchema::Field field) {
    if (below(kActions) == 7) return;
    const std::string text(bytes_.substr(0, below(kSpoiledBytes)));
    structure.set(field, capnp::Text::Reader(text.c_str(), text.size()));
  }

  // What becomes of a number; nothing where it stays.
  std::optional<std::uint64_t> changed(std::uint64_t before) {
    const unsigned action = below(kActions);
    const std::uint64_t operand = draw();
    switch (action) {
      case 0: return operand;
      case 1: return before + 1;
      case 2: return before - 1;
      case 3: return ~std::uint64_t{0};
      case 4: return std::uint64_t{1} << operand % 64;
      case 5: return (std::uint64_t{1} << operand % 64) - 1;
      case 6: return before + operand;
      default: return std::nullopt;
    }
  }

  std::string_view bytes_;
  std::size_t drawn_ = 0;
};

}  // namespace

model::WorkloadGraph spoiled_workload(std::string_view recipe) {
  const std::size_t number = recipe.empty() ? 0 : static_cast<unsigned char>(recipe[0]);
  const std::string& bytes = graphs()[number % graphs().size()];
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.asBytes().begin(), bytes.data(), bytes.size());
  capnp::FlatArrayMessageReader reader(words);
  auto message = std::make_unique<capnp::MallocMessageBuilder>();
  message->setRoot(reader.getRoot<schema::Workload>());
  for (std::size_t at = 1; at < recipe.size(); at += kSpoiledBytes) {
    try {
      Change(recipe.substr(at, kSpoiledBytes)).apply(message->getRoot<schema::Workload>());
    } catch (const kj::Exception&) {
      // No such member, say: the change does nothing.
    }
  }
  return model::WorkloadGraph::from_message(std::move(message));
}

// Characters that mutations change more than others are digits.
std::vector<std::string> spoil_seeds() {
  constexpr unsigned kFieldsTogether = 8;
  const unsigned fields = capnp::Schema::from<schema::Node>().getFields().size();
  std::vector<std::string> seeds;
  for (std::size_t graph = 0; graph < graphs().size(); ++graph) {
    const std::string head(1, static_cast<char>(graph));
    seeds.push_back(head + "10777777" "12777777" "16777777" "19777777");
    for (unsigned field = 0; field < fields; ++field) {
      if (field % kFieldsTogether == 0) seeds.push_back(head);
      seeds.back() += {'0', '0', static_cast<char>('0' + field % 10), static_cast<char>(field),
                       '7', '1', '0', '0'};
    }
  }
  return seeds;
}

std::vector<std::string> spoil_words() {
  std::vector<std::string> words;
  const auto fields = capnp::Schema::from<schema::Node>().getFields();
  for (unsigned field = 0; field < fields.size(); ++field) {
    for (unsigned action = 0; action + 1 < kActions; ++action) {
      words.push_back({'0', '0', '5', static_cast<char>(field), static_cast<char>('0' + action),
                       '5', '0', '0'});
    }
  }
  return words;
}

}  // namespace exawarp::fuzz
