// A training step that was profiled on one GPU, as TrioSim's tracer writes it: two tables.
//
//   TRACE    OperatorID, OperatorName, Operator_input and Operator_output ("[4; 6; 8]", tensors),
//            Operator_cudatimenooverlap (us), stage (forward, backward, optimizer), tpflag (0, 1)
//   TENSORS  Index, TensorID, TensorShape, TensorNumElement, TensorEachByte and TensorType; a row
//            for each mention, all of one size
//
// Other columns are passed over.
#pragma once

#include <string>

#include "model/extrapolate/recorded_step.h"

namespace exawarp::io {

// Throws core::InputError at the file and line: a line that is cut off, a number that is none, a
// time below 0, an operator or a line of tensors given twice, a tensor that is unknown or changes
// its size, more than 1,048,576 rows.
model::RecordedStep read_single_gpu_trace(const std::string& trace, const std::string& tensors);

}  // namespace exawarp::io
