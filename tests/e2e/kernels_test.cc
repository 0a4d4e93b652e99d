// Cycles of systolic arrays through the program: lists of layers counted by the command, and
// studies whose products take them; and times of kernels imported into tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/compute/kernel_table.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

constexpr const char* kArrays =
    "system.accelerator.systolic={rows: 128, columns: 128, clock: 1 GHz, arrays: 2, sram: 32 MiB}";

class Systolic : public testing::Test {
 protected:
  Systolic() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }
  json layers(std::vector<std::string> more) const {
    more.insert(more.begin(), {"kernels", "systolic", "layers.csv", "--json"});
    const Ran ran = workspace.run(more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out)["layers"];
  }
  Ran count(const std::string& text, std::vector<std::string> more = {}) const {
    workspace.write("layers.csv", text);
    more.insert(more.begin(), {"kernels", "systolic", "layers.csv"});
    return workspace.run(more);
  }
  Ran study(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"run", "study.yaml", "--json", "--set", "compute.fidelity=systolic"});
    return workspace.run(more);
  }

  const Workspace workspace;
};

TEST_F(Systolic, TheCommandEqualsScaleSim) {
  std::ifstream in(EXAWARP_SOURCE_DIR "/tests/golden/systolic/scale_sim.csv");
  std::ostringstream text;
  text << in.rdbuf();
  const Ran ran = count(text.str());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("60 of 60 rows as expected"), std::string::npos) << ran.out;
}

TEST_F(Systolic, TheCommandSaysWhereAFileDiffers) {
  const Ran ran = count("M,N,K,dataflow,rows,cols,total_cycles\n32,32,32,os,32,32,94\n");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.out.find("0 of 1 rows as expected"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("layers.csv: differs"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("93 cycles; expected 94"), std::string::npos) << ran.err;
}

TEST_F(Systolic, AListOfProductsIsCountedInEveryDataflow) {
  workspace.write("layers.csv", "Layer, M, N, K,\nfirst, 200, 64, 1000,\n");
  const json all = layers({"--rows", "32", "--columns", "32"});
  ASSERT_EQ(all.size(), 3);
  const std::uint64_t cycles[] = {14867, 18815, 35391};
  const char* flows[] = {"os", "ws", "is"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i]["layer"], "first");
    EXPECT_EQ(all[i]["dataflow"], flows[i]);
    EXPECT_EQ(all[i]["total_cycles"], cycles[i]);
  }
  EXPECT_EQ(layers({"--dataflow", "is"}).size(), 1);
}

TEST_F(Systolic, AConfigurationOfScaleSimGivesTheArray) {
  workspace.write("array.cfg",
                  "[general]\nrun_name = x\n[architecture_presets]\nArrayHeight:    32\n"
                  "ArrayWidth:     16\nIfmapSramSzkB:    1\nFilterSramSzkB:   1\n"
                  "OfmapSramSzkB:    1\nBandwidth : 10\nDataflow : os\n[run_presets]\n"
                  "InterfaceBandwidth: USER\n");
  workspace.write("layers.csv", "Layer,M,N,K,\nfirst,128,128,128,\n");
  const json all = layers({"--config", "array.cfg"});
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0]["rows"], 32);
  EXPECT_EQ(all[0]["cols"], 16);
  EXPECT_EQ(all[0]["total_cycles"], 4 * 8 * (128 + 46) - 1);
  EXPECT_GT(all[0]["stall_cycles"], 0);
}

TEST_F(Systolic, ConvolutionsAreCountedAsProducts) {
  workspace.write("layers.csv",
                  "Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,"
                  "Num Filter,Strides,\nConv1,224,224,7,7,3,64,2,\nDP2,9,8,3,3,2,1,1,\n");
  const json all = layers({"--dataflow", "ws"});
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0]["m"], 110 * 110);
  EXPECT_EQ(all[0]["n"], 64);
  EXPECT_EQ(all[0]["k"], 147);
  EXPECT_EQ(all[2]["layer"], "DP2Channel_1");
  EXPECT_EQ(all[2]["m"], 7 * 6);
  EXPECT_EQ(all[2]["k"], 9);
}

