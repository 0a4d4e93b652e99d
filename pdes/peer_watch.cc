// A star: rank 0 accepts, every other rank connects to it, and a frame goes each way every tick.
// Frames are of one size and carry the run's cookie; a connection without it is dropped.
#include "pdes/peer_watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace exawarp::pdes {
namespace {

constexpr int kAnswerMs = 2000;  // for another machine to answer a connection
// For the launcher to end the others before they do so themselves.
constexpr std::uint32_t kTicksAfterAbandoned = 3;

sockaddr_in address_of(std::uint32_t ipv4, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = ipv4;
  return address;
}

bool answers(int socket, short event) {
  pollfd polled{socket, event, 0};
  return ::poll(&polled, 1, kAnswerMs) == 1 && (polled.revents & event) != 0;
}

bool has_news(int wake) {
  pollfd polled{wake, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

void close_socket(int& socket) {
  if (socket >= 0) ::close(socket);
  socket = -1;
}

}  // namespace

PeerWatch::PeerWatch(Setup setup)
    : setup_(std::move(setup)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

PeerWatch::~PeerWatch() {
  stopping_.store(true, std::memory_order_release);  // pairs with wait()
  if (wake_ >= 0) ::eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  close_all();
  close_socket(wake_);
}

WatchContact PeerWatch::listen() {
  WatchContact contact;
  if (::getrandom(&contact.cookie, sizeof contact.cookie, 0) != sizeof contact.cookie) return {};
  contact.ipv4[contact.addresses++] = htonl(INADDR_LOOPBACK);
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
      sockaddr_in address;
      std::memcpy(&address, one->ifa_addr, sizeof address);
      const std::uint32_t ipv4 = address.sin_addr.s_addr;
      if (ipv4 == contact.ipv4[0] || contact.addresses == contact.ipv4.size()) continue;
      contact.ipv4[contact.addresses++] = ipv4;
    }
    ::freeifaddrs(all);
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in any = address_of(htonl(INADDR_ANY), 0);
  socklen_t size = sizeof any;
  const int backlog = static_cast<int>(setup_.hosts.size());
  if (listener_ >= 0 && ::bind(listener_, reinterpret_cast<sockaddr*>(&any), size) == 0 &&
      ::listen(listener_, backlog) == 0 &&
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size) == 0)
    contact.port = ntohs(any.sin_port);
  return contact;
}

void PeerWatch::start(const WatchContact& contact) {
  contact_ = contact;
  if (contact.port == 0 || wake_ < 0) return;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);  // signals are for the threads that expect them
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), "peer_watch");
}

