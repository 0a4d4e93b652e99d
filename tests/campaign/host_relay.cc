// The network between the "hosts" that scripts/hosts makes of one machine, with a delay.
//
//     host_relay DELAY_NS NAMESPACE...
//
// Each network namespace gets a tunnel device `net0`, whose other end is here: a packet that one
// host sends is read, kept for DELAY_NS, and written to the host that it is for, the last byte of
// whose IPv4 address is its place in the list (from 1). The delay is the kernel's `tc netem` for
// kernels without it; a packet costs a read and a write, some 3 us of a core.
// Prints "ready" when the devices are there. SIGUSR1 cuts the last host off: from there on, what it
// sends and what is sent to it is lost without a word. Ends with SIGTERM.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t g_cut = 0;

struct Packet {
  Clock::time_point due;
  std::size_t to;
  std::vector<char> bytes;
};

[[noreturn]] void fail(const std::string& what) {
  std::perror(("host_relay: " + what).c_str());
  std::exit(1);
}

// The device stays in the namespace in which it was made.
int tunnel_in(const std::string& name) {
  const int space = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) fail(name);
  ::close(space);
  const int tunnel = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "net0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (tunnel < 0 || ::ioctl(tunnel, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
  return tunnel;
}

class Relay {
 public:
  Relay(std::chrono::nanoseconds delay, std::vector<int> tunnels)
      : delay_(delay), tunnels_(std::move(tunnels)) {}

  [[noreturn]] void run() {
    std::vector<pollfd> polled;
    for (const int tunnel : tunnels_) polled.push_back({tunnel, POLLIN, 0});
    for (;;) {
      timespec wait{};
      if (!kept_.empty())
        wait.tv_nsec = std::max(0L, static_cast<long>((kept_.front().due - Clock::now()).count()));
      ::ppoll(polled.data(), polled.size(), kept_.empty() ? nullptr : &wait, nullptr);
      for (std::size_t host = 0; host < tunnels_.size(); ++host) take_from(host);
      for (; !kept_.empty() && kept_.front().due <= Clock::now(); kept_.pop_front())
        deliver(kept_.front());
    }
  }

 private:
  static constexpr std::size_t kDestination = 19;  // the last byte of an IPv4 destination

  void take_from(std::size_t host) {
    for (;;) {
      const ssize_t size = ::read(tunnels_[host], buffer_.data(), buffer_.size());
      if (size <= 0) return;
      const std::size_t to = static_cast<unsigned char>(buffer_[kDestination]) - std::size_t{1};
      const bool ipv4 = (static_cast<unsigned char>(buffer_[0]) >> 4) == 4;
      const std::size_t last = tunnels_.size() - 1;
      if (!ipv4 || to > last || (g_cut != 0 && (host == last || to == last))) continue;
      kept_.push_back({Clock::now() + delay_, to, {buffer_.data(), buffer_.data() + size}});
    }
  }
  void deliver(const Packet& packet) const {  // where the host's queue is full it is lost
    [[maybe_unused]] const ssize_t size =
        ::write(tunnels_[packet.to], packet.bytes.data(), packet.bytes.size());
  }

  std::chrono::nanoseconds delay_;
  std::vector<int> tunnels_;
  std::deque<Packet> kept_;  // by time: the delay is the same for all
  std::array<char, 65536> buffer_{};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: host_relay DELAY_NS NAMESPACE NAMESPACE...\n", stderr);
    return 2;
  }
  std::vector<int> tunnels;
  for (int i = 2; i < argc; ++i) tunnels.push_back(tunnel_in(argv[i]));
  std::signal(SIGUSR1, [](int) { g_cut = 1; });
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sched_param first{};
  first.sched_priority = 1;  // as a network would, it goes on while all cores are taken
  ::sched_setscheduler(0, SCHED_FIFO, &first);
  std::puts("ready");
  std::fflush(stdout);
  Relay(std::chrono::nanoseconds(std::atoll(argv[1])), std::move(tunnels)).run();
}
