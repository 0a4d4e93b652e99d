// Ranks as MPI processes. All calls come from the rank's main thread (MPI_THREAD_FUNNELED).
//
// A buffer of events is one non-blocking message; a GVT vote is one non-blocking all-reduce, and
// while it is under way arriving buffers are taken in, so no rank waits for another's receive.
#define OMPI_SKIP_MPICXX 1  // no C++ bindings: they would want another library
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>

#include "core/check.h"
#include "core/error.h"
#include "pdes/transport.h"

namespace exawarp::pdes {
namespace {

constexpr int kEventTag = 1;
constexpr std::size_t kBufferEventsMax = std::size_t{1} << 20;  // 64 MiB, far below MPI's int

using VoteWords = std::array<std::uint64_t, 7>;

VoteWords pack(const GvtVote& v) {
  return {static_cast<std::uint64_t>(v.least.ps), static_cast<std::uint64_t>(v.in_transit),
          v.processed, v.rolled_back, v.busy_ns, v.lost_ns,
          static_cast<std::uint64_t>(v.request)};
}
GvtVote unpack(const VoteWords& w) {
  return {Time{static_cast<std::int64_t>(w[0])}, static_cast<std::int64_t>(w[1]), w[2], w[3],
          w[4], w[5], static_cast<Request>(w[6])};
}

extern "C" void combine_votes(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* a = static_cast<const VoteWords*>(in);
  auto* b = static_cast<VoteWords*>(inout);
  for (int i = 0; i < *length; ++i) {
    const GvtVote x = unpack(a[i]);
    const GvtVote y = unpack(b[i]);
    b[i] = pack({std::min(x.least, y.least), x.in_transit + y.in_transit,
                 x.processed + y.processed, x.rolled_back + y.rolled_back,
                 x.busy_ns + y.busy_ns, x.lost_ns + y.lost_ns, std::max(x.request, y.request)});
  }
}

void require(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw core::SystemError(std::string(call) + ": " + text.data());
}

void abort_all_ranks(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_FUNNELED)
      throw core::SystemError("this MPI offers no MPI_THREAD_FUNNELED; threads need it");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &machine_rank_);
    MPI_Comm_size(machine, &machine_ranks_);
    MPI_Comm_free(&machine);
    MPI_Type_contiguous(static_cast<int>(VoteWords{}.size()), MPI_UINT64_T, &vote_type_);
    MPI_Type_commit(&vote_type_);
    MPI_Op_create(combine_votes, 1, &vote_op_);
    core::set_check_hook(abort_all_ranks);
  }
  ~MpiTransport() override {
    for (Outgoing& out : outgoing_) MPI_Wait(&out.request, MPI_STATUS_IGNORE);
    core::set_check_hook(nullptr);
    MPI_Op_free(&vote_op_);
    MPI_Type_free(&vote_type_);
    MPI_Finalize();
  }

  [[nodiscard]] core::RankId rank() const override { return {static_cast<std::uint32_t>(rank_)}; }
  [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_); }

  [[nodiscard]] std::uint32_t machine_rank() const override {
    return static_cast<std::uint32_t>(machine_rank_);
  }
  [[nodiscard]] std::uint32_t machine_ranks() const override {
    return static_cast<std::uint32_t>(machine_ranks_);
  }

  void send(core::RankId to, std::vector<Event> events) override {
    EXAWARP_CHECK(!events.empty() && events.size() <= kBufferEventsMax, events.size());
    Outgoing& out = outgoing_.emplace_back();
    out.events = std::move(events);
    require(MPI_Isend(out.events.data(), static_cast<int>(out.events.size() * sizeof(Event)),
                      MPI_BYTE, static_cast<int>(to.value), kEventTag, MPI_COMM_WORLD,
                      &out.request),
            "MPI_Isend");
  }

  GvtVote round(const GvtVote& vote, const EventReceiver& receive) override {
    VoteWords mine = pack(vote);
    VoteWords all{};
    MPI_Request request;
    require(MPI_Iallreduce(mine.data(), all.data(), 1, vote_type_, vote_op_, MPI_COMM_WORLD,
                           &request),
            "MPI_Iallreduce");
    for (int done = 0; done == 0;) {
      require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      poll(receive);
    }
    forget_delivered();
    return unpack(all);
  }

  std::uint64_t poll(const EventReceiver& receive) override {
    std::uint64_t buffers = 0;
    for (;;) {
      int found = 0;
      MPI_Message message;
      MPI_Status status;
      require(MPI_Improbe(MPI_ANY_SOURCE, kEventTag, MPI_COMM_WORLD, &found, &message, &status),
              "MPI_Improbe");
      if (found == 0) break;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      incoming_.resize(static_cast<std::size_t>(bytes) / sizeof(Event));
      require(MPI_Mrecv(incoming_.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE),
              "MPI_Mrecv");
      receive(incoming_);
      ++buffers;
    }
    received_ += buffers;
    return buffers;
  }

  [[nodiscard]] std::uint64_t buffers_received() const override { return received_; }

  void all_reduce_sum(std::span<std::uint64_t> values) override { reduce(values, MPI_SUM); }
  void all_reduce_max(std::span<std::uint64_t> values) override { reduce(values, MPI_MAX); }

  std::vector<std::byte> gather(std::span<const std::byte> bytes) override {
    const int size = static_cast<int>(bytes.size());
    std::vector<int> sizes(static_cast<std::size_t>(rank_ == 0 ? ranks_ : 0));
    require(MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD),
            "MPI_Gather");
    std::vector<int> offsets;
    int total = 0;
    for (const int s : sizes) {
      offsets.push_back(total);
      total += s;
    }
    std::vector<std::byte> all(static_cast<std::size_t>(total));
    require(MPI_Gatherv(bytes.data(), size, MPI_BYTE, all.data(), sizes.data(), offsets.data(),
                        MPI_BYTE, 0, MPI_COMM_WORLD),
            "MPI_Gatherv");
    return all;
  }
  void barrier() override { require(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

 private:
  struct Outgoing {
    std::vector<Event> events;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void reduce(std::span<std::uint64_t> values, MPI_Op op) {
    require(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                          MPI_UINT64_T, op, MPI_COMM_WORLD),
            "MPI_Allreduce");
  }
  void forget_delivered() {
    while (!outgoing_.empty()) {
      int done = 0;
      require(MPI_Test(&outgoing_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) break;
      outgoing_.pop_front();
    }
  }

  int rank_ = 0;
  int ranks_ = 1;
  int machine_rank_ = 0;
  int machine_ranks_ = 1;
  MPI_Datatype vote_type_ = MPI_DATATYPE_NULL;
  MPI_Op vote_op_ = MPI_OP_NULL;
  std::deque<Outgoing> outgoing_;  // a deque: requests and buffers keep their addresses
  std::vector<Event> incoming_;
  std::uint64_t received_ = 0;
};

bool launched_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace

std::unique_ptr<Transport> make_transport() {
  if (!launched_by_mpirun()) return make_single_transport();
  return std::make_unique<MpiTransport>();
}

}  // namespace exawarp::pdes
