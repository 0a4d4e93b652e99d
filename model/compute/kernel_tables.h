// The kernel tables of a device: a folder of files OPERATION_TYPE.xkt, each read when first asked
// for.
// Thread safety: all methods, from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "model/compute/kernel_table.h"

namespace exawarp::model {

class KernelTables {
 public:
  explicit KernelTables(std::string folder) : folder_(std::move(folder)) {}
  // In place of the file of its operation and type.
  void add(KernelTable table);

  // nullptr: the device has none. Throws core::InputError where the file is not sound, SystemError
  // where it cannot be read.
  [[nodiscard]] const KernelTable* find(const std::string& operation,
                                        const std::string& data_type) const;
  // Reads all files of the folder that nobody has asked for yet, so that processes made from this
  // one have them. What cannot be read is left for find() to refuse.
  void read_all() const;
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<const KernelTable>> tables_;  // null: no file
};

}  // namespace exawarp::model
