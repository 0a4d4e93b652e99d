#include "model/network/packet/congestion_control.h"

#include <algorithm>
#include <vector>

#include "model/network/packet/registered.h"

namespace exawarp::model {

// CMake writes it: what each file of congestion/ defines.
std::vector<CongestionAlgorithm> listed_congestion_algorithms();

namespace {

// Fields follow each other, so that none is left out.
void check_fields(const CongestionAlgorithm& algorithm) {
  std::size_t end = 0;
  for (const StateField& field : algorithm.state) {
    EXAWARP_CHECK(field.offset == end, algorithm.name, field.name, field.offset, end);
    end += field.bytes;
  }
  EXAWARP_CHECK(end <= sizeof(CongestionState), algorithm.name, end);
}

std::vector<CongestionAlgorithm> checked_algorithms() {
  std::vector<CongestionAlgorithm> all = in_order_of_lists(listed_congestion_algorithms());
  for (const CongestionAlgorithm& algorithm : all) check_fields(algorithm);
  return all;
}

}  // namespace

std::span<const CongestionAlgorithm> congestion_algorithms() {
  static const std::vector<CongestionAlgorithm> all = checked_algorithms();
  return all;
}

std::int64_t field_of(const CongestionAlgorithm& algorithm, const CongestionState& state,
                      std::string_view name) {
  const auto field = std::ranges::find(algorithm.state, name, &StateField::name);
  EXAWARP_CHECK(field != algorithm.state.end(), algorithm.name, name);
  const int above = static_cast<int>(64 - 8 * field->bytes);
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(state.words.data()) + field->offset,
              field->bytes);
  return static_cast<std::int64_t>(word << above) >> above;
}

const CongestionAlgorithm& congestion_algorithm(std::string_view name) {
  return registered(congestion_algorithms(), "transport", name);
}

std::shared_ptr<const CongestionControl> make_congestion_control(std::string_view name,
                                                                 const GivenParameters& given) {
  const CongestionAlgorithm& wanted = congestion_algorithm(name);
  std::shared_ptr<const CongestionControl> control;
  for (const CongestionAlgorithm& algorithm : congestion_algorithms()) {
    const ParameterValues values(algorithm.parameters, algorithm.name, given);
    std::shared_ptr<const CongestionControl> made = algorithm.make(values);
    EXAWARP_CHECK(made != nullptr, algorithm.name);
    if (&algorithm == &wanted) control = std::move(made);
  }
  return control;
}

}  // namespace exawarp::model
