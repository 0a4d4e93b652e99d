// Names of the enumerators that users write; see spec.h.
#include "model/generate/spec.h"

#include <fmt/format.h>

#include "model/workload/named.h"

namespace exawarp::model {

schema::DataType data_type_from_name(const std::string& key, const std::string& name) {
  using T = schema::DataType;
  static constexpr std::array<Named<T>, 6> kTable{{{"bf16", T::BF16},
                                                   {"fp16", T::FP16},
                                                   {"fp32", T::FP32},
                                                   {"fp8", T::FP8},
                                                   {"int8", T::INT8},
                                                   {"fp64", T::FP64}}};
  return value_named<T>(key, name, kTable);
}

schema::CollectiveType collective_from_name(const std::string& key, const std::string& name) {
  using T = schema::CollectiveType;
  static constexpr std::array<Named<T>, 10> kTable{{{"all_reduce", T::ALL_REDUCE},
                                                    {"reduce_scatter", T::REDUCE_SCATTER},
                                                    {"all_gather", T::ALL_GATHER},
                                                    {"all_to_all", T::ALL_TO_ALL},
                                                    {"broadcast", T::BROADCAST},
                                                    {"reduce", T::REDUCE},
                                                    {"barrier", T::BARRIER},
                                                    {"gather", T::GATHER},
                                                    {"scatter", T::SCATTER},
                                                    {"permute", T::PERMUTE}}};
  return value_named<T>(key, name, kTable);
}

MicrobenchmarkKind microbenchmark_from_name(const std::string& key, const std::string& name) {
  using enum MicrobenchmarkKind;
  static constexpr std::array<Named<MicrobenchmarkKind>, 5> kTable{{{"collective", kCollective},
                                                                    {"ping_pong", kPingPong},
                                                                    {"send", kSend},
                                                                    {"compute", kCompute},
                                                                    {"memory", kMemory}}};
  return value_named<MicrobenchmarkKind>(key, name, kTable);
}

std::int64_t bytes_of(schema::DataType type) {
  switch (type) {
    case schema::DataType::NONE:
      return 0;
    case schema::DataType::FP8:
    case schema::DataType::INT8:
      return 1;
    case schema::DataType::BF16:
    case schema::DataType::FP16:
      return 2;
    case schema::DataType::FP32:
      return 4;
    case schema::DataType::FP64:
      return 8;
  }
  return 0;
}

void in_range(const char* key, std::int64_t value, std::int64_t first, std::int64_t last) {
  if (value >= first && value <= last) return;
  throw SpecProblem(key, fmt::format("out of range: {}; expected {} to {}", value, first, last));
}

}  // namespace exawarp::model
