// Sizes of elements; see spec.h.
#include "model/generate/spec.h"

namespace exawarp::model {

std::int64_t bytes_of(schema::DataType type) {
  switch (type) {
    case schema::DataType::NONE:
    case schema::DataType::NVFP4:
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

void check_stored(const char* key, schema::DataType type) {
  if (type == schema::DataType::NONE) throw SpecProblem(key, "none is given; expected one");
  if (bytes_of(type) != 0) return;
  throw SpecProblem(key, "nvfp4, in which products alone are computed; expected another type");
}

}  // namespace exawarp::model
