// TrioSim's rules against results of that program (triosim/README.md): every case, two traces.
#include <gtest/gtest.h>

#include <cmath>

#include "core/mapped_file.h"
#include "io/formats/kernels/csv.h"
#include "io/formats/single_gpu/trace.h"
#include "io/study/numbers.h"
#include "io/study/text_file.h"
#include "model/guests/triosim/rules.h"

namespace exawarp::tests {
namespace {

using model::triosim::Case;
using model::triosim::Rules;

const std::string kTriosim = EXAWARP_SOURCE_DIR "/tests/golden/triosim/";
constexpr double kToleranceMs = 1e-9;  // results have ten digits behind the point

model::RecordedStep recorded(const std::string& name) {
  return io::read_single_gpu_trace(kTriosim + name + "/trace.csv",
                                   kTriosim + name + "/tensor.csv");
}

TEST(TriosimGolden, EveryResultIsThatOfTheProgram) {
  const std::string path = kTriosim + "expected.csv";
  const core::MappedFile file(path);
  const io::CsvTable table(path, io::text_of(file));
  const std::size_t name = table.require({"model"}), which = table.require({"case"}),
                    gpus = table.require({"gpus"}), result = table.require({"result_ms"});
  int rows = 0;
  table.each_row([&](const io::CsvRow& row) {
    const Rules rules{.which = static_cast<Case>(*io::unsigned_from(row.at(which))),
                      .devices = static_cast<std::uint32_t>(*io::unsigned_from(row.at(gpus))),
                      .micro_batch = 32};
    const model::RecordedStep step = recorded(row.at(name));
    ASSERT_EQ(refusal_of(step, rules), "");
    const std::optional<double> time_s = step_time_s(step, rules);
    ASSERT_TRUE(time_s) << row.place();
    EXPECT_NEAR(*time_s * 1e3, *io::number_from<double>(row.at(result)), kToleranceMs)
        << row.place();
    ++rows;
  });
  EXPECT_EQ(rows, 26);
}

}  // namespace
}  // namespace exawarp::tests
