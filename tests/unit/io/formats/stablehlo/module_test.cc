// What the reader understands of StableHLO text, and what it says of what it does not: costs by
// hand, loops, calls, groups, fusion.
#include <gtest/gtest.h>

#include "core/error.h"
#include "io/formats/stablehlo/fusion.h"
#include "io/formats/stablehlo/groups.h"
#include "io/formats/stablehlo/parser.h"
#include "io/formats/stablehlo/program.h"

namespace exawarp::tests {
namespace {

using namespace io::stablehlo;

// A module made of the operations of a function with arguments.
struct Parsed {
  explicit Parsed(std::string the_text)
      : text(std::move(the_text)), source{text, "m"}, modules(parse_modules(source)) {}
  [[nodiscard]] Program program(const FlattenOptions& options = {}) const {
    return flatten(modules.at(0), source, options);
  }
  std::string text;
  Source source;
  std::vector<Module> modules;
};

std::string function_of(const std::string& body) {
  return "func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %c: tensor<8x16xf32>) {\n" +
         body + "\nreturn\n}\n";
}

OpTotal total_of(const std::string& body) {
  const Program program = Parsed(function_of(body)).program();
  return {.count = program.operations, .flops = program.flops, .bytes = program.bytes};
}

std::string refusal_of(const std::string& text, const FlattenOptions& options = {}) {
  try {
    const Parsed parsed(text);
    static_cast<void>(flatten(parsed.modules.front(), parsed.source, options));
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct Costed {
  const char* operation;
  std::uint64_t flops, bytes;
};

// 8x16 floats are 512 bytes, 16x4 256.
const Costed kCosts[] = {
    {"%0 = stablehlo.add %a, %c : tensor<8x16xf32>", 128, 1536},
    {"%0 = \"stablehlo.add\"(%a, %c) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>",
     128, 1536},
    {"%0 = stablehlo.tanh %a : tensor<8x16xf32>", 128, 1024},
    {"%0 = stablehlo.convert %a : (tensor<8x16xf32>) -> tensor<8x16xbf16>", 128, 768},
    {"%0 = stablehlo.compare GT, %a, %c, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> "
     "tensor<8x16xi1>",
     128, 1024 + 16},  // i1: packed bits
    {"%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>", 0,
     1024},
    {"%0 = stablehlo.slice %a [0:2, 0:16] : (tensor<8x16xf32>) -> tensor<2x16xf32>", 0, 256},
    {"%0 = stablehlo.concatenate %a, %c, dim = 0 : (tensor<8x16xf32>, tensor<8x16xf32>) -> "
     "tensor<16x16xf32>",
     0, 2048},
    {"%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, "
     "tensor<16x4xf32>) -> tensor<8x4xf32>",
     2 * 8 * 4 * 16, 512 + 256 + 128},
    {"%0 = \"stablehlo.dot_general\"(%a, %b) {dot_dimension_numbers = "
     "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : "
     "(tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>",
     2 * 8 * 4 * 16, 512 + 256 + 128},
    {"%z = stablehlo.constant dense<0.0> : tensor<f32>\n%0 = stablehlo.reduce(%a init: %z) applies "
     "stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>",
     7 * 16, 512 + 64},
    {"%z = stablehlo.constant dense<0.0> : tensor<f32>\n%0 = stablehlo.reduce(%a init: %z) across "
     "dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32> reducer(%x: tensor<f32>,"
     " %y: tensor<f32>) { %s = stablehlo.add %x, %y : tensor<f32>\n stablehlo.return %s : "
     "tensor<f32> }",
     7 * 16, 512 + 64},
    {"%0 = \"stablehlo.sort\"(%a) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %p = "
     "stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n stablehlo.return "
     "%p : tensor<i1> }) : (tensor<8x16xf32>) -> tensor<8x16xf32>",
     0, 4 * 1024},  // four radix passes
    {"%0 = stablehlo.iota dim = 0 : tensor<8xi32>", 0, 0},
    {"%0 = \"mhlo.fusion\"(%a, %c) ({ ^bb0(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>): %s = "
     "stablehlo.add %x, %y : tensor<8x16xf32>\n %t = stablehlo.tanh %s : tensor<8x16xf32>\n "
     "stablehlo.return %t : tensor<8x16xf32> }) : (tensor<8x16xf32>, tensor<8x16xf32>) -> "
     "tensor<8x16xf32>",
     256, 1536},
};

TEST(StablehloCosts, AreThoseOfTheTable) {
  for (const Costed& costed : kCosts) {
    const OpTotal total = total_of(costed.operation);
    EXPECT_EQ(total.flops, costed.flops) << costed.operation;
    EXPECT_EQ(total.bytes, costed.bytes) << costed.operation;
  }
}

TEST(StablehloCosts, AConvolutionsKernelIsReadByItsLayout) {
  // 2 * out * 3 * 5 positions * 2 input features; the kernel is [out, in, 3, 5].
  const std::string text =
      "func.func @main(%x: tensor<1x2x9x9xf32>, %k: tensor<7x2x3x5xf32>) {\n%0 = "
      "stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window "
      "= {stride = [1, 1]} {feature_group_count = 1 : i64} : (tensor<1x2x9x9xf32>, "
      "tensor<7x2x3x5xf32>) -> tensor<1x7x7x5xf32>\nreturn\n}";
  EXPECT_EQ(Parsed(text).program().flops, 2u * (7 * 7 * 5) * (3 * 5) * 2);
}

std::string loop_of(const std::string& compare, const std::string& next) {
  return function_of(
      "%zero = stablehlo.constant dense<2> : tensor<i32>\n"
      "%end = stablehlo.constant dense<9> : tensor<i32>\n"
      "%step = stablehlo.constant dense<3> : tensor<i32>\n"
      "%r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8x16xf32>\n"
      "cond { %p = stablehlo.compare " + compare +
      " : (tensor<i32>, tensor<i32>) -> tensor<i1>\n stablehlo.return %p : tensor<i1> } do {\n"
      "%n = stablehlo." + next + " : tensor<i32>\n"
      "%y = stablehlo.tanh %x : tensor<8x16xf32>\n"
      "stablehlo.return %n, %y : tensor<i32>, tensor<8x16xf32> }");
}

std::uint64_t turns_of(const std::string& compare, const std::string& next) {
  const Program program = Parsed(loop_of(compare, next)).program();
  const auto tanh = program.by_name.find("tanh");
  return tanh == program.by_name.end() ? 0 : tanh->second.count;
}

TEST(StablehloLoops, AreCountedWhereTheirCounterIsConstant) {
  EXPECT_EQ(turns_of("LT, %i, %end, SIGNED", "add %i, %step"), 3u);     // 2, 5, 8
  EXPECT_EQ(turns_of("GE, %end, %i, SIGNED", "add %step, %i"), 3u);
  EXPECT_EQ(turns_of("LE, %i, %end, SIGNED", "add %i, %step"), 3u);
  EXPECT_EQ(turns_of("GT, %i, %step, SIGNED", "subtract %i, %step"), 0u);  // 2 > 3 is false
}

TEST(StablehloLoops, ThatWouldMakeTooMuchAreRefusedAfterTheirFirstTurn) {
  const auto refusal_of_turns = [](const std::string& end) {
    std::string text = loop_of("LT, %i, %end, SIGNED", "add %i, %step");  // from 2 to `end`
    text.replace(text.find("dense<9>"), 8, "dense<" + end + ">");
    text.replace(text.find("dense<3>"), 8, "dense<1>");
    const std::string refusal = refusal_of(text);
    return refusal.substr(std::min(refusal.find("a loop"), refusal.size()));
  };
  EXPECT_EQ(refusal_of_turns("1398104"),
            "a loop of 1398102 turns makes 4194306 kernels and collectives, 3 a turn; expected at "
            "most 4194304 in all");
  EXPECT_EQ(refusal_of_turns("1099511627776"),
            "a loop of 1099511627774 turns makes 3298534883322 kernels and collectives, 3 a turn; "
            "expected at most 4194304 in all");
}

TEST(StablehloLoops, ThatTurnTooOftenAreRefusedWhateverTheyDo) {
  const std::string refusal = refusal_of(function_of(
      "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "%r = stablehlo.while(%x = %a) : tensor<8x16xf32>\n"
      "cond { stablehlo.return %zero : tensor<i32> } do {\n"
      "stablehlo.return %x : tensor<8x16xf32> }"), {.trip_count = std::uint64_t{1} << 40});
  EXPECT_NE(refusal.find("a loop of 1099511627776 turns; expected at most 4194304 in "
                         "all loops"),
            std::string::npos) << refusal;
}

TEST(StablehloLoops, OthersAskForATripCount) {
  const std::string text = loop_of("LT, %i, %end, SIGNED", "multiply %i, %step");
  EXPECT_EQ(refusal_of(text),
            "m:5:8: the trip count of this loop is not a constant; expected a counter compared "
            "with a constant, or --trip-count N");
  EXPECT_EQ(Parsed(text).program({.trip_count = 5}).by_name.at("tanh").count, 5u);
}

TEST(StablehloCalls, AreTakenInAtEveryCall) {
  const std::string text =
      "func.func @main(%a: tensor<4xf32>) { %0 = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
      "%1 = func.call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>\nreturn }\n"
      "func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.abs %a : "
      "tensor<4xf32>\n return %0 : tensor<4xf32> }";
  const Program program = Parsed(text).program();
  ASSERT_EQ(program.steps.size(), 2u);
  EXPECT_EQ(program.steps[1].inputs, (std::vector<std::uint32_t>{0}));
}

TEST(StablehloBranches, TheDearestIsTaken) {
  const Program program = Parsed(
      "func.func @main(%p: tensor<i1>, %a: tensor<4xf32>) { %0 = \"stablehlo.if\"(%p) ({ "
      "stablehlo.return %a : tensor<4xf32> }, { %1 = stablehlo.abs %a : tensor<4xf32>\n "
      "stablehlo.return %1 : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>\nreturn }").program();
  EXPECT_EQ(program.flops, 4u);
  EXPECT_EQ(program.notes.size(), 1u);
}

TEST(StablehloCosts, WhatHasNoRuleIsListed) {
  const Program program = Parsed(function_of(
      "%0 = stablehlo.custom_call @Strange(%a) {backend_config = \"\"} : (tensor<8x16xf32>) -> "
      "tensor<8x16xf32>\n%1 = stablehlo.fft %0, type = FFT, length = [16] : (tensor<8x16xf32>) -> "
      "tensor<8x16xf32>")).program();
  EXPECT_EQ(program.uncosted.at("custom_call @Strange"), 1u);
  EXPECT_EQ(program.uncosted.at("fft"), 1u);
}

struct Refused {
  std::string text;
  const char* error;
};

TEST(StablehloText, SaysWhereAndWhatIsWrong) {
  const Refused kRefused[] = {
      {"func.func @f() {\n  %0 = stablehlo.",
       "m:2:8: \"stablehlo.\" is not expected here; expected an operation"},
      {"nothing", "m:1:1: \"nothing\" is not expected here; expected module, func.func or a mesh"},
      {function_of("%0 = stablehlo.add %a, %q : tensor<8x16xf32>"),
       "m:2:24: value \"%q\" is not defined"},
      {function_of("%0 = stablehlo.abs %a : tensor<8x?xf32>"),
       "m:2:34: a dynamic dimension; expected a static shape"},
      {function_of("%0 = stablehlo.abs %a : tensor<8xf32"),
       "m:2:32: a type that nothing ends; expected \">\""},
      {function_of("%0 = stablehlo.abs %a : memref<4xf32>"),
       "m:2:25: \"memref\" is no type; expected tensor<..>, tuple<..> or a token"},
      {function_of("%0:2 = stablehlo.abs %a : tensor<8x16xf32>"),
       "m:2:8: abs has 2 results and 1 result types"},
      {function_of("%0 = call @g(%a) : (tensor<8x16xf32>) -> tensor<8x16xf32>"),
       "m:2:6: function \"g\" is not defined"},
      {function_of("%0 = stablehlo.abs %a : tensor<8x16xf32>\n%0 = stablehlo.abs %a : "
                   "tensor<8x16xf32>"),
       "m:3:1: value \"%0\" is defined twice"},
      {function_of("%0 = stablehlo.constant dense<\"0x : tensor<8x16xf32>"),
       "m:2:31: a string that nothing ends; expected '\"'"},
      {"func.func @main() { %0 = call @main() : () -> tensor<f32>\nreturn %0 : tensor<f32> }",
       "m:1:26: calls and regions nest deeper than 64; does a function call itself?"},
      {"func.func @other() { return }",
       "m:1:11: the module has no function \"@main\"; expected --entry with one of:\" @other\""},
  };
  for (const Refused& refused : kRefused) EXPECT_EQ(refusal_of(refused.text), refused.error);
}

DeviceLists groups_in(const std::string& attribute, const std::string& head = "",
                      std::uint32_t devices = 4) {
  const Parsed parsed(head + "func.func @main(%a: tensor<4xf32>) { %0 = "
                             "\"stablehlo.all_reduce\"(%a)"
                      " ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %x : "
                      "tensor<f32> }) {" + attribute + "} : (tensor<4xf32>) -> tensor<4xf32>\n"
                      "return }" + (head.empty() ? "" : "\n}"));
  const Module& module = parsed.modules.at(0);
  return groups_of(module.find("main")->body.operations[0], module, parsed.source, devices);
}

TEST(StablehloGroups, AreReadInEveryForm) {
  EXPECT_EQ(groups_in("replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>"),
            (DeviceLists{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups_in("replica_groups = dense<[[0, 1, 2], [3, -1, -1]]> : tensor<2x3xi64>"),
            (DeviceLists{{0, 1, 2}, {3}}));
  EXPECT_EQ(groups_in("replica_groups = dense<0> : tensor<1x1xi64>"), (DeviceLists{{0}}));
  EXPECT_EQ(groups_in("replica_groups = dense<> : tensor<0x0xi64>"),
            (DeviceLists{{0, 1, 2, 3}}));
  EXPECT_EQ(groups_in("replica_groups = #stablehlo.replica_group_mesh_axes<mesh = "
                      "#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = 2>, "
                      "#stablehlo.mesh_axis<name = \"y\", size = 2>]>, axes = "
                      "[#stablehlo.axis_ref<name = \"x\">]>"),
            (DeviceLists{{0, 2}, {1, 3}}));
}

TEST(StablehloGroups, RefuseAMeshOfNoDevices) {
  try {
    groups_in("replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = "
              "[#stablehlo.mesh_axis<name = \"x\", size = 1>], device_ids = dense<-1> : "
              "tensor<1xi64>>, axes = [#stablehlo.axis_ref<name = \"x\">]>");
    ADD_FAILURE() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("device -1 in the mesh's device_ids; expected 0 to "),
              std::string::npos)
        << error.what();
  }
}

TEST(StablehloGroups, NumberReplicasOrPartitionsOrBoth) {
  const std::string head =
      "module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32} {\n";
  const std::string pair = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>";
  EXPECT_EQ(groups_in(pair, head), (DeviceLists{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups_in(pair + ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>",
                      head),
            (DeviceLists{{0, 1, 2, 3}}));
  EXPECT_EQ(groups_in(pair + ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, "
                             "use_global_device_ids",
                      head),
            (DeviceLists{{0, 1}}));
}

// 2^16 names of 2^16 results each: 2^32 in all, which is no 0.
TEST(StablehloModule, RefusesMoreResultsThanTypesHoweverMany) {
  std::string names;
  for (std::uint32_t i = 0; i < 1u << 16; ++i) {
    names += (i == 0 ? "%v" : ", %v") + std::to_string(i) + ":65536";
  }
  const std::string refusal = refusal_of(function_of(names + " = \"stablehlo.foo\"()"));
  EXPECT_NE(refusal.find("foo has 4294967296 results and 0 result types"), std::string::npos)
      << refusal.substr(0, 200);
}

TEST(StablehloFusion, JoinsChainsAndEndsThemAtReductions) {
  // The example of fusion.cc; %r is used, so it is written: 128 floats in twice, 1 float out.
  const std::string body =
      "%0 = stablehlo.add %a, %c : tensor<8x16xf32>\n%1 = stablehlo.tanh %0 : tensor<8x16xf32>\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%r = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1] : "
      "(tensor<8x16xf32>, tensor<f32>) -> tensor<f32>\n"
      "%2 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<8x16xf32>\n"
      "%3 = stablehlo.multiply %a, %2 : tensor<8x16xf32>\nreturn %3 : tensor<8x16xf32>\n";
  const Parsed parsed("func.func @main(%a: tensor<8x16xf32>, %c: tensor<8x16xf32>) {\n" + body +
                      "}");
  const Program program = parsed.program();
  const std::vector<Kernel> kernels = kernels_of(program, true);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].steps, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(kernels[0].flops, 128u + 128u + 127u);
  EXPECT_EQ(kernels[0].bytes_read, 1024u);
  EXPECT_EQ(kernels[0].bytes_written, 4u);
  EXPECT_EQ(kernels[1].inputs, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(kernels[1].bytes_read, 512u + 4u);
  EXPECT_EQ(kernels[1].bytes_written, 512u);
  EXPECT_EQ(kernels_of(program, false).size(), 5u);
}

// A count of what fusion does would bind the test to its inside; at the square of the turns this
// one takes minutes. Half of the loop's kernels are cheap operations that join, and half read a
// product that depends on all turns before, so that searches go far.
TEST(StablehloFusion, OfALongLoopTakesNoSquare) {
  const Parsed parsed(
      "func.func @main(%s: tensor<4x4xf32>) {\n"
      "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "%end = stablehlo.constant dense<20000> : tensor<i32>\n"
      "%one = stablehlo.constant dense<1> : tensor<i32>\n"
      "%r:3 = stablehlo.while(%i = %zero, %x = %s, %y = %s) : "
      "tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>\n"
      "cond { %p = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> "
      "tensor<i1>\n stablehlo.return %p : tensor<i1> } do {\n"
      "%n = stablehlo.add %i, %one : tensor<i32>\n"
      "%d = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "%sum = stablehlo.add %y, %d : tensor<4x4xf32>\n"
      "stablehlo.return %n, %d, %sum : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32> }\nreturn\n}");
  const Program program = parsed.program();
  EXPECT_EQ(program.steps.size(), 80'000u);
  const std::vector<Kernel> kernels = kernels_of(program, true);
  EXPECT_GT(kernels.size(), 20'000u);
  EXPECT_LT(kernels.size(), 40'000u);
}

TEST(StablehloFusion, MakesNoCycle) {
  // %0 feeds %2 and, through the transposition, %2 again: {0, 2} would wait for itself.
  const Parsed parsed(
      "func.func @main(%a: tensor<4x4xf32>) {\n%0 = stablehlo.abs %a : tensor<4x4xf32>\n"
      "%1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "%2 = stablehlo.add %0, %1 : tensor<4x4xf32>\nreturn %2 : tensor<4x4xf32>\n}");
  EXPECT_EQ(kernels_of(parsed.program(), true).size(), 3u);
}

}  // namespace
}  // namespace exawarp::tests