TEST_F(Systolic, CsvHasAColumnForEachFigure) {
  const Ran ran = count("Layer,M,N,K\n\"a,\"\"b\",32,32,32\n",
                        {"--csv", "--dataflow", "os", "--rows", "32", "--columns", "32"});
  EXPECT_EQ(ran.out.substr(0, ran.out.find('\n')),
            "layer,m,n,k,dataflow,rows,cols,folds,total_cycles,util_pct,mapping_eff_pct,"
            "ifmap_sram_reads,filter_sram_reads");
  EXPECT_NE(ran.out.find("\n\"a,\"\"b\",32,32,32,os,32,32,1,93,"), std::string::npos) << ran.out;
}

TEST_F(Systolic, AnAcceleratorGivesTimes) {
  workspace.write("layers.csv", "Layer,M,N,K\nx,4096,4096,4096\n");
  const std::string folder = EXAWARP_SOURCE_DIR "/configs/accelerators/";
  const json v5p = layers({"--accelerator", folder + "tpu_v5p.yaml"});
  ASSERT_EQ(v5p.size(), 1);
  EXPECT_EQ(v5p[0]["device_cycles"], 1024 / 8 * (4096 + 382) - 1.0);
  EXPECT_NEAR(v5p[0]["device_us"].get<double>(), 2 + 573183 / 1750.0, 0.3);
  const json v4 = layers({"--accelerator", folder + "tpu_v4.yaml"});  // by a line
  EXPECT_NEAR(v4[0]["device_us"].get<double>(), 29.721747 + 0.00020227 * (1024 * 4478 - 1), 0.01);
}

TEST_F(Systolic, FilesThatAreNotSoundAreRefusedWithTheirLine) {
  const auto refusal = [&](const std::string& text) {
    const Ran ran = count(text);
    EXPECT_EQ(ran.exit_code, 2) << text;
    EXPECT_EQ(ran.out, "") << text;
    return ran.err;
  };
  EXPECT_EQ(refusal("Layer,M,N,K\nx,1,0,1\n"),
            "layers.csv:2: column n: \"0\"; expected a whole number from 1 to 2^40 - 1\n");
  EXPECT_NE(refusal("Layer,M,N\nx,1,0\n").find("layers.csv:1: has no column \"k\""),
            std::string::npos);
  EXPECT_NE(refusal("").find("layers.csv: is empty"), std::string::npos);
  EXPECT_NE(refusal("a,b\n1,2\n").find("layers.csv:1: has 2 columns"), std::string::npos);
  EXPECT_NE(refusal("Layer,M,N,K\n").find("has no rows"), std::string::npos);
  EXPECT_NE(refusal("M,N,K,dataflow\n1,1,1,xs\n").find("expected os, ws or is"), std::string::npos);
  EXPECT_NE(refusal("M,N,K\n1099511627775,1099511627775,1099511627775\n")
                .find("layers.csv:2: has a product that takes 2^64 cycles"),
            std::string::npos);
}

