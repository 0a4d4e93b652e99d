// Seeds and words of the importers: GOAL, StableHLO, times of kernels and lists of flows.
#include "io/formats/goal/text_reader.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace exawarp::fuzz {
namespace {

const char* const kGoal =
    "num_ranks 3\nrank 0 { // first\nl1: calc 100 cpu 0\nl2: send 8b to 1 tag 3 cpu 0 nic 0\n"
    "l2 requires l1\nl3: recv 70000b from 2\nl4: calc 5 cpu 1\nl4 irequires l3 }\n"
    "rank 1 { l1: recv 8b from 0 tag 3 /* any */ l2: send 16b to 2 tag 1 l2 requires l1 }\n"
    "rank 2 { recv 16b from 1 tag 1 send 70000b to 0 }\n";

const char* const kPretty = R"(module @m attributes {mhlo.num_replicas = 4 : i32} {
  func.func public @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32> {x.y = 1})
      -> tensor<8x4xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %c = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %2 = call @f(%0, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %3 = "stablehlo.all_reduce"(%2) <{
      replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %9 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %s = stablehlo.reduce(%3 init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %3 : tensor<8x4xf32>
  }
  func.func private @f(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.add %a, %b : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
)";

const char* const kLoop = R"("sdy.mesh"() {sym_name = "mesh", stablehlo.mesh = {axes = [
  {name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}} : () -> ()
func.func @main(%v: tensor<4xf32>, %k: tensor<1x4x4x1xf32>,
    %w: tensor<3x3x1x1xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %v) : tensor<i32>, tensor<4xf32>
   cond {
    %p = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %y = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %n, %y : tensor<i32>, tensor<4xf32>
  }
  %1 = "stablehlo.all_gather"(%0#1) {all_gather_dim = 0 : i64,
    replica_groups = #stablehlo.replica_group_mesh_axes<
      mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>
  } : (tensor<4xf32>) -> tensor<8xf32>
  %2 = stablehlo.convolution(%k, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [4, 4]} {batch_group_count = 1 : i64}
    : (tensor<1x4x4x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x2x2x1xf32>
  %3 = "stablehlo.collective_permute"(%v) {
    source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}
    : (tensor<4xf32>) -> tensor<4xf32>
  %4 = stablehlo.custom_call @Strange(%3) {backend_config = ""}
    : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<i32>>
  return %0#1 : tensor<4xf32>
}
)";

}  // namespace

std::vector<std::string> goal_seeds() {
  const std::vector<std::byte> bytes = io::read_goal_text(kGoal, "seed");
  return {kGoal, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

std::vector<std::string> stablehlo_seeds() { return {kPretty, kLoop}; }

std::vector<std::string> kernel_import_seeds() {
  const std::string end(1, kSeparator);
  return {
      "csv" + end +
          "name,operation,m,n,k,batch,type,time_us,device\n\"a,b\",gemm,64,128,256,2,bf16,3.5,x\n"
          "c,norm,,,,,,1,x\n# note\nd,mm,16,16,16,,fp8,2,x\n",
      "csv" + end +
          "operation,heads,kv_heads,head_dim,s,b,window,cycles\nprefill,8,2,128,1024,1,0,5000\n"
          "decode,8,8,128,4096,4,128,700\n",
      "pytorch" + end +
          R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2,
          "args": {"External id": 7, "Input Dims": [[4, 8], [8, 16]],
          "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
          {"ph": "X", "cat": "kernel", "name": "k", "ts": 2, "dur": 5,
          "args": {"External id": 7}}]})",
      "cocossim" + end + "processing Matmul 256 512 1024\nCycles 3847\n",
      "accel-sim" + end + "kernel_name = g\nkernel_launch_uid = 1\ngpu_sim_cycle = 5000\n" + end +
          "uid,m,n,k\n1,64,64,64\n",
      "systolic" + end + "Layer,M,N,K,\na,1,2,3,\n" + end +
          "ArrayHeight : 32\nArrayWidth = 32\nDataflow : os\n",
      "systolic" + end + "Layer,IH,IW,FH,FW,C,F,S,\nDP,9,9,3,3,2,1,2,\n"};
}

std::vector<std::string> kernel_import_words() {
  return {",", "\n", "\"", "0", "-1", "1e309", "1099511627775", "1099511627776", "4294967296",
          "18446744073709551615", "nan", "DP", "m", "k", "batch", "heads", "cycles", "time_ns",
          "Input Dims", "External id", "[[", "]]", "Cycles ", "processing ", "Time: ",
          "gpu_sim_cycle = ", "USER", "1:2"};
}

std::vector<std::string> flow_list_seeds() {
  return {"source,destination,bytes,start\n0,5,4000,0 s\n# then\n3, 9, 100000, 2.5 us\n",
          "source,destination,bytes,start_ps,end_ps\n15,0,0,7,9\n0,15,1099511627776,86400,1\n"};
}

std::vector<std::string> flow_list_words() {
  return {",", "\n", "\"", "-1", "16", "1099511627777", "18446744073709551616", "24 h", "1e400 s",
          "-1 us", "src", "dst", "start", "start_ps", "#"};
}

