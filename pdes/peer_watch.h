// Notices when a rank of the run is gone: its process killed, its machine off, its network cut.
//
// MPI promises nothing there: a rank that waits for one that is gone may wait for ever, and a
// launcher sees only the processes of its own machine. So each rank has a thread that keeps a TCP
// connection with rank 0 and says every tick that it is there. A connection that ends without a
// farewell is a death; so is silence for kSilentTicks. Rank 0 tells the others, and all end. A
// rank whose connection cannot be made is not watched: the launcher is left to notice.
//
// Ticks are counted, not seconds: a rank that was itself stopped and goes on has missed ticks of
// its own, and takes nobody else for dead.
//
// Owner: the transport. The thread sleeps but for a tick a second; it makes no MPI call.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace exawarp::pdes {

// Where rank 0 listens; plain bytes, as the others get them from it.
struct WatchContact {
  static constexpr std::size_t kAddressesMax = 16;
  std::uint64_t cookie = 0;  // of this run: another program may have such an address and port
  std::uint32_t addresses = 0;
  std::uint16_t port = 0;                           // 0: rank 0 could not listen
  std::array<std::uint32_t, kAddressesMax> ipv4{};  // in the network's order
};

class PeerWatch {
 public:
  static constexpr std::uint32_t kSilentTicks = 5;
  // What goes over a connection.
  enum class Kind : std::uint32_t { hello, beat, farewell, abandoned, died };
  struct Frame {
    std::uint64_t cookie;
    Kind kind;
    std::uint32_t value;  // hello: the rank; abandoned: the exit code
  };

  // What the run ends with: a line for people, empty where another rank has it; an exit code.
  using OnEnd = std::function<void(const std::string& line, int exit_code)>;
  struct Setup {
    std::uint32_t rank = 0;
    std::vector<std::string> hosts;  // rank 0: of each rank; others: of rank 0
    bool speaks = true;              // says so where rank 0 is gone; of each machine, one rank
    std::chrono::milliseconds tick{1000};
    OnEnd on_end;  // called at most once, on the watch's thread
  };

  explicit PeerWatch(Setup setup);
  // Says farewell: nobody takes this rank's end for a death.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Rank 0, first: opens the port, for the others to start(). Port 0 in it: the system refused.
  [[nodiscard]] WatchContact listen();
  // Begins; on rank 0 with what listen() gave.
  void start(const WatchContact& contact);
  // This rank is about to end with `exit_code`, and has said why: the others follow in silence, if
  // the launcher does not end them before. Returns when they are told. Any thread but the watch's.
  void abandon(int exit_code);

 private:
  struct Link {
    int socket = -1;
    std::uint32_t rank = 0;
    bool known = false;  // has said hello, or is rank 0
    std::uint32_t silent_ticks = 0;
    std::size_t received = 0;  // bytes of the next frame
    std::array<std::byte, sizeof(Frame)> bytes{};
  };

  void watch();
  [[nodiscard]] bool wait();  // for a tick or news; false: to stop
  void tick();
  void accept_one();
  void connect_to_first();
  void greet(std::uint32_t ipv4);
  void read(Link& link);
  void take(Link& link, const Frame& frame);
  void lose(Link& link);
  void tell(Kind kind, std::uint32_t value);
  void send(const Link& link, Kind kind, std::uint32_t value) const;
  void died(const Link& link, bool silent);
  void end(const std::string& line, int exit_code);
  void close_all();
  [[nodiscard]] std::string name(const Link& link) const;

  Setup setup_;
  WatchContact contact_;
  int listener_ = -1;
  int wake_ = -1;  // an eventfd: stopping_ or abandoning_ has changed
  std::vector<Link> links_;
  std::uint32_t joined_ = 0;           // ranks that have said hello
  std::uint32_t ending_in_ticks_ = 0;  // 0: going on
  int ending_code_ = 0;
  bool ended_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<int> abandoning_{-1};  // the exit code
  std::atomic<bool> told_{false};
  std::thread thread_;
};

}  // namespace exawarp::pdes
