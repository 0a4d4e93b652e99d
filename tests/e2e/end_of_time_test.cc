// Simulated time that runs out: exit code 2 and the operation, never a wrong time, a fault or a
// run without end. On a grid of rates, sizes and latencies a run is either refused, or takes no
// less than its bytes take on its links.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/astra_set_up.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

constexpr double kEndPs = 0x1p62;
const std::string kPasses = "simulated time passes 53 days: ";

class EndOfTime : public testing::Test {
 protected:
  EndOfTime() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
    workspace.write("pair.yaml", "microbenchmark: {kind: ping_pong, bytes: 1 B}\n");
    workspace.write("group.yaml",
                    "microbenchmark: {kind: collective, collective: all_reduce, devices: 8, "
                    "bytes: 1 B}\n");
  }
  Ran run(const std::vector<std::string>& overrides, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", "study.yaml", "--json"});
    for (const std::string& text : overrides) more.insert(more.end(), {"--set", text});
    return workspace.run(more);
  }
  // One line that starts as it should; nothing printed, and no results.
  void expect_refused(const Ran& ran, const std::string& place = "study.yaml") const {
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(kPasses), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    EXPECT_TRUE(ran.err.starts_with(place)) << ran.err;
    EXPECT_FALSE(workspace.has("results/tiny"));
  }
  const Workspace workspace;
};

TEST_F(EndOfTime, AMessageThatTakesLongerIsRefusedAtEveryFidelityAndNamed) {
  for (const std::string fidelity : {"analytical", "message", "packet"}) {
    SCOPED_TRACE(fidelity);
    const Ran ran = run({"workload=pair.yaml", "workload.microbenchmark.bytes=1000 GB",
                         "system.fabric.node.bandwidth=100 KB/s", "network.fidelity=" + fidelity});
    expect_refused(ran, "");
    EXPECT_NE(ran.err.find("nodes[0]: " + kPasses + "this node sends 1 x 1000000000000 bytes at "
                           "100000 B/s"), std::string::npos) << ran.err;
  }
}

// Where the time is not known beforehand, the run reaches its end, in every mode; by all interfaces
// of a node it would be over in time.
TEST_F(EndOfTime, EveryModeEndsWithTheSameLine) {
  const std::vector<std::string> slow{"workload=group.yaml", "workload.microbenchmark.bytes=1 TB",
                                      "system.fabric.scale_out.bandwidth=100 KB/s",
                                      "collectives={rules: [{algorithm: ring, channels: 1}]}"};
  for (const std::string fidelity : {"analytical", "message"}) {
    std::vector<std::string> overrides = slow;
    overrides.push_back("network.fidelity=" + fidelity);
    const Ran first = run(overrides, {"--sync", "sequential"});
    expect_refused(first);
    EXPECT_NE(first.err.find("in group \"all\""), std::string::npos) << first.err;
    EXPECT_NE(first.err.find("(931 GiB at 97.7 KiB/s)"), std::string::npos) << first.err;
    for (const char* threads : {"1", "2"}) {
      for (const char* sync : {"conservative", "optimistic"}) {
        const Ran ran = run(overrides, {"--sync", sync, "--threads", threads});
        EXPECT_EQ(ran.exit_code, 2) << sync << threads;
        EXPECT_EQ(ran.err, first.err) << sync << threads;
      }
    }
  }
}

TEST_F(EndOfTime, ManyNodesThatFitOneByOneAreRefusedBeforeTimeZero) {
  const Ran ran = run({"workload=pair.yaml", "workload.microbenchmark.bytes=100 GB",
                       "workload.microbenchmark.repeats=1000",
                       "system.fabric.node.bandwidth=100 KB/s"});
  expect_refused(ran, "");
  EXPECT_NE(ran.err.find("sends 1 x 100000000000 bytes at 100000 B/s"), std::string::npos)
      << ran.err;
}

TEST_F(EndOfTime, DevicesThatAreSlowForEverAreNamed) {
  const Ran ran = run({"compute.jitter={distribution: lognormal, deviation: 2}",
                       "system.accelerator.matrix_rate.bf16=1 MFLOP/s",
                       "faults.slow_devices=[{devices: [3], factor: 1000000}]"});
  expect_refused(ran);
  EXPECT_NE(ran.err.find("device 3 "), std::string::npos) << ran.err;
}

