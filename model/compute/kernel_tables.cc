#include "model/compute/kernel_tables.h"

#include <filesystem>

#include "core/error.h"
#include "core/mapped_file.h"

namespace exawarp::model {
namespace {

std::string name_of(const std::string& operation, const std::string& data_type) {
  return operation + "_" + data_type + ".xkt";
}

std::unique_ptr<const KernelTable> read(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return nullptr;
  const core::MappedFile file(path);
  const auto bytes = file.bytes();
  return std::make_unique<const KernelTable>(KernelTable::parse(
      path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

}  // namespace

void KernelTables::add(KernelTable table) {
  const std::string name = name_of(table.layout().operation, table.layout().data_type);
  const std::scoped_lock lock(mutex_);
  tables_[name] = std::make_unique<const KernelTable>(std::move(table));
}

const KernelTable* KernelTables::find(const std::string& operation,
                                      const std::string& data_type) const {
  const std::string name = name_of(operation, data_type);
  const std::scoped_lock lock(mutex_);
  auto [at, is_new] = tables_.try_emplace(name);
  if (is_new && !folder_.empty()) at->second = read(folder_ + "/" + name);
  return at->second.get();
}

void KernelTables::read_all() const {
  const std::scoped_lock lock(mutex_);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".xkt" || tables_.contains(name)) continue;
    try {
      tables_.emplace(name, read(entry.path().string()));
    } catch (const core::InputError&) {
    } catch (const core::SystemError&) {
    }
  }
}

}  // namespace exawarp::model