TEST_F(Systolic, AStudysProductsTakeTheCyclesInEveryMode) {
  const json roofline = json::parse(workspace.run({"run", "study.yaml", "--json"}).out);
  const Ran ran = study({"--set", kArrays, "--sync", "sequential"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json systolic = json::parse(ran.out);
  EXPECT_EQ(systolic["compute_fidelity"], "systolic");
  EXPECT_NE(systolic["digest"], roofline["digest"]);
  for (const char* sync : {"conservative", "optimistic"}) {
    const Ran other = study({"--set", kArrays, "--sync", sync, "--threads", "2"});
    EXPECT_EQ(json::parse(other.out)["digest"], systolic["digest"]) << sync;
  }
}

TEST_F(Systolic, ConvolutionsOfANetworkTakeTheCycles) {
  workspace.write("workload.yaml", "resnet: {devices: 8, global_batch: 8}\n");
  const auto digest = [&](const std::string& fidelity) {
    const Ran ran = workspace.run({"run", "study.yaml", "--json", "--set", kArrays, "--set",
                                   "compute.by_operation.convolution=" + fidelity});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out)["digest"];
  };
  EXPECT_NE(digest("systolic"), digest("roofline"));
  EXPECT_EQ(digest("table"), digest("roofline"));
}

TEST_F(Systolic, AnAcceleratorWithoutArraysIsRefusedByName) {
  const Ran ran = study({});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("compute.fidelity: is systolic, and accelerator \"chip\" has no "
                         "`systolic`"),
            std::string::npos)
      << ran.err;
  const Ran one = workspace.run(
      {"run", "study.yaml", "--set", "compute.by_operation.attention=systolic", "--quiet"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_NE(one.err.find("compute.by_operation.attention"), std::string::npos) << one.err;
}

TEST_F(Systolic, LinesFromCyclesToTimesAscend) {
  const Ran ran = study({"--set", kArrays, "--set",
                         "system.accelerator.systolic.cycles_to_time=[{size_max: 10, "
                         "ns_per_cycle: 1, intercept: 1 us}, {size_max: 9, ns_per_cycle: 1, "
                         "intercept: 1 us}]"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("expected ascending ones"), std::string::npos) << ran.err;
}

// Times of kernels, made into tables that an accelerator names.
class KernelImport : public testing::Test {
 protected:
  KernelImport() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }
  Ran import(const std::string& text, std::vector<std::string> more = {}) const {
    workspace.write("times", text);
    more.insert(more.begin(), {"kernels", "import", "times", "-o", "tables"});
    return workspace.run(more);
  }
  // By the table that the import wrote, without its launch, in microseconds.
  double time_of(const std::string& table, std::vector<std::uint32_t> key,
                 model::KernelTable::Point point) const {
    const auto read = model::KernelTable::parse(table, workspace.read("tables/" + table));
    const auto slice = read.slice_of(key);
    EXPECT_TRUE(slice);
    const auto estimate = slice ? read.estimate(*slice, point) : std::nullopt;
    EXPECT_TRUE(estimate && estimate->provenance == model::Provenance::measured);
    return estimate ? estimate->us : 0;
  }
  const Workspace workspace;
};

TEST_F(KernelImport, ACsvBecomesTablesOfEachOperationAndType) {
  const Ran ran = import(
      "name,operation,m,n,k,batch,heads,kv_heads,head_dim,s,type,time_us,watts\n"
      "a,gemm,64,128,256,,,,,,bf16,3.5,300\na,gemm,64,128,256,,,,,,bf16,4.5,300\n"
      "a,gemm,64,128,256,,,,,,bf16,4.0,300\nb,mm,64,128,512,2,,,,,fp16,7,300\n"
      "c,prefill,,,,3,8,2,128,1024,bf16,50,300\nd,norm,,,,,,,,,bf16,1,300\n");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "tables/gemm_bfloat16.xkt\ntables/gemm_float16.xkt\ntables/prefill_bfloat16.xkt\n"
            "5 kernels\nleft out: 1 of norm\n");
  EXPECT_NEAR(time_of("gemm_bfloat16.xkt", {}, {64, 128, 256}), 4, 1e-3) << "the median";
  EXPECT_NEAR(time_of("gemm_float16.xkt", {}, {128, 128, 512}), 7, 1e-3) << "twice the m";
  EXPECT_NEAR(time_of("prefill_bfloat16.xkt", {128, 0, 2}, {8, 3, 1024}), 50, 1e-3);
}

TEST_F(KernelImport, BackwardPassesOfAttentionHaveTablesOfTheirOwn) {
  const Ran ran = import(
      "operation,batch,heads,kv_heads,head_dim,new_tokens,type,time_us\n"
      "attention_backward,1,8,8,128,1024,bf16,150\nattention,1,8,8,128,1024,bf16,50\n"
      "mla,1,16,16,192,1024,bf16,70\nmla_backward,1,16,16,192,1024,bf16,250\n");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NEAR(time_of("prefill_bfloat16.xkt", {128, 0, 0}, {8, 1, 1024}), 50, 0.1);
  EXPECT_NEAR(time_of("prefill_backward_bfloat16.xkt", {128, 0, 0}, {8, 1, 1024}), 150, 0.1);
  EXPECT_NEAR(time_of("mla_bfloat16.xkt", {}, {16, 1, 1024}), 70, 0.1);
  EXPECT_NEAR(time_of("mla_backward_bfloat16.xkt", {}, {16, 1, 1024}), 250, 0.1);
}

// Norms go by rows and width, others by their elements; products of converted operands apart.
TEST_F(KernelImport, KernelsThatMoveMemoryHaveTablesOfTheirOwn) {
  const Ran ran = import(
      "operation,type,rows,width,m,n,k,time_us\n"
      "rms_norm,bf16,64,512,,,,2\nswiglu,bf16,64,512,,,,3\nadam,bf16,64,512,,,,4\n"
      "gemm_converted,fp8,,,64,128,256,5\ngemm,fp8,,,64,128,256,9\n");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("left out: 1 of adam"), std::string::npos) << ran.out;
  EXPECT_NEAR(time_of("rms_norm_bfloat16.xkt", {}, {64, 512}), 2, 1e-3);
  EXPECT_NEAR(time_of("swiglu_bfloat16.xkt", {}, {64. * 512}), 3, 1e-3);
  EXPECT_NEAR(time_of("gemm_converted_fp8.xkt", {}, {64, 128, 256}), 5, 1e-3);
  EXPECT_NEAR(time_of("gemm_fp8.xkt", {}, {64, 128, 256}), 9, 1e-3);
}

