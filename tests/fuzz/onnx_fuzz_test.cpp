// Damaged models: the importer answers with a graph that verifies, or with an error that says something; it
// never crashes.
//
// Each input is used twice: as it is, and as the seed of damage that keeps the protobuf framing of a model of
// the corpus. Under FRIT_LIBFUZZER the same body is libFuzzer's.
#include <sys/mman.h>

#include <cmath>

#include "base/hash.h"
#include "fuzz/onnx_corpus.h"
#include "fuzz/protobuf_mutator.h"
#include "graph/verify.h"
#include "onnx/import.h"
#include "support/fill_models.h"
#include "support/fuzz_driver.h"

namespace {

using frit::fuzz::Message;

// External data of any model: zeros, as much as the largest network asks for.
constexpr size_t kDataBytes = size_t{1} << 30;
const std::byte* zeros() {
  static const void* const map =
      mmap(nullptr, kDataBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return static_cast<const std::byte*>(map);
}

[[noreturn]] void report(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

void check_import(const std::string& bytes) {
  // A copy on the heap, so that sanitizers see the first byte past the end; owned, so that constants lie in
  // it.
  const auto model = std::make_shared<const std::vector<char>>(bytes.begin(), bytes.end());
  const auto resolver = [](const std::string&) -> frit::Result<frit::onnx::Buffer> {
    return frit::onnx::Buffer{zeros(), kDataBytes, std::make_shared<int>(0)};
  };
  const auto graph = frit::onnx::import_bytes(
      {reinterpret_cast<const std::byte*>(model->data()), model->size(), model}, "fuzz", resolver);
  if (graph.ok()) {
    const frit::Status valid = frit::graph::verify(*graph);
    if (!valid.ok()) report("the graph does not verify: " + valid.error().text());
    return;
  }
  const frit::Error& error = graph.error();
  if (error.message.empty()) report("an error without a message");
  if (error.code == frit::Code::kInternal) report("internal error: " + error.text());
  for (const char c : error.text())
    if (static_cast<unsigned char>(c) < ' ') report("a control character in: " + error.text());
}

const std::vector<Message>& messages() {
  static const std::vector<Message> all = [] {
    std::vector<std::string> models = frit::fuzz::small_models();
    frit::base::SystemFileSystem files;
    for (const char* name : {"lstm_speech", "unet", "resnet18_bn", "yolo_n"})
      models.push_back(files.read(std::string(FRIT_TEST_DATA "/models/") + name + ".onnx").value_or_throw());
    std::vector<Message> out;
    for (const std::string& m : models) out.push_back(frit::fuzz::read_message(m).value());
    return out;
  }();
  return all;
}

void body(std::span<const std::byte> input) {
  const std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  check_import(bytes);
  frit::fuzz::Mutator mutator(frit::base::hash128(bytes).lo);
  Message message = messages()[mutator.below(messages().size())];
  const Message& donor = messages()[mutator.below(messages().size())];
  const size_t changes = 1 + mutator.below(6);
  for (size_t i = 0; i < changes; ++i) mutator.change(message, donor);
  check_import(frit::fuzz::write_message(message));
}

}  // namespace

#ifdef FRIT_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  body({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
#else
int main(int argc, char** argv) {
  std::vector<frit::fuzz::Bytes> corpus;
  for (const std::string& model : frit::fuzz::small_models()) {
    check_import(model);
    const auto* first = reinterpret_cast<const std::byte*>(model.data());
    corpus.emplace_back(first, first + model.size());
  }
  // The damage is only as good as the corpus: what cannot be read or imported teaches nothing.
  for (const Message& message : messages()) check_import(frit::fuzz::write_message(message));
  return frit::fuzz::run(argc, argv, corpus, body);
}
#endif
