// The watch against a peer that the test plays over a socket of its own.
#include "pdes/peer_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <utility>

namespace exawarp::tests {
namespace {

using pdes::PeerWatch;
using pdes::WatchContact;
using Kind = PeerWatch::Kind;
using Frame = PeerWatch::Frame;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One end of a connection, played by the test.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}
  ~Peer() { hang_up(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void say(std::uint64_t cookie, Kind kind, std::uint32_t value) const {
    const Frame frame{cookie, kind, value};
    ASSERT_EQ(::send(socket_, &frame, sizeof frame, MSG_NOSIGNAL), ssize_t{sizeof frame});
  }
  // The next frame that is no beat.
  [[nodiscard]] Frame hear() const {
    Frame frame = hear_any();
    while (frame.kind == Kind::beat) frame = hear_any();
    return frame;
  }
  [[nodiscard]] Frame hear_any() const {
    Frame frame{};
    EXPECT_EQ(::recv(socket_, &frame, sizeof frame, MSG_WAITALL), ssize_t{sizeof frame});
    return frame;
  }
  void hang_up() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
};

using End = std::pair<std::string, int>;

// A watch of `rank` in a run of three, and what it ends with.
struct Watched {
  explicit Watched(std::uint32_t rank, std::chrono::milliseconds tick, bool speaks = true)
      : watch({.rank = rank,
               .hosts = {"a", "b", "c"},
               .speaks = speaks,
               .tick = tick,
               .on_end = [this](const std::string& line, int code) {
                 ended.set_value({line, code});
               }}) {}
  End end() { return ended.get_future().get(); }

  std::promise<End> ended;
  PeerWatch watch;
};

constexpr std::chrono::milliseconds kShort{1};
constexpr std::chrono::milliseconds kMedium{50};    // for what must come before five ticks are over
constexpr std::chrono::milliseconds kLong{60'000};  // no tick in the test

// Rank 0, and others that have joined.
struct First : Watched {
  explicit First(std::chrono::milliseconds tick) : Watched(0, tick), contact(watch.listen()) {
    watch.start(contact);
  }
  std::unique_ptr<Peer> dial() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(contact.port);
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return std::make_unique<Peer>(socket);
  }
  std::unique_ptr<Peer> join(std::uint32_t rank) const {
    auto peer = dial();
    peer->say(contact.cookie, Kind::hello, rank);
    EXPECT_EQ(peer->hear_any().cookie, contact.cookie);
    return peer;
  }
  WatchContact contact;
};

// Another rank, whose rank 0 the test plays.
struct Other : Watched {
  explicit Other(std::chrono::milliseconds tick, bool speaks = true) : Watched(1, tick, speaks) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    WatchContact contact{.cookie = kCookie, .addresses = 1, .port = ntohs(address.sin_port)};
    contact.ipv4[0] = address.sin_addr.s_addr;
    watch.start(contact);
    first = std::make_unique<Peer>(::accept(listener, nullptr, nullptr));
    ::close(listener);
    const Frame hello = first->hear_any();
    EXPECT_EQ(hello.kind, Kind::hello);
    EXPECT_EQ(hello.value, 1u);
    first->say(kCookie, Kind::beat, 0);
  }
  static constexpr std::uint64_t kCookie = 42;
  std::unique_ptr<Peer> first;
};

TEST(PeerWatch, AnEndWithoutFarewellIsADeathAndTheOthersAreTold) {
  First first(kLong);
  const auto one = first.join(1);
  const auto two = first.join(2);
  two->hang_up();
  EXPECT_EQ(first.end(), End("rank 2 on c died", 4));
  const Frame told = one->hear();
  EXPECT_EQ(told.kind, Kind::died);
  EXPECT_EQ(told.value, 2u);
}

TEST(PeerWatch, AnEndAfterFarewellIsNone) {
  First first(kLong);
  const auto one = first.join(1);
  one->say(first.contact.cookie, Kind::farewell, 0);
  one->hang_up();
  first.join(2)->hang_up();
  EXPECT_EQ(first.end().first, "rank 2 on c died");
}

TEST(PeerWatch, SilenceIsADeath) {
  First first(kShort);
  const auto one = first.join(1);
  const auto [line, code] = first.end();
  EXPECT_EQ(line, "rank 1 on b died, or is cut off: nothing heard for 5 s");
  EXPECT_EQ(code, 4);
}

TEST(PeerWatch, StrangersAreIgnored) {
  First first(kLong);
  const auto stranger = first.dial();
  stranger->say(first.contact.cookie + 1, Kind::hello, 1);
  stranger->hang_up();
  first.dial()->hang_up();
  const auto nobody = first.dial();
  nobody->say(first.contact.cookie, Kind::hello, 3);  // of a run of three
  nobody->hang_up();
  first.join(2)->hang_up();
  EXPECT_EQ(first.end().first, "rank 2 on c died");
}

TEST(PeerWatch, RankZeroSaysFarewell) {
  auto first = std::make_unique<First>(kLong);
  const auto one = first->join(1);
  first.reset();
  EXPECT_EQ(one->hear().kind, Kind::farewell);
}

TEST(PeerWatch, AnAbandonedRunEndsInSilenceWithItsCode) {
  First first(kMedium);
  const auto two = first.join(2);
  two->say(first.contact.cookie, Kind::abandoned, 3);
  two->hang_up();
  EXPECT_EQ(first.end(), End("", 3));
}

TEST(PeerWatch, RankZeroPassesOnThatTheRunIsAbandoned) {
  First first(kLong);
  const auto one = first.join(1);
  first.join(2)->say(first.contact.cookie, Kind::abandoned, 3);
  const Frame told = one->hear();
  EXPECT_EQ(told.kind, Kind::abandoned);
  EXPECT_EQ(told.value, 3u);
}

TEST(PeerWatch, AbandoningTellsTheOthers) {
  Other other(kLong);
  other.watch.abandon(4);
  const Frame told = other.first->hear();
  EXPECT_EQ(told.kind, Kind::abandoned);
  EXPECT_EQ(told.value, 4u);
}

TEST(PeerWatch, OthersEndInSilenceWhereRankZeroHasSpoken) {
  Other other(kLong);
  other.first->say(Other::kCookie, Kind::died, 2);
  EXPECT_EQ(other.end(), End("", 4));
}

TEST(PeerWatch, OneRankOfAMachineSaysThatRankZeroIsGone) {
  for (const bool speaks : {true, false}) {
    Other other(kMedium, speaks);
    other.first->hang_up();
    EXPECT_EQ(other.end(), End(speaks ? "rank 0 on a died" : "", 4));
  }
}

TEST(PeerWatch, OthersSayFarewell) {
  auto other = std::make_unique<Other>(kLong);
  const auto first = std::move(other->first);
  other.reset();
  EXPECT_EQ(first->hear().kind, Kind::farewell);
}

}  // namespace
}  // namespace exawarp::tests
