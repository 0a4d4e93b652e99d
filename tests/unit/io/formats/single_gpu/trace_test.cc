// Traces of one GPU: what is read of them, and what is refused.
#include "io/formats/single_gpu/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace exawarp::tests {
namespace {

const std::string kHead =
    "OperatorID,OperatorName,Operator_input,Operator_output,Operator_cudatime,"
    "Operator_cudatimenooverlap,InputSize,OutputSize,gpuid,stage,tpflag\n";
const std::string kTensorHead =
    "Index,TensorID,TensorShape,TensorNumElement,TensorEachByte,TensorType,TensorStorgeid,gpuid\n";
const std::string kTensors = kTensorHead +
                             "0,4,\"[128, 3]\",384,4,input,5,0\n"
                             "1,6,\"[64, 3]\",192,4,weight,7,0\n"
                             "2,6,\"[64, 3]\",192,4,input,7,0\n"
                             "3,14,\"[128, 64]\",8192,4,grad_output,15,0\n";

class SingleGpuTrace : public testing::Test {
 protected:
  SingleGpuTrace() {
    folder_ = std::filesystem::temp_directory_path() /
              ("exawarp_single_gpu_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~SingleGpuTrace() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] model::RecordedStep read(const std::string& trace,
                                         const std::string& tensors = kTensors) const {
    std::ofstream(folder_ / "trace.csv") << trace;
    std::ofstream(folder_ / "tensor.csv") << tensors;
    return io::read_single_gpu_trace((folder_ / "trace.csv").string(),
                                     (folder_ / "tensor.csv").string());
  }
  // The error's text, from the file's name on.
  [[nodiscard]] std::string error_of(const std::string& trace,
                                     const std::string& tensors = kTensors) const {
    try {
      static_cast<void>(read(trace, tensors));
    } catch (const core::InputError& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.find('\n'), text.npos) << text;
      const std::size_t begin = folder_.string().size() + 1;
      return text.starts_with(folder_.string()) ? text.substr(begin) : text;
    }
    return "accepted";
  }

  std::filesystem::path folder_;
};

TEST_F(SingleGpuTrace, HasOperatorsAndTheirTensors) {
  const model::RecordedStep step =
      read(kHead + "1,aten::conv2d,[4; 6],['14'],9,2.5,[384; 192],[8192],0,forward,1\n"
                   "7,aten::foreach,[],[],3,0,[],[],0,optimizer,0\n");
  ASSERT_EQ(step.operators.size(), 2u);
  const model::RecordedOperator& op = step.operators[0];
  EXPECT_EQ(op.id, 1u);
  EXPECT_EQ(op.inputs, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(op.outputs, std::vector<std::uint32_t>{2});
  EXPECT_EQ(op.time_us, 2.5);  // what did not overlap
  EXPECT_TRUE(op.splits);
  EXPECT_EQ(step.operators[1].phase, model::RecordedPhase::optimizer);
  ASSERT_EQ(step.tensors.size(), 3u);
  EXPECT_EQ(step.tensors[0].rows, 128u);
  EXPECT_EQ(step.tensors[1].bytes, 768u);
  EXPECT_TRUE(step.tensors[1].is_parameter);  // once a weight, whatever else it is later
  EXPECT_FALSE(step.tensors[0].is_parameter);
  EXPECT_TRUE(step.tensors[2].is_gradient);
}

struct BadTrace {
  const char* row;
  const char* expected;
};

TEST_F(SingleGpuTrace, RefusesBadOperatorsInOneLine) {
  const BadTrace cases[] = {
      {"1,conv,[4],[14],9,2", "trace.csv:2: is cut off after 6 of 11 fields; expected all"},
      {"x,conv,[4],[14],9,2,[],[],0,forward,1", "a whole number from 0"},
      {"-1,conv,[4],[14],9,2,[],[],0,forward,1", "a whole number from 0"},
      {"1,conv,[4],[14],9,-2,[],[],0,forward,1", "microseconds, from 0 to 1e12"},
      {"1,conv,[4],[14],9,nan,[],[],0,forward,1", "microseconds, from 0 to 1e12"},
      {"1,conv,[4],[14],9,1e13,[],[],0,forward,1", "microseconds, from 0 to 1e12"},
      {"1,conv,[4; 5],[14],9,2,[],[],0,forward,1",
       "trace.csv:2: tensor \"5\" is in no line of the table of tensors; expected one that is"},
      {"1,conv,[4;],[14],9,2,[],[],0,forward,1", "tensor \"\" is in no line"},
      {"1,conv,4,[14],9,2,[],[],0,forward,1", "tensors as \"[4; 6; 8]\""},
      {"1,conv,[4],],9,2,[],[],0,forward,1", "tensors as \"[4; 6; 8]\""},
      {"1,conv,[4],[14],9,2,[],[],0,sideways,1", "one of: forward, backward, optimizer"},
      {"1,conv,[4],[14],9,2,[],[],0,forward,2", "a whole number from 0 to 1"},
      {"1,conv,[4],[14],9,2,[],[],0,forward,1\n1,relu,[4],[4],9,2,[],[],0,forward,0",
       "each operator once"},
  };
  for (const BadTrace& bad : cases) {
    const std::string error = error_of(kHead + bad.row + "\n");
    EXPECT_NE(error.find(bad.expected), error.npos) << bad.row << ": " << error;
  }
  EXPECT_NE(error_of(kHead).find("trace.csv"), std::string::npos);
  EXPECT_NE(error_of("OperatorID,stage\n1,forward\n").find("operatorname"), std::string::npos);
}

TEST_F(SingleGpuTrace, RefusesBadTensorsInOneLine) {
  const std::string trace = kHead + "1,conv,[4],[4],9,2,[],[],0,forward,1\n";
  const BadTrace cases[] = {
      {"0,4,[1]", "tensor.csv:2: is cut off after 3 of 6 fields; expected all"},
      {"0,4,[1],-1,4,input,5,0", "a whole number from 0"},
      {"0,4,[1],1,65,input,5,0", "a whole number from 0 to 64"},
      {"0,4,[1],1e3,4,input,5,0", "a whole number from 0"},
      {"0,,[1],1,4,input,5,0", "the tensor's name"},
      {"0,4,[1],1,4,input,5,0\n0,5,[1],1,4,input,5,0", "each number once"},
      {"0,4,[1],1,4,input,5,0\n1,4,[2],2,4,input,5,0",
       "tensor.csv:3: tensor \"4\" has 8 bytes, but 4 in a line above; expected one size"},
  };
  for (const BadTrace& bad : cases) {
    const std::string error = error_of(trace, kTensorHead + bad.row + "\n");
    EXPECT_NE(error.find(bad.expected), error.npos) << bad.row << ": " << error;
  }
}

}  // namespace
}  // namespace exawarp::tests
