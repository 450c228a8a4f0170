#include "device/gdb_jit.h"

#include <elf.h>

#include <cstring>
#include <mutex>
#include <type_traits>
#include <vector>

// Names, layout and the empty function are the interface ("JIT Compilation Interface" in GDB's manual): the
// debugger puts a breakpoint into the function and reads the descriptor when it is hit.
extern "C" {

struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;  // 0 none, 1 register, 2 unregister
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};

// Both are local to the library (hidden), as a program may hold several JITs.
__attribute__((used)) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

__attribute__((noinline, used)) void __jit_debug_register_code() { __asm__ volatile("" ::: "memory"); }
}

namespace frit::device {

namespace {

constinit std::mutex gdb_mutex;
static_assert(std::is_trivially_destructible_v<std::mutex>);

}  // namespace

struct GdbRegistration::Entry {
  std::vector<std::byte> object;
  jit_code_entry code{};
};

GdbRegistration::GdbRegistration(std::span<const std::byte> bytes, const ImageLayout& layout,
                                 uint64_t address)
    : entry_(std::make_unique<Entry>()) {
  entry_->object.assign(bytes.begin(), bytes.end());
  Elf64_Ehdr header;
  std::memcpy(&header, entry_->object.data(), sizeof header);
  for (size_t i = 0; i < layout.section_offsets.size(); ++i) {
    if (layout.section_offsets[i] == ImageLayout::kNotLoaded) continue;
    const uint64_t section_address = address + layout.section_offsets[i];
    std::byte* const section = entry_->object.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    std::memcpy(section + offsetof(Elf64_Shdr, sh_addr), &section_address, sizeof section_address);
  }
  jit_code_entry& code = entry_->code;
  code.symfile_addr = reinterpret_cast<const char*>(entry_->object.data());
  code.symfile_size = entry_->object.size();

  const std::lock_guard lock(gdb_mutex);
  code.next_entry = __jit_debug_descriptor.first_entry;
  if (code.next_entry) code.next_entry->prev_entry = &code;
  __jit_debug_descriptor.first_entry = &code;
  __jit_debug_descriptor.relevant_entry = &code;
  __jit_debug_descriptor.action_flag = 1;
  __jit_debug_register_code();
}

GdbRegistration::GdbRegistration() = default;
GdbRegistration::GdbRegistration(GdbRegistration&&) noexcept = default;

GdbRegistration& GdbRegistration::operator=(GdbRegistration&& other) noexcept {
  std::swap(entry_, other.entry_);
  return *this;
}

GdbRegistration::~GdbRegistration() {
  if (!entry_) return;
  jit_code_entry& code = entry_->code;
  const std::lock_guard lock(gdb_mutex);
  (code.prev_entry ? code.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = code.next_entry;
  if (code.next_entry) code.next_entry->prev_entry = code.prev_entry;
  __jit_debug_descriptor.relevant_entry = &code;
  __jit_debug_descriptor.action_flag = 2;
  __jit_debug_register_code();
}

}  // namespace frit::device
