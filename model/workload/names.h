// Names of what nodes of a workload are: as users write them, and as all reports print them.
#pragma once

#include <span>

#include "core/names.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::model::schema {

inline constexpr core::Named<StreamKind> kStreamKindNames[] = {
    {"compute", StreamKind::COMPUTE},
    {"communication", StreamKind::COMMUNICATION},
    {"host", StreamKind::HOST}};
static_assert(core::names_each(kStreamKindNames));

inline constexpr core::Named<NodeKind> kNodeKindNames[] = {
    {"compute", NodeKind::COMPUTE},       {"memory", NodeKind::MEMORY},
    {"collective", NodeKind::COLLECTIVE}, {"send", NodeKind::SEND},
    {"receive", NodeKind::RECEIVE},       {"marker", NodeKind::MARKER}};
static_assert(core::names_each(kNodeKindNames));

inline constexpr core::Named<Operation> kOperationNames[] = {
    {"other", Operation::OTHER},
    {"gemm", Operation::GEMM},
    {"attention", Operation::ATTENTION},
    {"norm", Operation::NORM},
    {"elementwise", Operation::ELEMENTWISE},
    {"embedding", Operation::EMBEDDING},
    {"softmax", Operation::SOFTMAX},
    {"optimizer", Operation::OPTIMIZER},
    {"convolution", Operation::CONVOLUTION},
    {"scan", Operation::SCAN}};
static_assert(core::names_each(kOperationNames));

inline constexpr core::Named<CollectiveType> kCollectiveNames[] = {
    {"all_reduce", CollectiveType::ALL_REDUCE}, {"reduce_scatter", CollectiveType::REDUCE_SCATTER},
    {"all_gather", CollectiveType::ALL_GATHER}, {"all_to_all", CollectiveType::ALL_TO_ALL},
    {"broadcast", CollectiveType::BROADCAST},   {"reduce", CollectiveType::REDUCE},
    {"barrier", CollectiveType::BARRIER},       {"gather", CollectiveType::GATHER},
    {"scatter", CollectiveType::SCATTER},       {"permute", CollectiveType::PERMUTE}};
static_assert(core::names_each(kCollectiveNames));

// Users write no NONE: it is what a node says that has no type.
inline constexpr core::Named<DataType> kDataTypeNames[] = {
    {"bf16", DataType::BF16},  {"fp16", DataType::FP16}, {"fp32", DataType::FP32},
    {"fp8", DataType::FP8},    {"int8", DataType::INT8}, {"fp64", DataType::FP64},
    {"nvfp4", DataType::NVFP4}};
static_assert(core::names_each(kDataTypeNames, {DataType::NONE}));

// `step`: what belongs to none of them.
inline constexpr core::Named<Phase> kPhaseNames[] = {
    {"step", Phase::NONE},           {"forward", Phase::FORWARD},
    {"backward", Phase::BACKWARD},   {"optimizer", Phase::OPTIMIZER},
    {"recompute", Phase::RECOMPUTE}, {"accumulate", Phase::ACCUMULATE},
    {"weights", Phase::WEIGHTS},     {"overlapped", Phase::OVERLAPPED}};
static_assert(core::names_each(kPhaseNames));

inline constexpr core::Named<MemoryPlace> kMemoryPlaceNames[] = {{"device", MemoryPlace::DEVICE},
                                                                 {"host", MemoryPlace::HOST}};
static_assert(core::names_each(kMemoryPlaceNames));

}  // namespace exawarp::model::schema

// Where argument-dependent lookup looks for them: the types above are aliases of ones in there.
namespace capnp::schemas {

namespace workload_names = exawarp::model::schema;

constexpr std::span<const exawarp::core::Named<workload_names::StreamKind>> names_of(
    workload_names::StreamKind) {
  return workload_names::kStreamKindNames;
}
constexpr std::span<const exawarp::core::Named<workload_names::NodeKind>> names_of(
    workload_names::NodeKind) {
  return workload_names::kNodeKindNames;
}
constexpr std::span<const exawarp::core::Named<workload_names::Operation>> names_of(
    workload_names::Operation) {
  return workload_names::kOperationNames;
}
constexpr std::span<const exawarp::core::Named<workload_names::CollectiveType>> names_of(
    workload_names::CollectiveType) {
  return workload_names::kCollectiveNames;
}
constexpr std::span<const exawarp::core::Named<workload_names::DataType>> names_of(
    workload_names::DataType) {
  return workload_names::kDataTypeNames;
}
constexpr std::span<const exawarp::core::Named<workload_names::Phase>> names_of(
    workload_names::Phase) {
  return workload_names::kPhaseNames;
}
constexpr std::span<const exawarp::core::Named<workload_names::MemoryPlace>> names_of(
    workload_names::MemoryPlace) {
  return workload_names::kMemoryPlaceNames;
}

}  // namespace capnp::schemas
