// Line by line and word by word: a head that says how layers are parallelised, their number, then
// one line of numbers for each layer.
#include "io/formats/text_workload/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using core::InputError;
using model::schema::CollectiveType;

constexpr std::uint64_t kLayersMax = 65'535;  // a node names its layer in 16 bits
constexpr std::uint64_t kCyclesMax = 1ull << 50;
constexpr std::uint64_t kBytesMax = 1ull << 40;

struct Kind {
  const char* name;
  TextParallelism value;
};
constexpr Kind kKinds[] = {
    {"MICRO", TextParallelism::micro},
    {"DATA", TextParallelism::data},
    {"MODEL", TextParallelism::model},
    {"HYBRID_DATA_MODEL", TextParallelism::hybrid_data_model},
    {"HYBRID_MODEL_DATA", TextParallelism::hybrid_model_data},
    {"HYBRID_DLRM", TextParallelism::hybrid_dlrm},
    {"HYBRID_TRANSFORMER", TextParallelism::hybrid_transformer},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", TextParallelism::hybrid_transformer_fwd_in_bckwd},
    {"HYBRID_CUSTOMIZED", TextParallelism::hybrid_customized},
};

// The words of one line, taken from the left.
class Line {
 public:
  Line(std::string_view text, std::string place, std::size_t number)
      : place_(fmt::format("{}:{}", place, number)) {
    constexpr std::string_view kBlank = " \t\r\v\f";
    for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;
         at = text.find_first_not_of(kBlank, at)) {
      const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
      words_.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  [[nodiscard]] bool empty() const { return at_ == words_.size(); }
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(place_, what); }

  std::string_view word(const char* what) {
    if (empty()) refuse(fmt::format("ends before {}", what));
    return words_[at_++];
  }
  std::uint64_t number(const char* what, std::uint64_t max) {
    const std::string_view text = word(what);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > max) {
      refuse(fmt::format("{}: {}; expected a number from 0 to {}", what, in_quotes(text), max));
    }
    return value;
  }
  TextParallelism parallelism() {
    const std::string_view text = word("the kind of parallelism");
    std::vector<std::string> names;
    for (const Kind& kind : kKinds) {
      if (text == kind.name) return kind.value;
      names.emplace_back(kind.name);
    }
    refuse(fmt::format("{} is no kind of parallelism; expected one of: {}{}", in_quotes(text),
                       fmt::join(names, ", "), did_you_mean(text, names)));
  }
  TextPass pass(const char* what) {
    TextPass pass;
    pass.cycles = number(what, kCyclesMax);
    const std::string_view type = word("a collective");
    if (type == "ALLREDUCE") {
      pass.collective = CollectiveType::ALL_REDUCE;
    } else if (type == "ALLGATHER") {
      pass.collective = CollectiveType::ALL_GATHER;
    } else if (type == "ALLTOALL") {
      pass.collective = CollectiveType::ALL_TO_ALL;
    } else if (type == "REDUCESCATTER") {
      pass.collective = CollectiveType::REDUCE_SCATTER;
    } else if (type != "NONE") {
      refuse(
          fmt::format("{} is no collective; expected NONE, ALLREDUCE, ALLGATHER, ALLTOALL or "
                      "REDUCESCATTER",
                      in_quotes(type)));
    }
    pass.bytes = number("the size of a collective", kBytesMax - 1);
    return pass;
  }
  void expect(std::string_view expected) {
    const std::string_view text = word("its options");
    if (text != expected) {
      refuse(fmt::format("{}; expected {}", in_quotes(text), in_quotes(expected)));
    }
  }
  void end() const {
    if (!empty()) refuse(fmt::format("{} is too much here", in_quotes(words_[at_])));
  }

 private:
  std::string place_;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

// Lines that hold something.
class Lines {
 public:
  Lines(std::string_view text, const std::string& place) : rest_(text), place_(place) {}
  std::optional<Line> next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      Line line(rest_.substr(0, end), place_, ++number_);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      if (!line.empty()) return line;
    }
    return std::nullopt;
  }
  Line required(const char* what) {
    std::optional<Line> line = next();
    if (!line) throw InputError(place_, fmt::format("ends before {}", what));
    return std::move(*line);
  }

 private:
  std::string_view rest_;
  const std::string& place_;
  std::size_t number_ = 0;
};