TEST_F(EndOfTime, MessagesOfMorePacketsThanCanBeCountedAreRefused) {
  const Ran ran = run({"workload=pair.yaml", "workload.microbenchmark.bytes=1 TB",
                       "network={fidelity: packet, inside_nodes: packet, packet: "
                       "{packet_size: 64 B, control_size: 1 B}}"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("is 2147483648 packets or more"), std::string::npos) << ran.err;
}

struct Corner {
  std::string kind;   // workload
  double bytes = 0;
  double bytes_per_s = 0;
  double latency_s = 0;
  std::string fidelity;
};

// The least and the most a corner can take; the latter generously.
double least_ps(const Corner& c) {
  const double share = c.kind == "pair" ? 2 : 1;  // there and back; or 2 (n - 1) / n
  return share * c.bytes / c.bytes_per_s * 1e12;
}
double most_ps(const Corner& c) {
  constexpr double kSteps = 64;
  return kSteps * (c.bytes / c.bytes_per_s + c.latency_s + 1) * 1e12;
}

TEST_F(EndOfTime, OnAGridOfExtremesARunIsSoundOrRefused) {
  int done = 0, refused = 0;
  const auto at_corner = [&](const Corner& c) {
    SCOPED_TRACE(c.kind + " " + c.fidelity + " " + std::to_string(c.bytes) + " B at " +
                 std::to_string(c.bytes_per_s) + " B/s, " + std::to_string(c.latency_s) + " s");
    const std::string bandwidth = std::to_string(static_cast<long>(c.bytes_per_s)) + " B/s";
    const std::string latency = std::to_string(static_cast<long>(c.latency_s * 1e12)) + " ps";
    const Ran ran =
        run({"workload=" + c.kind + ".yaml",
             "workload.microbenchmark.bytes=" + std::to_string(static_cast<long>(c.bytes)) + " B",
             "system.fabric.node.bandwidth=" + bandwidth, "system.fabric.node.latency=" + latency,
             "system.fabric.scale_out.bandwidth=" + bandwidth,
             "system.fabric.scale_out.link_latency=" + latency,
             "network={fidelity: " + c.fidelity + "}"},
            {"--sync", "sequential"});
    if (ran.exit_code == 0) {
      const double ps = json::parse(ran.out)["simulated_time_ps"].get<double>();
      EXPECT_GE(ps, least_ps(c) * (1 - 1e-9));
      EXPECT_LE(ps, std::min(most_ps(c), kEndPs));
      ++done;
      return;
    }
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_NE(ran.err.find(kPasses), std::string::npos) << ran.err;
    EXPECT_GE(most_ps(c), kEndPs) << ran.err;
    ++refused;
  };
  for (const std::string fidelity : {"analytical", "message", "packet"}) {
    const double most = fidelity == "packet" ? 1e6 : 1e12;  // packets: a few hundred
    for (const std::string kind : {"pair", "group"}) {
      for (const double bytes : {0.0, 1.0, 1e5, most}) {
        for (const double bytes_per_s : {1.0, 1e5, 5e10, 9e18}) {
          for (const double latency_s : {1e-9, 1.0}) {
            at_corner({kind, bytes, bytes_per_s, latency_s, fidelity});
          }
        }
      }
    }
  }
  EXPECT_GT(done, 50);
  EXPECT_GT(refused, 10);
}

// ---- the other commands

TEST_F(EndOfTime, TrafficOnSlowLinksIsRefusedOrEnds) {
  workspace.write("fabric.yaml",
                  "name: small\ntopology: {kind: fat_tree, radix: 4, link: {bandwidth: 10 B/s, "
                  "latency: 100 ns}, switch_latency: 10 ns, endpoint_latency: 0 ns}\n");
  workspace.write("traffic.yaml",
                  "study: slow\ndevices: 16\nfabric: fabric.yaml\npacket: {packet_size: 16 MiB}\n"
                  "traffic: {pattern: incast, senders: 8, size: 16 MiB}\n");
  const auto traffic = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"traffic", "traffic.yaml", "--json"});
    return workspace.run(more);
  };
  // Eight packets of 19 days each, one after the other.
  const Ran first = traffic({"--sync", "sequential"});
  expect_refused(first, "traffic.yaml");
  EXPECT_EQ(traffic({"--threads", "2"}).err, first.err);
  EXPECT_EQ(traffic({"--threads", "2", "--sync", "conservative"}).err, first.err);
  // What one device sends already takes too long.
  expect_refused(traffic({"--set", "traffic.size=1 GB"}), "");
  for (const char* control : {"pfc", "credit"}) {
    expect_refused(traffic({"--set", std::string("packet.flow_control=") + control, "--set",
                            "packet.buffer=128 MiB", "--set", "packet.xoff=64 MiB"}), "");
  }
  const Ran one = traffic({"--set", "traffic.senders=1"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_GE(json::parse(one.out)["completion_ps"]["max"].get<double>(), 16.0 * 0x1p20 / 10 * 1e12);
}

TEST_F(EndOfTime, AstrasOperationsThatTakeLongerAreRefused) {
  const auto compute = trace_node(5, chakra::COMP_NODE, {{"num_ops", 1'000'000'000'000'000'000},
                                                         {"tensor_size", 1'000},
                                                         {"is_cpu_op", 0}});
  const AstraSetUp slow{.system = R"("local-mem-bw": 1600, "roofline-enabled": 1,
                            "peak-perf": 0.000001)",
                        .ranks = {{compute}, {compute}}};
  const Ran ran = slow.run(workspace);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err.find("t: simulated time passes 146 years: rank 0: node 5"), 0u) << ran.err;
}

