// The network of queues: arrivals, services and transfers as events, in the order in which
// docs/guide/writing_a_model.md explains them.
#include "docs/examples/queueing_network/network.h"

#include "core/check.h"
#include "core/exponential.h"
#include "core/random.h"

namespace exawarp::examples {
namespace {

using pdes::Context;
using pdes::Event;

enum Kind : pdes::EventKind {
  kEnter,   // a customer comes from outside
  kArrive,  // a customer comes from a station
  kServed,  // the first customer's service is over
};

struct Entry {
  std::uint64_t number;  // customers that entered here before
};
struct Visit {
  Time entered;  // the network
};

// What a draw is for: each purpose is a stream of its own, numbered by what it is drawn for.
enum class Purpose : std::uint64_t { entry, service, route };

std::uint64_t draw(const Context& ctx, Purpose purpose, std::uint64_t number) {
  const std::uint64_t stream =
      core::stream_of(ctx.seed(), ctx.self().value, static_cast<std::uint64_t>(purpose));
  return core::random_bits(stream, number);
}

const StationSpec& spec_here(const Context& ctx) {
  return ctx.model<Network>().spec().stations[ctx.self().value];
}

// Before the number of customers changes: adds the area under it since the last change.
void account_area(Station::State& s, Context& ctx) {
  const auto elapsed_ps = static_cast<std::uint64_t>((ctx.now() - s.changed).ps);
  ctx.add(s.area_ps, s.customers.size() * elapsed_ps);
  ctx.set(s.changed, ctx.now());
}

void start_service(const Station::State& s, Context& ctx) {
  const std::uint64_t bits = draw(ctx, Purpose::service, s.served);
  ctx.send(ctx.self(), core::exponential(spec_here(ctx).service, bits), kServed);
}

void join_queue(Station::State& s, Time entered, Context& ctx) {
  account_area(s, ctx);
  s.customers.push_back(ctx, Customer{.entered = entered, .arrived = ctx.now()});
  if (s.customers.size() == 1) start_service(s, ctx);
}

void schedule_entry(std::uint64_t number, Context& ctx) {
  const Time interval = spec_here(ctx).entry_interval;
  if (interval == Time{0}) return;
  const std::uint64_t bits = draw(ctx, Purpose::entry, number);
  ctx.send(ctx.self(), core::exponential(interval, bits), kEnter, Entry{number});
}

// Sends a customer to a station drawn from the routes, or out of the network.
void send_on(const Station::State& s, const Customer& customer, Context& ctx) {
  std::uint64_t left = draw(ctx, Purpose::route, s.served) % 1000;
  for (const Route& route : spec_here(ctx).routes) {
    if (left < route.permille) {
      const Time transfer = ctx.model<Network>().spec().transfer;
      return ctx.send(LpId{route.to}, transfer, kArrive, Visit{customer.entered});
    }
    left -= route.permille;
  }
  ctx.emit(kLeftChannel, static_cast<std::uint64_t>((ctx.now() - customer.entered).ps));
}

void finish_service(Station::State& s, Context& ctx) {
  if (s.customers.empty()) return ctx.check(false, "a service ended at an empty station");
  const Customer customer = s.customers[0];
  account_area(s, ctx);
  s.customers.erase(ctx, 0);
  ctx.add(s.sojourn_ps, static_cast<std::uint64_t>((ctx.now() - customer.arrived).ps));
  send_on(s, customer, ctx);
  ctx.add(s.served, 1);
  if (!s.customers.empty()) start_service(s, ctx);
}

}  // namespace

void Station::handle(State& s, const Event& event, Context& ctx) {
  switch (event.kind) {
    case kEnter:
      join_queue(s, ctx.now(), ctx);
      schedule_entry(event.as<Entry>().number + 1, ctx);
      return;
    case kArrive:
      return join_queue(s, event.as<Visit>().entered, ctx);
    case kServed:
      return finish_service(s, ctx);
    default:
      return ctx.check(false, "a station received an event of no known kind");
  }
}

void Station::describe(State& s, pdes::StateArchive& archive) {
  archive.word(s.served);
  archive.word(s.sojourn_ps);
  archive.word(s.area_ps);
  archive.word(s.changed);
  s.customers.describe(archive, [&](Customer& customer) {
    archive.word(customer.entered);
    archive.word(customer.arrived);
  });
}

Network::Network(NetworkSpec spec)
    : spec_(std::move(spec)),
      type_(pdes::make_lp_type<Station>("station")),
      range_{
          .first = LpId{0}, .count = static_cast<std::uint32_t>(spec_.stations.size()), .type = 0} {
  EXAWARP_CHECK(range_.count >= 1 && spec_.transfer >= Time{1}, range_.count, spec_.transfer.ps);
  for (const StationSpec& station : spec_.stations) {
    EXAWARP_CHECK(station.service >= Time{1} && station.entry_interval >= Time{0},
                  station.service.ps, station.entry_interval.ps);
    std::uint64_t permille = 0;
    for (const Route& route : station.routes) {
      EXAWARP_CHECK(route.to < range_.count, route.to, range_.count);
      permille += route.permille;
    }
    EXAWARP_CHECK(permille <= 1000, permille);
  }
}

void Network::initialise(LpId, void*, Context& ctx) const { schedule_entry(0, ctx); }

StationMeans means_of(const Station::State& s, Time end) {
  const auto rest_ps = static_cast<double>((end - s.changed).ps);
  const double area_ps = static_cast<double>(s.area_ps) + s.customers.size() * rest_ps;
  const auto served = static_cast<double>(s.served);
  return {.customers = area_ps / static_cast<double>(end.ps),
          .sojourn_s = s.served == 0 ? 0 : static_cast<double>(s.sojourn_ps) * 1e-12 / served,
          .served = s.served};
}

void Departures::deliver(core::PartitionId partition, const pdes::Emission& emission) {
  Sum& sum = sums_[partition.value];
  ++sum.customers;
  sum.time_ps += emission.a;
}

Departures::Sum Departures::total() const {
  Sum all;
  for (const Sum& sum : sums_) {
    all.customers += sum.customers;
    all.time_ps += sum.time_ps;
  }
  return all;
}

NetworkSpec example_network() {
  using namespace core::literals;
  NetworkSpec spec{.stations = {}, .transfer = 200_ns};
  constexpr std::uint32_t kStations = 12;
  for (std::uint32_t i = 0; i < kStations; ++i) {
    spec.stations.push_back(
        {.entry_interval = i % 2 == 0 ? 2_us + 250_ns * i : 0_ps,
         .service = 650_ns + 40_ns * i,
         .routes = {{(i + 1) % kStations, 400}, {i * i % kStations, 150}, {i, 50}}});
  }
  return spec;
}

}  // namespace exawarp::examples
