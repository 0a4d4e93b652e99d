// Sizes of elements; see spec.h.
#include "model/generate/spec.h"

namespace exawarp::model {

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

}  // namespace exawarp::model
