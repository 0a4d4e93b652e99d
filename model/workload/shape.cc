#include "model/workload/shape.h"

namespace exawarp::model {
namespace {

GemmShape read_gemm(schema::Shape::Gemm::Reader in) {
  return {.m = in.getM(),
          .n = in.getN(),
          .k = in.getK(),
          .batch = in.getBatch(),
          .converted = in.getConverted()};
}

AttentionShape read_attention(schema::Shape::Attention::Reader in) {
  return {.batch = in.getBatch(),
          .new_tokens = in.getNewTokens(),
          .past_tokens = in.getPastTokens(),
          .heads = in.getHeads(),
          .key_value_heads = in.getKeyValueHeads(),
          .head_dim = in.getHeadDim(),
          .value_dim = in.getValueDim(),
          .window = in.getWindow(),
          .causal = in.getCausal(),
          .backward = in.getBackward()};
}

ExpertShape read_experts(schema::Shape::Experts::Reader in) {
  return {.tokens = in.getTokens(),
          .hidden = in.getHidden(),
          .inner = in.getInner(),
          .top_k = in.getTopK(),
          .experts = in.getExperts(),
          .tensor = in.getTensor(),
          .expert = in.getExpert(),
          .gated = in.getGated()};
}

StreamShape read_stream(schema::Shape::Stream::Reader in) {
  return {.kernel = in.getKernel(), .rows = in.getRows(), .width = in.getWidth()};
}

struct Writer {
  schema::Shape::Builder out;
  void operator()(std::monostate) { out.setUnknown(); }
  void operator()(const GemmShape& shape) {
    auto to = out.initGemm();
    to.setM(shape.m);
    to.setN(shape.n);
    to.setK(shape.k);
    to.setBatch(shape.batch);
    to.setConverted(shape.converted);
  }
  void operator()(const AttentionShape& shape) {
    auto to = out.initAttention();
    to.setBatch(shape.batch);
    to.setNewTokens(shape.new_tokens);
    to.setPastTokens(shape.past_tokens);
    to.setHeads(shape.heads);
    to.setKeyValueHeads(shape.key_value_heads);
    to.setHeadDim(shape.head_dim);
    to.setValueDim(shape.value_dim);
    to.setWindow(shape.window);
    to.setCausal(shape.causal);
    to.setBackward(shape.backward);
  }
  void operator()(const ExpertShape& shape) {
    auto to = out.initExperts();
    to.setTokens(shape.tokens);
    to.setHidden(shape.hidden);
    to.setInner(shape.inner);
    to.setTopK(shape.top_k);
    to.setExperts(shape.experts);
    to.setTensor(shape.tensor);
    to.setExpert(shape.expert);
    to.setGated(shape.gated);
  }
  void operator()(const StreamShape& shape) {
    auto to = out.initStream();
    to.setKernel(shape.kernel);
    to.setRows(shape.rows);
    to.setWidth(shape.width);
  }
};

}  // namespace

Shape read_shape(schema::Shape::Reader in) {
  switch (in.which()) {
    case schema::Shape::GEMM: return read_gemm(in.getGemm());
    case schema::Shape::ATTENTION: return read_attention(in.getAttention());
    case schema::Shape::EXPERTS: return read_experts(in.getExperts());
    case schema::Shape::STREAM: return read_stream(in.getStream());
    case schema::Shape::UNKNOWN: break;
  }
  return {};  // also what a later version may add
}

void write_shape(schema::Shape::Builder out, const Shape& shape) {
  std::visit(Writer{out}, shape);
}

}  // namespace exawarp::model
