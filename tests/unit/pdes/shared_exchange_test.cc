// Boards between threads, where the sanitizers see who reads what: an exchange keeps its promises,
// and so does what the boards have no room for.
#include "pdes/shared_exchange.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "tests/unit/pdes/exchange_check.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

constexpr std::uint32_t kRanks = 3;

// The other way: a letter a message, kept by destination and sender.
struct Post {
  std::mutex mutex;
  std::map<std::uint32_t, std::vector<std::vector<Event>>> letters;
};

struct alignas(SharedExchange::kLine) Line {
  std::byte bytes[SharedExchange::kLine];
};

class BoardTransport final : public Transport {
 public:
  BoardTransport(std::uint32_t rank, std::vector<std::byte*> boards, std::size_t room, Post& post)
      : rank_(rank), exchange_(rank, std::move(boards), room), post_(post) {}

  [[nodiscard]] core::RankId rank() const override { return {rank_}; }
  [[nodiscard]] std::uint32_t ranks() const override { return kRanks; }
  GvtVote exchange(Outgoing outgoing, const GvtVote& vote, const EventReceiver& receive) override {
    const auto [votes, messages] = exchange_.exchange(
        outgoing, vote, receive, [this](std::uint32_t to, std::span<const Event> rest) {
          const std::scoped_lock lock(post_.mutex);
          post_.letters[to].emplace_back(rest.begin(), rest.end());
          return std::uint64_t{1};
        });
    // Letters are posted before their sender's board is complete.
    const std::scoped_lock lock(post_.mutex);
    auto& mine = post_.letters[rank_];
    for (std::uint64_t i = 0; i < messages; ++i) {
      receive(mine.front());
      mine.erase(mine.begin());
    }
    return votes;
  }
  void all_reduce_sum(std::span<std::uint64_t>) override {}
  void all_reduce_max(std::span<std::uint64_t>) override {}
  std::vector<std::byte> gather(std::span<const std::byte>) override { return {}; }
  void barrier() override {}

 private:
  std::uint32_t rank_;
  SharedExchange exchange_;
  Post& post_;
};

void exchange_with_room_for(std::size_t room) {
  std::vector<std::vector<Line>> memory;
  std::vector<std::byte*> boards;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    memory.emplace_back(SharedExchange::board_bytes(kRanks, room) / sizeof(Line));
    boards.push_back(memory.back().front().bytes);
  }
  Post post;
  std::vector<std::jthread> threads;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      BoardTransport transport(r, boards, room, post);
      EXPECT_EQ(tests::faults_in_exchanges(transport, 0), "");
    });
  }
}

TEST(SharedExchange, DeliversAllThatWasSentInIt) { exchange_with_room_for(20'000); }
TEST(SharedExchange, DeliversWhatTheBoardsHaveNoRoomFor) { exchange_with_room_for(64); }
TEST(SharedExchange, DeliversWithoutAnyRoom) { exchange_with_room_for(0); }

// A mapping of two pages on a file of `bytes`: what lies behind the file's end can no longer be
// written than shared memory on a full file system.
class Window {
 public:
  explicit Window(off_t bytes) : file_(::memfd_create("exawarp_board", 0)) {
    EXPECT_EQ(::ftruncate(file_, bytes), 0);
    memory_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    ::munmap(memory_, kBytes);
    ::close(file_);
  }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(memory_), kBytes};
  }

  static constexpr std::size_t kBytes = 8'192;

 private:
  int file_;
  void* memory_ = nullptr;
};

TEST(SharedExchange, ReservesABoardAndMakesItZero) {
  const Window window(Window::kBytes);
  window.bytes().front() = window.bytes().back() = std::byte{1};
  SharedExchange::reserve(window.bytes());
  EXPECT_EQ(window.bytes().front(), std::byte{0});
  EXPECT_EQ(window.bytes().back(), std::byte{0});
}

TEST(SharedExchange, SaysWhereThereIsNoRoomForABoard) {
  const Window window(Window::kBytes / 2);
  try {
    SharedExchange::reserve(window.bytes());
    FAIL();
  } catch (const core::SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("EXAWARP_EXCHANGE=messages"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace exawarp::tests
