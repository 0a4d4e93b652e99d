// Ranks as MPI processes. All calls come from the rank's main thread (MPI_THREAD_FUNNELED).
//
// After share_boards(), and where all ranks are on one machine, they exchange through boards in its
// memory, and send only what does not fit (shared_exchange.h).
//
// Otherwise, an exchange in messages: each rank sends what it has, non-blocking, to those it has
// something for, and all take part in one non-blocking all-reduce of the votes and of how many
// messages there are for each rank. So a rank knows what to wait for, and takes messages in while
// the votes are under way. The counts are 8 bytes a rank; they save the rounds in which ranks would
// ask each other whether anything is still in transit.
#define OMPI_SKIP_MPICXX 1  // no C++ bindings: they would want another library
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/check.h"
#include "core/error.h"
#include "core/temporary_files.h"
#include "pdes/peer_watch.h"
#include "pdes/shared_exchange.h"
#include "pdes/transport.h"

namespace exawarp::pdes {
namespace {

// Tags of events alternate from one exchange to the next: a rank that has all it waits for may be
// sending for the next while another is still receiving. It cannot be two ahead.
constexpr int kEventTags = 2;
constexpr std::size_t kMessageEventsMax = std::size_t{1} << 20;  // 64 MiB, far below MPI's int

// Of what a rank sends in an exchange, on a machine of its own: 2 MiB for the two sides of a board.
constexpr std::size_t kBoardEvents = std::size_t{1} << 14;

// A vote in words, followed by the number of messages for each rank.
constexpr std::size_t kVoteWords = 6;

void pack(const GvtVote& v, std::uint64_t* words) {
  words[0] = static_cast<std::uint64_t>(v.least.ps);
  words[1] = v.processed;
  words[2] = v.rolled_back;
  words[3] = v.busy_ns;
  words[4] = v.lost_ns;
  words[5] = static_cast<std::uint64_t>(v.request);
}
GvtVote unpack(const std::uint64_t* w) {
  return {Time{static_cast<std::int64_t>(w[0])}, w[1], w[2], w[3], w[4],
          static_cast<Request>(w[5])};
}

extern "C" void combine_votes(void* in, void* inout, int* length, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const std::size_t words = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
  auto* a = static_cast<const std::uint64_t*>(in);
  auto* b = static_cast<std::uint64_t*>(inout);
  for (int i = 0; i < *length; ++i, a += words, b += words) {
    pack(combined(unpack(a), unpack(b)), b);
    for (std::size_t w = kVoteWords; w < words; ++w) b[w] += a[w];
  }
}

void require(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw core::SystemError(std::string(call) + ": " + text.data());
}

// For a launcher to find out by itself before ranks end (scripts/mpirun): what mpirun then sends to
// a machine that is gone waits for an answer, and mpirun with it.
constexpr std::chrono::seconds kLauncherNotices{3};

using Host = std::array<char, MPI_MAX_PROCESSOR_NAME>;

// A line for a rank that has died, and what this one then does.
class Epitaph {
 public:
  void set(const std::string& text) {
    const std::lock_guard lock(mutex_);
    text_ = text;
  }
  // On the watch's thread, whatever this rank's other threads wait for.
  void end(const std::string& line, int exit_code) {
    if (!line.empty()) {
      const std::lock_guard lock(mutex_);
      std::fprintf(stderr, "%s; %s\n", line.c_str(), text_.c_str());
    }
    std::this_thread::sleep_for(kLauncherNotices);
    core::remove_all_temporaries();
    std::_Exit(exit_code);
  }