TEST_F(EndOfTime, OnAGridOfExtremesAstraIsSoundOrRefused) {
  int done = 0, refused = 0;
  const auto at_corner = [&](std::int64_t bytes, double bandwidth, double latency_ns) {
    const std::string text = std::to_string(bytes) + " B at " + std::to_string(bandwidth) +
                             " GiB/s, " + std::to_string(latency_ns) + " ns";
    SCOPED_TRACE(text);
    const auto message = [&](chakra::NodeType type, const char* peer, std::int64_t rank) {
      return trace_node(5, type, {{"comm_size", bytes}, {"comm_tag", 3}, {peer, rank}});
    };
    const AstraSetUp set_up{.network = "topology: [Ring]\nnpus_count: [2]\nbandwidth: [" +
                                       std::to_string(bandwidth) + "]\nlatency: [" +
                                       std::to_string(latency_ns) + "]\n",
                            .ranks = {{message(chakra::COMM_SEND_NODE, "comm_dst", 1)},
                                      {message(chakra::COMM_RECV_NODE, "comm_src", 0)}}};
    const Ran ran = set_up.run(workspace);
    const double ns = latency_ns + static_cast<double>(bytes) / (bandwidth * 0x1p30) * 1e9;
    if (ns >= 0x1p62) {
      EXPECT_EQ(ran.exit_code, 2) << ran.err;
      EXPECT_NE(ran.err.find("passes 146 years: rank 0: send node 5"), std::string::npos)
          << ran.err;
      ++refused;
      return;
    }
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const std::string before = "sys[1] finished, ";
    const std::size_t at = ran.out.find(before);
    ASSERT_NE(at, std::string::npos) << ran.out;
    EXPECT_NEAR(std::stod(ran.out.substr(at + before.size())), ns, 1 + ns * 1e-9);
    ++done;
  };
  for (const std::int64_t bytes : {1ll, 1'000'000ll, 4'000'000'000'000'000'000ll}) {
    for (const double bandwidth : {1e-6, 50.0, 1e12}) {
      for (const double latency_ns : {0.0, 500.0, 1e15}) at_corner(bytes, bandwidth, latency_ns);
    }
  }
  EXPECT_GT(done, 15);
  EXPECT_GT(refused, 2);
}

TEST_F(EndOfTime, PholdEndsBefore) {
  for (const char* end : {"1e30", "5e12", "inf"}) {
    const Ran ran = workspace.run({"phold", "--lps", "4", "--end", end});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
  }
}

}  // namespace
}  // namespace exawarp::tests
