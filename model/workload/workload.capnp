# The workload graph: what every device does, one Cap'n Proto message, mapped and read in place.
#
# Programs are shared: a program is a graph of nodes; devices bind to a program by a rule over mesh
# coordinates or by list. Peers and groups are expressed over mesh axes, so a 32,768-device SPMD
# job is a few megabytes. model/workload/graph.h is the view the simulator reads through;
# model/workload/validate.h makes any file safe to run.
@0xd6b8a2f3c4e15970;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("exawarp::model::schema");

const formatVersion :UInt32 = 1;
const noDuration :UInt64 = 0xffffffffffffffff;  # no recorded duration
const noAxis :UInt8 = 0xff;                     # peer is an absolute device id
const noName :UInt32 = 0xffffffff;

struct Workload {
  version @0 :UInt32;        # formatVersion
  name @1 :Text;
  deviceCount @2 :UInt32;    # product of the axes' sizes
  axes @3 :List(Axis);       # fastest-varying first: device id = sum of coordinate * stride
  groups @4 :List(Group);
  programs @5 :List(Program);
  bindings @6 :List(Binding);  # every device is bound exactly once
  names @7 :List(Text);      # node names, shared by index
  training @8 :Training;
  records @10 :List(Data);    # what importers keep of foreign nodes, see Origin
  sizeTables @9 :List(List(UInt64));  # bytes between members of a group, see Node.sizes
  shapes @11 :List(Shape);   # shared by index, see Node.shape
}

struct Axis {
  name @0 :Text;             # tensor, context, expert, data, pipeline, ...
  size @1 :UInt32;
}

# A communicator family. Over axes: two devices are in one group when they differ only along those
# axes, and a member's position counts the first listed axis fastest. By lists: each list is one group,
# position = index in the list; no device occurs twice.
struct Group {
  name @0 :Text;
  union {
    axes @1 :List(UInt8);
    lists @2 :List(List(UInt32));
  }
  communicators @3 :List(UInt32);  # by lists: what the source of the workload calls each; or empty
}

struct Binding {
  program @0 :UInt32;
  union {
    rule @1 :Rule;
    devices @2 :List(UInt32);
  }
}

# Devices whose coordinate on `axis` lies in [first, first + count).
struct Rule {
  axis @0 :UInt8;
  first @1 :UInt32;
  count @2 :UInt32;
}

struct Program {
  name @0 :Text;
  streams @1 :List(Stream);
  nodes @2 :List(Node);
  dependencies @3 :List(UInt32);  # CSR: node indices; node i's are [firstDependency(i), +dependencyCount(i))
  order @4 :List(UInt32);         # CSR: node indices stream by stream, in issue order
  parameterCount @5 :UInt64;      # parameters a device of this program holds
  origins @6 :List(Origin);       # one for each node, or none at all
  memory @7 :Memory;              # what a device of this program holds; absent: not known
}

# Bytes of device memory; no simulation reads it. The peak is the sum of what stays and the largest
# of the timeline.
struct Memory {
  weights @0 :UInt64;
  gradients @1 :UInt64;
  optimizer @2 :UInt64;
  timeline @3 :List(MemoryPoint);  # activations and buffers, in the order of the nodes
}
struct MemoryPoint {
  node @0 :UInt32;   # from when it starts
  bytes @1 :UInt64;  # they take so much
}

# Where an imported node comes from; no simulation reads it, exports do.
struct Origin {
  id @0 :UInt64;
  record @1 :UInt32;        # into Workload.records: the source's node, less what the fields here say
  controlCount @2 :UInt32;  # so many of its dependencies, the last ones, are control dependencies
}

# A stream executes its nodes one after the other, in order, as a device runtime's streams do.
struct Stream {
  name @0 :Text;
  kind @1 :StreamKind;
  first @2 :UInt32;   # into Program.order
  count @3 :UInt32;
}

# host: of computations that take a recorded time of the host's, none of the device: it launches what
# the other streams do.
enum StreamKind { compute @0; communication @1; host @2; }

enum NodeKind { compute @0; memory @1; collective @2; send @3; receive @4; marker @5; }

# For compute nodes; an accelerator file gives an efficiency for each.
enum Operation {
  other @0; gemm @1; attention @2; norm @3; elementwise @4; embedding @5; softmax @6; optimizer @7; convolution @8;
  scan @9;  # of a state-space layer, in chunks
}

enum CollectiveType { allReduce @0; reduceScatter @1; allGather @2; allToAll @3; broadcast @4; reduce @5; barrier @6;
  gather @7; scatter @8; permute @9; }

# recompute: of the forward pass again, in backward; accumulate: gradients of micro-batches;
# weights: gradients of weights where backward passes leave them out; overlapped: forward and
# backward passes of different micro-batches, together.
enum Phase { none @0; forward @1; backward @2; optimizer @3; recompute @4; accumulate @5;
  weights @6; overlapped @7; }

# nvfp4: four bits an element, and a factor of eight bits for every 16 of them
enum DataType { none @0; bf16 @1; fp16 @2; fp32 @3; fp8 @4; int8 @5; fp64 @6; nvfp4 @7; }