struct Head {
  std::vector<std::uint64_t> checkpoints, initiates;
};

std::vector<std::uint64_t> read_layer_numbers(Line& line) {
  std::vector<std::uint64_t> numbers(line.number("how many layers follow", kLayersMax));
  for (std::uint64_t& number : numbers) number = line.number("a layer", kLayersMax);
  return numbers;
}

Head read_head(Line line, TextWorkload& out) {
  Head head;
  out.parallelism = line.parallelism();
  if (out.parallelism == TextParallelism::hybrid_dlrm) {
    out.last_bottom_layer =
        static_cast<std::uint32_t>(line.number("the last bottom layer", kLayersMax));
  }
  const bool recomputes = out.parallelism == TextParallelism::hybrid_transformer_fwd_in_bckwd;
  if (recomputes || out.parallelism == TextParallelism::hybrid_transformer) {
    line.expect("model_parallel_NPU_group:");
    out.model_parallel_size =
        static_cast<std::uint32_t>(line.number("the model-parallel size", 1u << 24));
  }
  if (recomputes) {
    line.expect("checkpoints:");
    head.checkpoints = read_layer_numbers(line);
    line.expect("checkpoint_initiates:");
    head.initiates = read_layer_numbers(line);
  }
  line.end();
  return head;
}

TextLayer read_layer(Line line, TextParallelism parallelism) {
  TextLayer layer;
  layer.name = line.word("a layer's name");
  static_cast<void>(line.word("the reserved column"));
  layer.forward = line.pass("the forward time");
  layer.input_gradient = line.pass("the input-gradient time");
  layer.weight_gradient = line.pass("the weight-gradient time");
  layer.update_cycles = line.number("the update delay", kCyclesMax);
  layer.parallelism = parallelism;
  if (parallelism == TextParallelism::hybrid_customized) {
    layer.parallelism = line.parallelism();
    switch (layer.parallelism) {
      case TextParallelism::data:
      case TextParallelism::model:
      case TextParallelism::hybrid_data_model:
      case TextParallelism::hybrid_model_data:
        break;
      default:
        line.refuse(
            "a layer's parallelism: expected DATA, MODEL, HYBRID_DATA_MODEL or "
            "HYBRID_MODEL_DATA");
    }
  }
  const bool forbids_forward = layer.parallelism == TextParallelism::data;
  if (forbids_forward && (layer.forward.collective || layer.input_gradient.collective)) {
    line.refuse("DATA has no collectives but those of weight gradients");
  }
  if (layer.parallelism == TextParallelism::model && layer.weight_gradient.collective) {
    line.refuse("MODEL has no collectives of weight gradients");
  }
  line.end();
  return layer;
}

void mark_recomputation(const Head& head, const std::string& place, TextWorkload& out) {
  for (const auto* list : {&head.checkpoints, &head.initiates}) {
    for (const std::uint64_t number : *list) {
      if (number >= out.layers.size()) {
        throw InputError(place + ":1",
                         fmt::format("layer {}; expected less than {}", number, out.layers.size()));
      }
      TextLayer& layer = out.layers[number];
      (list == &head.checkpoints ? layer.checkpoint : layer.initiates_recomputation) = true;
    }
  }
}

}  // namespace

TextWorkload read_text_workload(std::string_view text, const std::string& place) {
  TextWorkload out;
  Lines lines(text, place);
  const Head head = read_head(lines.required("the kind of parallelism"), out);
  Line count_line = lines.required("the number of layers");
  const std::uint64_t count = count_line.number("the number of layers", kLayersMax);
  count_line.end();
  while (std::optional<Line> line = lines.next()) {
    if (out.layers.size() == count) {
      line->refuse(fmt::format("more than the {} layers that line 2 tells", count));
    }
    out.layers.push_back(read_layer(std::move(*line), out.parallelism));
  }
  if (out.layers.size() < count || count == 0) {
    throw InputError(place, fmt::format("has {} layers; expected the {} that line 2 tells, and at "
                                        "least one",
                                        out.layers.size(), count));
  }
  mark_recomputation(head, place, out);
  return out;
}

}  // namespace exawarp::io