std::vector<std::string> request_trace_seeds() {
  return {std::string(1, '\0') +
              "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n",
          std::string(1, '\0') + "num_prefill_tokens,num_decode_tokens\n3772,54\n",
          "\x01TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
          "2023-11-17T00:00:00.5+00:00,1,1\n",
          "\x02{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, "
          "\"hash_ids\": [0, 1]}\n{\"timestamp\": 3000.5, \"input_length\": 1, "
          "\"output_length\": 1}\n"};
}

std::vector<std::string> request_trace_words() {
  return {",", "\n", "\"", "-1", "1e400", "16777217", "18446744073709551616", "arrived_at",
          "timestamp", "9999-12-31", "23:59:60", "0000-00-00", "{", "}", "null", ":", "."};
}

std::vector<std::string> single_gpu_seeds() {
  const std::string trace =
      "OperatorID,OperatorName,Operator_input,Operator_output,Operator_cudatime,"
      "Operator_cudatimenooverlap,InputSize,OutputSize,gpuid,stage,tpflag\n";
  const std::string tensors =
      "Index,TensorID,TensorShape,TensorNumElement,TensorEachByte,TensorType,TensorStorgeid,"
      "gpuid\n";
  return {trace +
              "1,aten::linear,[1; 2],[3],50,40,[],[],0,forward,1\n"
              "2,aten::linear,[3; 4],[5],50,60,[],[],0,forward,1\n"
              "3,AddmmBackward0,[5; 4],[6],50,20.5,[],[],0,backward,1\n"
              "4,AddmmBackward0,[6; 2],[7],50,30,[],[],0,backward,1\n"
              "9,aten::_foreach_addcdiv_,[2; 4],[],5,5,[],[],0,optimizer,0\n" +
              kSeparator + tensors +
              "0,1,\"[8, 16]\",128,4,input,1,0\n1,2,\"[16, 16]\",256,4,weight,1,0\n"
              "2,3,\"[8, 16]\",128,4,output,1,0\n3,4,\"[16, 16]\",256,4,weight,1,0\n"
              "4,5,\"[8, 16]\",128,4,output,1,0\n5,6,\"[8, 16]\",128,4,grad_output,1,0\n"
              "6,7,\"[8, 16]\",128,4,grad_output,1,0\n",
          trace + "1,relu,['a'],['a'],1,1,[1],[1],0,forward,0\n" + kSeparator + tensors +
              "0,a,[8],8,4,input,1,0\n"};
}

std::vector<std::string> single_gpu_words() {
  return {",", "\n", "[", "]", ";", "'", "\"", "-1", "nan", "1e400", "forward", "backward",
          "optimizer", "weight", "18446744073709551616", "OperatorID", "stage", "[]", "0"};
}

std::vector<std::string> vidur_profile_seeds() {
  const std::string mlp =
      "num_tokens,num_tensor_parallel_workers,n_embd,time_stats.attn_pre_proj.median,"
      "time_stats.attn_post_proj.median,time_stats.attn_rope.median,"
      "time_stats.input_layernorm.median,time_stats.post_attention_layernorm.median,"
      "time_stats.add.median,time_stats.mlp_up_proj.median,time_stats.mlp_act.median,"
      "time_stats.mlp_down_proj.median\n8,2,64,1,1,1,1,,1,1,1,1\n16,2,64,,2,2,2,,2,2,2,2\n";
  const std::string attention =
      "num_tensor_parallel_workers,block_size,n_embd,n_q_head,n_kv_head,batch_size,"
      "prefill_chunk_size,kv_cache_size,time_stats.attn_kv_cache_save.median,"
      "time_stats.attn_prefill.median,time_stats.attn_decode.median\n"
      "2,16,64,8,2,1,64,0,0.1,1.5,0\n2,16,64,8,2,1,0,64,0.1,0,1\n2,16,64,8,2,3,0,64,0.1,0,1\n";
  const std::string reduce =
      "num_workers,devices_per_node,size,time_stats.all_reduce.median\n2,2,1024,0.03\n"
      "2,2,2048,0.04\n16,8,1024,7\n";
  return {mlp + kSeparator + attention, mlp + kSeparator + attention + kSeparator + reduce};
}

std::vector<std::string> vidur_profile_words() {
  return {",", "\n", "\"", "-1", "nan", "1e6", "1e400", "1048576", "17592186044416",
          "num_tokens", "time_stats.add.median", "block_size", "0", ",,"};
}

std::vector<std::string> goal_words() {
  return {"rank ", "num_ranks ", "}", "{", "/*", "*/", "//", "-1", "irequires ", "requires ",
          "99999999999999999999", "tag ", "cpu 255", "nic ", ":", "l1", "b",
          std::string(4, '\0'), "\xff\xff\xff\xff", "\x01", std::string("\0\0\0\x80", 4)};
}

std::vector<std::string> stablehlo_words() {
  return {"tensor<", "x", ">", "(", ")", "{", "}", "[", "]", "<{", "}>", "->", ":", "%0", "%0#1",
          "dense<", "-1", "9223372036854775807", "stablehlo.while(", "cond", "do", "\"", "@main",
          "call @main", "^bb0", "func.func", "module", "\n// -----\n", "tuple<", "?", "#a = ",
          "281474976710656x", "0x", "complex<f32>", "replica_groups = ", "mesh_axes", "i1",
          "window_dimensions = array<i64: 3>", "stablehlo.return", "loc("};
}

}  // namespace exawarp::fuzz