TEST_F(KernelImport, TheFastestOfSeveralKernelsCounts) {
  ASSERT_EQ(import("name,m,n,k,type,ns\na,64,64,64,fp8,5000\nb,64,64,64,fp8,4000\n").exit_code, 0);
  EXPECT_NEAR(time_of("gemm_fp8.xkt", {}, {64, 64, 64}), 4, 1e-3);
}

TEST_F(KernelImport, AStudyTakesTheImportedTimes) {
  // What a device of the small study multiplies: 128 tokens, 256 wide, by its half of the heads.
  ASSERT_EQ(import("m,n,k,type,time_us\n128,384,256,bf16,900\n128,256,128,bf16,800\n").exit_code,
            0);
  const Ran ran =
      workspace.run({"run", "study.yaml", "--json", "--set", "system.accelerator.tables=tables"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json summary = json::parse(ran.out);
  EXPECT_EQ(summary["compute_fidelity"], "table");
  EXPECT_GT(summary["pedigree"]["measured"].get<double>(), 0.05) << summary["pedigree"];
}

TEST_F(KernelImport, PyTorchsProfileGivesProductsTheTimeOfTheirKernels) {
  const auto op = [](const char* name, int id, const char* dims) {
    return std::string(R"({"ph":"X","cat":"cpu_op","name":")") + name +
           R"(","ts":1,"dur":9,"args":{"External id":)" + std::to_string(id) + R"(,"Input Dims":)" +
           dims + R"(,"Input type":["c10::BFloat16","c10::BFloat16","c10::BFloat16"]}},)";
  };
  const auto kernel = [](int id, const char* us) {
    return std::string(R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":)") + us +
           R"(,"args":{"External id":)" + std::to_string(id) + "}},";
  };
  const Ran ran =
      import(R"({"schemaVersion":1,"traceEvents":[)" + op("aten::mm", 1, "[[32,64],[64,16]]") +
                 op("aten::addmm", 2, "[[16],[128,64],[64,16]]") +
                 op("aten::bmm", 3, "[[4,8,64],[4,64,16]]") + op("aten::add", 4, "[[8],[8]]") +
                 kernel(1, "5.5") + kernel(2, "6") + kernel(2, "2.5") + kernel(3, "7") +
                 kernel(4, "1") + kernel(99, "1") + R"({"ph":"i","name":"end"}]})",
             {"--format", "pytorch"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("3 kernels\nleft out: 1 of aten::add\nleft out: 1 of kernels of no "
                         "operator\n"),
            std::string::npos)
      << ran.out;
  const auto at = [&](double m) { return time_of("gemm_bfloat16.xkt", {}, {m, 16, 64}); };
  EXPECT_NEAR(at(32), 5.5, 0.01) << "of mm; a batch of 4 by 8 is slower";
  EXPECT_NEAR(at(128), 8.5, 0.01) << "of both kernels of addmm";
}

TEST_F(KernelImport, CocossimsCyclesTakeTheClock) {
  const char* log =
      "processing Matmul 256 512 1024\nPHASE: 0, Cycles: 9, Jobs finished: 1/1\n"
      "Cycles 3760\nSYSTOLIC_ARRAY 89.2\n";
  const Ran ran = import(log, {"--format", "cocossim", "--type", "bf16", "--clock", "940 MHz"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NEAR(time_of("gemm_bfloat16.xkt", {}, {256, 1024, 512}), 4, 1e-3) << "M K N";
  EXPECT_NE(import(log, {"--format", "cocossim", "--type", "bf16"}).err.find("expected --clock"),
            std::string::npos);
}

TEST_F(KernelImport, AccelSimsKernelsAreKnownByNumberOrName) {
  workspace.write("shapes.csv", "uid,m,n,k,type\n2,64,64,64,fp16\ngemm_x,32,64,64,fp16\n");
  const Ran ran = import(
      "kernel_name = gemm_x \nkernel_launch_uid = 1 \ngpu_sim_cycle = 1410\nkernel_name = y\n"
      "kernel_launch_uid = 2\ngpu_sim_cycle = 2820\nkernel_name = z\nkernel_launch_uid = 3\n"
      "gpu_sim_cycle = 1\ngpu_tot_sim_cycle = 7\n",
      {"--format", "accel-sim", "--clock", "1410 MHz", "--shapes", "shapes.csv"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("2 kernels\nleft out: 1 of z\n"), std::string::npos) << ran.out;
  EXPECT_NEAR(time_of("gemm_float16.xkt", {}, {32, 64, 64}), 1, 1e-3);
  EXPECT_NEAR(time_of("gemm_float16.xkt", {}, {64, 64, 64}), 2, 1e-3);
}

TEST_F(KernelImport, FilesThatAreNotSoundAreRefusedAndNothingIsWritten) {
  struct Case {
    std::string text, error;
    std::vector<std::string> options;
  };
  const std::vector<Case> cases{
      {"m,n,k,type,time_us\n1,2,3,bf16,0\n", "times:2: column time_us: \"0\"", {}},
      {"m,n,k,type,time_us\n1,2,3,bf16,nan\n", "times:2: column time_us: \"nan\"", {}},
      {"m,n,k,type,time_us\n1,2,x,bf16,1\n", "times:2: column k: \"x\"", {}},
      {"m,n,k,type,time_us\n1,2,3,bf17,1\n", "times:2: type: \"bf17\"", {}},
      {"m,n,k,type,time_us\n5000000000,2,3,bf16,1\n", "times:2: has a size of 5000000000", {}},
      {"m,n,k,time_us\n1,2,3,1\n", "times:2: type: \"\"", {}},
      {"m,n,k,type\n1,2,3,bf16\n", "times:1: has no column of times", {}},
      {"m,n,type,time_us\n1,2,bf16,1\n", "times:1: has no column \"k\"", {}},
      {"m,n,k,type,cycles\n1,2,3,bf16,1\n", "times:2: counts cycles; expected --clock", {}},
      {"m,n,k,type,time_us\n1,2,3,bf16,1,5\n", "times:2: has 6 fields", {}},
      {"m,n,k,type,time_us\n\"1,2,3,bf16,1\n", "times:2: has a quote that does not end", {}},
      {"operation,time_us\nnorm,1\n", "times: has no kernels for a table", {}},
      {"operation,type,width,time_us\nadd,bf16,8,1\n", "times:1: has no column \"rows\"", {}},
      {"operation,type,rows,width,time_us\nadd,bf16,70000,70000,1\n",
       "times:2: has a size of 4900000000",
       {}},
      {"device,m,n,k,type,time_us\nA,1,2,3,bf16,1\nB,1,2,3,bf16,1\n",
       "times:3: column device: \"B\"; expected \"A\" as before",
       {}},
      {"", "times: is empty", {}},
      {"[]", "times: is no JSON object with traceEvents", {"--format", "pytorch"}},
      {"processing Matmul 1 2 3\nprocessing Matmul 1 2 3\nCycles 4\n",
       "times:2: is a second layer in one run",
       {"--format", "cocossim", "--type", "bf16", "--clock", "1 GHz"}},
      {"", "--shapes: is not given", {"--format", "accel-sim"}},
      {"x", "--format: \"zigzag\" is not known", {"--format", "zigzag"}},
      {"x", "--clock: \"5\" has no unit", {"--clock", "5"}}};
  for (const Case& c : cases) {
    const Ran ran = import(c.text, c.options);
    EXPECT_EQ(ran.exit_code, 2) << c.text;
    EXPECT_EQ(ran.err.substr(0, c.error.size()), c.error);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_FALSE(workspace.has("tables")) << c.text;
  }
}

}  // namespace
}  // namespace exawarp::tests