void PeerWatch::abandon(int exit_code) {
  if (!thread_.joinable()) return;
  abandoning_.store(exit_code, std::memory_order_release);  // pairs with wait()
  ::eventfd_write(wake_, 1);
  for (int waited_ms = 0; waited_ms < 200 && !told_.load(std::memory_order_acquire); ++waited_ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void PeerWatch::watch() {
  if (setup_.rank != 0) connect_to_first();
  while (!ended_ && wait()) tick();
  if (!ended_) tell(Kind::farewell, 0);
  close_all();
}

bool PeerWatch::wait() {
  const auto until = std::chrono::steady_clock::now() + setup_.tick;
  while (!ended_) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return true;
    std::vector<pollfd> polled{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Link& link : links_) polled.push_back({link.socket, POLLIN, 0});
    if (::poll(polled.data(), polled.size(), static_cast<int>(left.count())) <= 0) continue;
    if (polled[0].revents != 0) {
      eventfd_t count = 0;
      ::eventfd_read(wake_, &count);
      if (const int code = abandoning_.load(std::memory_order_acquire); code >= 0) {
        tell(Kind::abandoned, static_cast<std::uint32_t>(code));
        told_.store(true, std::memory_order_release);  // pairs with abandon()
      }
      if (stopping_.load(std::memory_order_acquire)) return false;
    }
    for (std::size_t i = 2; i < polled.size() && !ended_; ++i)
      if (polled[i].revents != 0) read(links_[i - 2]);
    if (polled[1].revents != 0 && !ended_) accept_one();
    std::erase_if(links_, [](const Link& link) { return link.socket < 0; });
  }
  return true;
}

void PeerWatch::tick() {
  if (ended_) return;
  if (ending_in_ticks_ != 0) {
    if (--ending_in_ticks_ == 0) end("", ending_code_);
    return;
  }
  tell(Kind::beat, 0);
  for (Link& link : links_) {
    if (++link.silent_ticks < kSilentTicks || ended_) continue;
    if (link.known) {
      died(link, true);
    } else {
      close_socket(link.socket);
    }
  }
}

void PeerWatch::accept_one() {
  Link link;
  link.socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (link.socket >= 0) {
    links_.push_back(link);
  } else if (errno == EMFILE || errno == ENFILE) {
    close_socket(listener_);  // the rest of the ranks go unwatched
  }
}

void PeerWatch::connect_to_first() {
  for (std::uint32_t i = 0; i < contact_.addresses && links_.empty() && !has_news(wake_); ++i)
    greet(contact_.ipv4[i]);
}

// Leaves a link where rank 0 is at the address: it answers with the cookie.
void PeerWatch::greet(std::uint32_t ipv4) {
  const sockaddr_in address = address_of(ipv4, contact_.port);
  Link link;
  link.known = true;
  link.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (link.socket < 0) return;
  const int code =
      ::connect(link.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  // Once it has said hello, a rank has to say farewell: from there on, stopping waits.
  bool answered =
      (code == 0 || errno == EINPROGRESS) && answers(link.socket, POLLOUT) && !has_news(wake_);
  if (answered) {
    send(link, Kind::hello, setup_.rank);
    Frame frame{};
    answered = answers(link.socket, POLLIN) &&
               ::recv(link.socket, &frame, sizeof frame, 0) == sizeof frame &&
               frame.cookie == contact_.cookie;
  }
  if (answered) {
    links_.push_back(link);
  } else {
    close_socket(link.socket);
  }
}

void PeerWatch::read(Link& link) {
  while (link.socket >= 0 && !ended_) {
    const ssize_t bytes = ::recv(link.socket, link.bytes.data() + link.received,
                                 link.bytes.size() - link.received, 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes <= 0) return lose(link);
    link.received += static_cast<std::size_t>(bytes);
    if (link.received < sizeof(Frame)) continue;
    Frame frame;
    std::memcpy(&frame, link.bytes.data(), sizeof frame);
    link.received = 0;
    take(link, frame);
  }
}

void PeerWatch::take(Link& link, const Frame& frame) {
  link.silent_ticks = 0;
  if (frame.cookie != contact_.cookie) return close_socket(link.socket);
  switch (frame.kind) {
    case Kind::hello:
      if (link.known || frame.value == 0 || frame.value >= setup_.hosts.size()) break;
      link.rank = frame.value;
      link.known = true;
      send(link, Kind::beat, 0);
      if (++joined_ + 1 == setup_.hosts.size()) close_socket(listener_);
      break;
    case Kind::beat:
      break;
    case Kind::farewell:
      close_socket(link.socket);
      break;
    case Kind::abandoned:
      close_socket(link.socket);
      if (setup_.rank == 0) tell(Kind::abandoned, frame.value);
      ending_code_ = static_cast<int>(frame.value);
      ending_in_ticks_ = kTicksAfterAbandoned;
      break;
    case Kind::died:
      end("", core::kSystemErrorExitCode);
      break;
  }
}

// The connection has ended without a farewell.
void PeerWatch::lose(Link& link) {
  if (!link.known || ending_in_ticks_ != 0) return close_socket(link.socket);
  if (setup_.rank == 0) return died(link, false);
  // A launcher that ends all ranks ends rank 0 first, or nearly: this one is then about to go, too.
  pollfd wake{wake_, POLLIN, 0};
  ::poll(&wake, 1, static_cast<int>(setup_.tick.count() / 2));
  if (wake.revents != 0) return close_socket(link.socket);
  died(link, false);
}

void PeerWatch::died(const Link& link, bool silent) {
  std::string line = name(link);
  if (silent) {
    const auto others = std::count_if(links_.begin(), links_.end(), [&](const Link& other) {
      return &other != &link && other.known && other.silent_ticks + 1 >= kSilentTicks;
    });
    if (others != 0) line += " and " + std::to_string(others) + " more";
    line += " died, or is cut off: nothing heard for " + std::to_string(kSilentTicks) + " s";
  } else {
    line += " died";
  }
  tell(Kind::died, link.rank);
  end(setup_.rank == 0 || setup_.speaks ? line : "", core::kSystemErrorExitCode);
}

void PeerWatch::end(const std::string& line, int exit_code) {
  ended_ = true;
  setup_.on_end(line, exit_code);
}

std::string PeerWatch::name(const Link& link) const {
  return "rank " + std::to_string(link.rank) + " on " + setup_.hosts[link.rank];
}

void PeerWatch::tell(Kind kind, std::uint32_t value) {
  for (const Link& link : links_)
    if (link.known && link.socket >= 0) send(link, kind, value);
}

// A frame always fits the socket's buffer while the other side reads; where it does not, silence is
// noticed.
void PeerWatch::send(const Link& link, Kind kind, std::uint32_t value) const {
  const Frame frame{contact_.cookie, kind, value};
  [[maybe_unused]] const ssize_t bytes =
      ::send(link.socket, &frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void PeerWatch::close_all() {
  for (Link& link : links_) close_socket(link.socket);
  links_.clear();
  close_socket(listener_);
}

}  // namespace exawarp::pdes