 private:
  std::mutex mutex_;
  std::string text_ = "the other ranks end";
};

PeerWatch* g_watch = nullptr;  // for a failed check, which knows no transport

void abort_all_ranks(int code) {
  if (g_watch != nullptr) g_watch->abandon(code);
  MPI_Abort(MPI_COMM_WORLD, code);
}

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
    mine_.resize(kVoteWords + ranks());
    all_.resize(mine_.size());
    MPI_Type_contiguous(static_cast<int>(mine_.size()), MPI_UINT64_T, &vote_type_);
    MPI_Type_commit(&vote_type_);
    MPI_Op_create(combine_votes, 1, &vote_op_);
    if (ranks_ > 1) start_watch();
    core::set_check_hook(abort_all_ranks);
  }
  ~MpiTransport() override {
    core::set_check_hook(nullptr);
    g_watch = nullptr;
    if (boards_ != MPI_WIN_NULL) MPI_Win_free(&boards_);
    MPI_Op_free(&vote_op_);
    MPI_Type_free(&vote_type_);
    MPI_Finalize();
    watch_.reset();  // a rank may die while the others wait in MPI_Finalize
  }

  [[nodiscard]] core::RankId rank() const override { return {static_cast<std::uint32_t>(rank_)}; }
  [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_); }

  [[nodiscard]] std::string library() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string all(text.data(), static_cast<std::size_t>(length));
    return all.substr(0, all.find(','));  // further down it is about who built it
  }
  [[nodiscard]] std::uint32_t machine_rank() const override {
    return static_cast<std::uint32_t>(machine_rank_);
  }
  [[nodiscard]] std::uint32_t machine_ranks() const override {
    return static_cast<std::uint32_t>(machine_ranks_);
  }

  void share_boards() override {
    if (ranks_ > 1 && machine_ranks_ == ranks_ && !shared_) share();
  }

  void set_epitaph(const std::string& text) override { epitaph_.set(text); }
  void abandon(int exit_code) override {
    if (watch_) watch_->abandon(exit_code);
  }

  GvtVote exchange(Outgoing outgoing, const GvtVote& vote, const EventReceiver& receive) override {
    const int tag = static_cast<int>(exchanges_++ % kEventTags);
    const GvtVote votes = shared_ ? exchange_in_memory(tag, outgoing, vote, receive)
                                  : exchange_in_messages(tag, outgoing, vote, receive);
    require(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
    sends_.clear();
    return votes;
  }

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
  void start_watch() {
    Host mine{};
    int length = 0;
    require(MPI_Get_processor_name(mine.data(), &length), "MPI_Get_processor_name");
    std::vector<Host> hosts(rank_ == 0 ? ranks() : 1);
    const int bytes = static_cast<int>(mine.size());
    require(MPI_Gather(mine.data(), bytes, MPI_CHAR, hosts[0].data(), bytes, MPI_CHAR, 0,
                       MPI_COMM_WORLD),
            "MPI_Gather");
    require(MPI_Bcast(hosts[0].data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
    PeerWatch::Setup setup;
    setup.rank = rank().value;
    for (const Host& host : hosts) setup.hosts.emplace_back(host.data());
    setup.speaks = machine_rank_ == 0 || (machine_rank_ == 1 && setup.hosts[0] == mine.data());
    setup.on_end = [this](const std::string& line, int code) { epitaph_.end(line, code); };
    watch_.emplace(std::move(setup));
    WatchContact contact;
    if (rank_ == 0) contact = watch_->listen();
    require(MPI_Bcast(&contact, sizeof contact, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    watch_->start(contact);
    g_watch = &*watch_;
  }

  void share() {  // all ranks are on this machine
    // MPI promises no alignment. Every process sees a board in the same place of a page.
    const std::size_t bytes =
        SharedExchange::board_bytes(ranks(), kBoardEvents) + SharedExchange::kLine;
    std::byte* mine = nullptr;
    MPI_Info apart;  // each board in pages of its own, which its rank is the first to touch
    MPI_Info_create(&apart);
    MPI_Info_set(apart, "alloc_shared_noncontig", "true");
    const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, apart, MPI_COMM_WORLD,
                                             static_cast<void*>(&mine), &boards_);
    MPI_Info_free(&apart);
    require(code, "MPI_Win_allocate_shared (EXAWARP_EXCHANGE=messages does without it)");
    SharedExchange::reserve(std::span(mine, bytes));
    std::vector<std::byte*> boards;
    for (int rank = 0; rank < ranks_; ++rank) {
      MPI_Aint size = 0;
      int unit = 0;
      std::byte* board = nullptr;
      require(MPI_Win_shared_query(boards_, rank, &size, &unit, static_cast<void*>(&board)),
              "MPI_Win_shared_query");
      void* start = board;
      std::size_t room = bytes;
      boards.push_back(static_cast<std::byte*>(
          std::align(SharedExchange::kLine, bytes - SharedExchange::kLine, start, room)));
    }
    barrier();  // until all boards are there, and zero
    shared_.emplace(rank().value, std::move(boards), kBoardEvents);
  }

  GvtVote exchange_in_memory(int tag, Outgoing outgoing, const GvtVote& vote,
                             const EventReceiver& receive) {
    const auto [votes, messages] = shared_->exchange(
        outgoing, vote, receive, [&](std::uint32_t to, std::span<const Event> rest) {
          return send(to, tag, rest);
        });
    for (std::uint64_t received = 0; received != messages;) received += poll(tag, receive);
    return votes;
  }

  GvtVote exchange_in_messages(int tag, Outgoing outgoing, const GvtVote& vote,
                               const EventReceiver& receive) {
    pack(vote, mine_.data());
    for (std::uint32_t to = 0; to < ranks(); ++to)
      mine_[kVoteWords + to] = send(to, tag, outgoing[to]);
    MPI_Request votes;
    require(
        MPI_Iallreduce(mine_.data(), all_.data(), 1, vote_type_, vote_op_, MPI_COMM_WORLD, &votes),
        "MPI_Iallreduce");
    std::uint64_t received = 0;
    for (int done = 0; done == 0;) {
      require(MPI_Test(&votes, &done, MPI_STATUS_IGNORE), "MPI_Test");
      received += poll(tag, receive);
    }
    while (received != all_[kVoteWords + rank().value]) received += poll(tag, receive);
    return unpack(all_.data());
  }

  // Starts sending; returns the number of messages.
  std::uint64_t send(std::uint32_t to, int tag, std::span<const Event> events) {
    std::uint64_t messages = 0;
    for (; !events.empty(); ++messages) {
      const auto part = events.first(std::min(events.size(), kMessageEventsMax));
      events = events.subspan(part.size());
      require(MPI_Isend(part.data(), static_cast<int>(part.size_bytes()), MPI_BYTE,
                        static_cast<int>(to), tag, MPI_COMM_WORLD, &sends_.emplace_back()),
              "MPI_Isend");
    }
    return messages;
  }

  // Delivers what has arrived; returns the number of messages.
  std::uint64_t poll(int tag, const EventReceiver& receive) {
    for (std::uint64_t messages = 0;; ++messages) {
      int found = 0;
      MPI_Message message;
      MPI_Status status;
      require(MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, &message, &status),
              "MPI_Improbe");
      if (found == 0) return messages;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      const std::size_t events = static_cast<std::size_t>(bytes) / sizeof(Event);
      if (incoming_.size() < events) incoming_.resize(events);
      require(MPI_Mrecv(incoming_.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE),
              "MPI_Mrecv");
      receive(std::span(incoming_).first(events));
    }
  }

  void reduce(std::span<std::uint64_t> values, MPI_Op op) {
    require(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                          MPI_UINT64_T, op, MPI_COMM_WORLD),
            "MPI_Allreduce");
  }

  Epitaph epitaph_;
  std::optional<PeerWatch> watch_;  // where there are others
  int rank_ = 0;
  int ranks_ = 1;
  int machine_rank_ = 0;
  int machine_ranks_ = 1;
  MPI_Datatype vote_type_ = MPI_DATATYPE_NULL;
  MPI_Op vote_op_ = MPI_OP_NULL;
  std::vector<std::uint64_t> mine_;  // this rank's vote and counts
  std::vector<std::uint64_t> all_;   // combined
  std::uint64_t exchanges_ = 0;
  std::vector<MPI_Request> sends_;
  MPI_Win boards_ = MPI_WIN_NULL;
  std::optional<SharedExchange> shared_;  // where all ranks are on one machine
  std::vector<Event> incoming_;  // as many as ever came at once
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
