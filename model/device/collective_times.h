// The times of all collectives at analytical fidelity, found before time zero.
#pragma once

#include <vector>

#include "model/device/program_table.h"

namespace exawarp::model {

// Sets Channel::groups, SteppedTask::first_time and ProgramTable::times of the tables of one job.
// Equal collectives of groups that are alike are found once.
void add_collective_times(const ProgramTableInputs& inputs, std::vector<ProgramTable>& tables);

}  // namespace exawarp::model
