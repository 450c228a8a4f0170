#include "runtime/object_cache.h"

#include <utility>

#include "frit/header_version.h"

namespace frit::runtime {

Result<tuner::Key> StoreObjectCache::key(const exec::ObjectRequest& request) const {
  return tuner::binary_key(request.program, request.abi_version, std::string(request.flags), options_.target);
}

std::optional<std::string> StoreObjectCache::get(const exec::ObjectRequest& request) {
  const auto wanted = key(request);
  if (!wanted.ok()) return std::nullopt;
  std::optional<tuner::Object> object = options_.store->get_object(*wanted);
  if (!object) return std::nullopt;
  if (object->is_trusted_import() || object->compiler == options_.expected) return std::move(object->bytes);
  const std::string here = options_.compiler_version ? options_.compiler_version() : std::string();
  if (here.empty() || here == object->compiler) return std::move(object->bytes);
  options_.log.info("runtime", "object ", request.key.hex(), " was made by ", object->compiler,
                    ", compiling it anew with ", here);
  return std::nullopt;
}

void StoreObjectCache::put(const exec::ObjectRequest& request, std::string_view object,
                           std::string_view compiler) {
  const auto wanted = key(request);
  if (!wanted.ok()) return;
  tuner::Object row;
  row.bytes = object;
  row.emitter = library_version();
  row.compiler = compiler;
  if (const Status s = options_.store->put_object(*wanted, row); !s.ok()) {
    options_.log.trace("runtime", "object ", request.key.hex(), " is not kept: ", s.error().text());
  }
}

}  // namespace frit::runtime
