// The kinds of files, each by the table of its outermost mapping.
#include <array>

#include "io/study/collectives_config.h"
#include "io/study/fork_file.h"
#include "io/study/schema.h"
#include "io/study/schema_sections.h"
#include "io/study/search.h"
#include "io/study/study.h"
#include "io/study/serving_study.h"
#include "io/study/sweep.h"
#include "io/study/system_config.h"
#include "io/study/traffic_study.h"
#include "io/study/transformer_config.h"
#include "io/study/workload_spec.h"

namespace exawarp::io {

std::span<const SchemaKind> schema_kinds() {
  static const std::array kKinds{
      SchemaKind{"study", "configs/studies/", &study_keys().schema()},
      SchemaKind{"sweep", "configs/sweeps/", &sweep_keys().schema()},
      SchemaKind{"search", "configs/searches/", &search_keys().schema()},
      SchemaKind{"traffic", "configs/traffic/", &traffic_study_keys().schema()},
      SchemaKind{"serving", "configs/serving/", &serving_study_keys().schema()},
      SchemaKind{"fork", "configs/forks/", &fork_keys().schema()},
      SchemaKind{"workload", "configs/workloads/", &workload_keys().schema()},
      SchemaKind{"model", "configs/models/", &model_keys().schema()},
      SchemaKind{"system", "configs/systems/", &system_schema()},
      SchemaKind{"accelerator", "configs/accelerators/", &accelerator_keys().schema()},
      SchemaKind{"calibration", "configs/calibrations/", &calibration_keys().schema()},
      SchemaKind{"fabric", "configs/fabrics/", &fabric_schema()},
      SchemaKind{"collectives", "configs/collectives/", &collectives_keys().schema()}};
  return kKinds;
}

}  // namespace exawarp::io