enum MemoryPlace { device @0; host @1; }

# The sizes of a computation, for what has measured kernels of them. Data only.
struct Shape {
  union {
    unknown @0 :Void;
    # batch times a product of m x k and k x n; the batch shares nothing
    gemm :group {
      m @1 :UInt64;
      n @2 :UInt64;
      k @3 :UInt64;
      batch @4 :UInt64;
      converted @23 :Bool;       # operands come in the product's type: other nodes convert them
    }
    # Scores, softmax and values of `newTokens` queries a sequence that see themselves (the earlier
    # of them, if causal) and pastTokens before them.
    attention :group {
      batch @5 :UInt64;
      newTokens @6 :UInt64;
      pastTokens @7 :UInt64;
      heads @8 :UInt64;
      keyValueHeads @9 :UInt64;
      headDim @10 :UInt64;       # of queries and keys
      valueDim @11 :UInt64;
      window @12 :UInt64;        # tokens that a query sees at most; 0: all
      causal @13 :Bool;
      backward @14 :Bool;        # the gradients of it
    }
    # One product of a layer of experts, those of a device: `tokens` enter the layer on all devices
    # that share its experts, each is sent to topK of them.
    experts :group {
      tokens @15 :UInt64;
      hidden @16 :UInt64;
      inner @17 :UInt64;         # width of an expert, whole
      topK @18 :UInt64;
      experts @19 :UInt64;       # of the layer
      tensor @20 :UInt64;        # devices that each expert is split over
      expert @21 :UInt64;        # devices that the experts are shared out over
      gated @22 :Bool;
    }
    # A kernel that moves memory: what it works on has `rows` of `width` elements.
    stream :group {
      kernel @24 :StreamKernel;
      rows @25 :UInt64;
      width @26 :UInt64;
    }
  }
}

# Kernels that move memory, by what was measured of them (scripts/measure_kernels).
enum StreamKernel {
  rmsNorm @0;
  rmsNormBackward @1;
  layerNorm @2;
  layerNormBackward @3;
  add @4;                        # of two tensors
  accumulate @5;                 # of a gradient to one in fp32
  swiglu @6;
  swigluBackward @7;
  gelu @8;                       # with a bias
  geluBackward @9;
  rotary @10;
  permute @11;                   # rows in another order
  castFp8 @12;
  castTransposeFp8 @13;          # as it lies, and turned over
  scaledCastFp8 @14;             # the same two, by the tensor's own maximum
  scaledCastTransposeFp8 @15;
  transposeFp8 @16;
  # By how much a product of `rows` tokens takes longer that adds its result, of `width` elements,
  # to what is there, than one that writes it in bf16.
  productAddBf16 @17;
  productAddFp32 @18;
}

# Data only (no pointers), so that a node is read in place with plain loads.
struct Node {
  kind @0 :NodeKind;
  stream @1 :UInt8;             # index into Program.streams
  operation @2 :Operation;      # compute
  collective @3 :CollectiveType;
  phase @4 :Phase;
  dataType @5 :DataType;
  place @6 :MemoryPlace;        # memory: where the bytes are
  peerAxis @7 :UInt8;           # send, receive: axis the peer lies along, or noAxis
  group @8 :UInt16;             # collective: index into Workload.groups
  microBatch @9 :UInt16;        # 0xffff: none
  layer @10 :UInt16;            # 0xffff: none
  firstDependency @11 :UInt32;  # into Program.dependencies
  dependencyCount @12 :UInt32;
  peer @13 :Int32;              # send, receive: offset along peerAxis (no wrap-around), or the device id
  tag @14 :UInt32;              # send, receive: matched with the peer's, in posted order
  name @15 :UInt32;             # into Workload.names, or noName
  flops @16 :UInt64;            # compute
  bytesRead @17 :UInt64;        # compute, memory (load)
  bytesWritten @18 :UInt64;     # compute, memory (store)
  commBytes @19 :UInt64;        # see model/workload/graph.h, comm_bytes
  durationPs @20 :UInt64;       # recorded duration, or noDuration
  position @21 :UInt32;         # place in its stream: order[stream.first + position] is this node
  root @22 :UInt32;             # broadcast, reduce, gather, scatter: the root's position in the group;
                                # permute: how many positions further each member's data goes
  sizes @23 :UInt32;            # all-to-all: 1 + index into Workload.sizeTables; 0: equal shares.
                                # The table has n entries (bytes by distance, target - source modulo
                                # n) or n * n (source * n + target), n the members of the group
  shape @24 :UInt16;            # compute: 1 + index into Workload.shapes; 0: unknown
}

# What a training report needs; zero where the workload is no training step.
struct Training {
  tokensPerStep @0 :UInt64;
  modelFlopsPerStep @1 :Float64;  # the model's own arithmetic, no recomputation (docs/reference/model.md)
  parameters @2 :UInt64;
  sequencesPerStep @3 :UInt64;
  microBatches @4 :UInt32;        # a pipeline and step
  steps @5 :UInt32;
}
