// Accelerators, fabrics and systems from YAML (configs/accelerators, configs/fabrics,
// configs/systems). docs/reference/keys.md lists the keys.
#pragma once

#include <string>

#include "io/study/keys.h"
#include "io/study/yaml.h"
#include "model/compute/accelerator.h"
#include "model/energy/power.h"
#include "model/variation.h"
#include "model/topology/fabric.h"

namespace exawarp::io {

struct SystemConfig {
  std::string name;
  model::Accelerator accelerator;
  model::Fabric fabric;
  model::SystemPower power;
  model::VariationSpec rank_noise = 0;  // model/compute/rank_noise.h
};

// Each throws core::InputError naming file, line and key at the first thing that is wrong; what
// they return is complete and in range. Unknown keys are YamlDocument::finish()'s to refuse.
SystemConfig read_system(const YamlSection& section);
model::Accelerator read_accelerator(const YamlSection& section);
model::Fabric read_fabric(const YamlSection& section);

const Keys<model::Accelerator>& accelerator_keys();
const Keys<model::Calibration>& calibration_keys();
const Keys<model::SystemPower>& system_power_keys();

}  // namespace exawarp::io
