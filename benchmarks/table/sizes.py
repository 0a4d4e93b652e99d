"""Which models belong to which figure, and the targets: the full sizes and the quick ones."""
from dataclasses import dataclass

from table.sides import Phold, Study, Traffic


@dataclass(frozen=True)
class Messages:
    """A study that sends so many messages, in at most so many seconds and megabytes."""
    study: Study
    messages: int
    seconds: float | None = None
    megabytes: float | None = None


@dataclass(frozen=True)
class Packets:
    """Traffic, and how many packet-hops a second of processor time it is to make."""
    traffic: Traffic
    hops_per_s: float | None = None


@dataclass(frozen=True)
class Sizes:
    phold: tuple     # (PHOLD, at least so many yardsticks)
    setup: Phold     # its set-up is a figure
    optimism: tuple  # models: one optimistic thread against sequential
    threads: tuple   # (model, at least so many times sequential on two threads)
    side_by_side: tuple  # models: two sequential programs at once
    ranks: tuple     # (model, at least so many times sequential on two ranks)
    rank_cost: tuple  # models that run on 1, 2, 4 and 8 ranks
    memory_lps: tuple  # (fewer, more): the slope between them
    main: Study      # and the workload of this name
    checkpoints: tuple  # (study, simulated time between them)
    growth: tuple    # studies of one layout
    orientation: tuple  # studies whose rates are listed
    network: tuple   # of Messages
    packet: tuple    # of Packets


# Each PHOLD side takes about half a second to two seconds in our engine, up to five in the
# yardstick. The largest studies take minutes a side, hence fewer rounds.
_PHOLD_64K = Phold(65_536, 1, "0.5", "128")
_PHOLD_64K_CALM = Phold(65_536, 1, "0.1", "128")
_PHOLD_1M = Phold(1_048_576, 1, "0.5", "8")
_4K = Study("llama3_405b_4k_1f1b")
_32K = Study("llama3_405b_32k_1f1b")
_CREDIT = ("packet.flow_control=credit", "packet.buffer=256 KiB")
_PACKETS_64K = ("network.fidelity=packet", "network.packet.packet_size=64 KiB")
_SINGLE_64K = (*_PACKETS_64K, "network.packet.trains=false")
_PFC = ("packet.flow_control=pfc",)
_SINGLE = ("packet.trains=false",)

FULL = Sizes(
    phold=((Phold(1_024, 1, "0.5", "8000"), 1.2), (_PHOLD_64K, 1.6), (_PHOLD_1M, 2.2),
           (Phold(65_536, 16, "0.5", "8"), 1.7)),
    setup=_PHOLD_1M,
    optimism=(_PHOLD_64K, _4K),
    threads=((_4K, 1.6), (_32K, 1.6), (_PHOLD_64K_CALM, 1.6), (_PHOLD_64K, 1.4),
             (Traffic("permutation_8k", settings=("traffic.size=2 MiB", *_SINGLE)), 1.6),
             (Study("gradient_reduction_32k_packet"), 1.6),
             (Study("llama3_70b_512", settings=_PACKETS_64K), 1.0),
             (Study("llama3_70b_512", settings=_SINGLE_64K), 1.6)),
    side_by_side=(_4K, _PHOLD_64K_CALM, _PHOLD_64K),
    ranks=((_4K, 1.5), (_32K, 1.5), (_PHOLD_64K_CALM, 1.5), (_PHOLD_64K, 1.5)),
    rank_cost=(_PHOLD_64K_CALM, Study("llama3_405b_1k_1f1b")),
    memory_lps=(65_536, 1_048_576),
    main=_32K,
    checkpoints=(Study("llama3_405b_32k"), "1 s"),
    growth=(Study("llama3_405b_1k_1f1b"), _4K, Study("llama3_405b_16k_1f1b"), _32K,
            Study("llama3_405b_131k_1f1b", rounds_most=3)),
    orientation=(Study("llama2_7b_64"), Study("llama3_70b_512")),
    # A ring of n in c chunks sends 2 (n - 1) n c messages, halving and doubling 2 n log2 n each.
    network=(Messages(Study("all_reduce_ring_512"), 2_093_056, seconds=0.5, megabytes=20),
             Messages(Study("all_reduce_halving_4096"), 393_216),
             Messages(Study("all_reduce_ring_4096", rounds_most=1), 134_184_960, seconds=60,
                      megabytes=100)),
    packet=(Packets(Traffic("permutation_1k", settings=_SINGLE), 8e6),
            Packets(Traffic("permutation_1k", settings=_CREDIT)),
            Packets(Traffic("permutation_1k", settings=_PFC)),
            Packets(Traffic("permutation_8k", settings=_SINGLE), 5e6)))

# A test of this tool: every group, in seconds. The figures mean nothing.
_TINY_PHOLD = Phold(1_024, 1, "0.5", "5")
_TINY_STUDY = Study("llama2_7b_8")
QUICK = Sizes(
    phold=((Phold(256, 1, "0.5", "20"), 1.2), (_TINY_PHOLD, 1.6)),
    setup=_TINY_PHOLD,
    optimism=(_TINY_PHOLD, _TINY_STUDY),
    threads=((_TINY_STUDY, 1.6), (_TINY_PHOLD, 1.4),
             (Traffic("permutation_1k", settings=("traffic.size=4 KiB",)), 1.6)),
    side_by_side=(_TINY_STUDY, _TINY_PHOLD),
    ranks=((_TINY_STUDY, 1.5), (_TINY_PHOLD, 1.5)),
    rank_cost=(_TINY_PHOLD,),
    memory_lps=(1_024, 65_536),
    main=_TINY_STUDY,
    checkpoints=(_TINY_STUDY, "100 ms"),
    growth=(_TINY_STUDY, Study("llama2_7b_64")),
    orientation=(),
    network=(Messages(Study("all_reduce_ring_512",
                            settings=("workload.microbenchmark.devices=8",)), 448, seconds=0.5,
                      megabytes=20),),
    packet=(Packets(Traffic("permutation_1k", settings=("traffic.size=4 KiB",)), 1.5e6),))
