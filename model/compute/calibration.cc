#include "model/compute/calibration.h"

namespace exawarp::model {

double time_factor(const Calibration& calibration, const ComputeOperation& operation,
                   Provenance provenance) {
  if (provenance == Provenance::recorded || operation.moves_memory) return 1;
  switch (operation.operation) {
    case schema::Operation::GEMM:
    case schema::Operation::CONVOLUTION: {
      const bool narrow = operation.data_type == schema::DataType::FP8 ||
                          operation.data_type == schema::DataType::INT8 ||
                          operation.data_type == schema::DataType::NVFP4;
      return narrow ? calibration.eight_bit_products : calibration.products;
    }
    case schema::Operation::ATTENTION:
      return calibration.attention;
    default:
      return calibration.memory;
  }
}

}  // namespace exawarp::model
