#include "loop/ir.h"

namespace frit::loop {

const char* opcode_name(OpCode op) {
  static constexpr const char* kNames[] = {
      "neg", "not",  "abs",  "sqrt",      "floor",     "ceil", "trunc", "round_even", "add", "sub",
      "mul", "div",  "rem",  "floor_div", "floor_mod", "min",  "max",   "and",        "or",  "xor",
      "shl", "lshr", "ashr", "eq",        "ne",        "lt",   "le",    "gt",         "ge"};
  return kNames[static_cast<size_t>(op)];
}

namespace {

constexpr uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

// Children count by their serial: the table's layout is then the same in every run.
uint64_t hash_of(const ExprNode& n) {
  uint64_t h = static_cast<uint64_t>(n.kind) | static_cast<uint64_t>(n.op) << 8 |
               static_cast<uint64_t>(n.type.dtype) << 16 | static_cast<uint64_t>(n.type.lanes) << 24;
  h = mix(h, static_cast<uint64_t>(n.bits));
  h = mix(h, static_cast<uint32_t>(n.id) | (n.a ? n.a->serial + 1 : 0) << 32);
  if (n.b) h = mix(h, n.b->serial + 1);
  if (n.c) h = mix(h, ~n.c->serial);
  for (const int32_t lane : n.lanes) h = mix(h, static_cast<uint32_t>(lane));
  return h;
}

bool same(const ExprNode& x, const ExprNode& y) {
  return x.kind == y.kind && x.op == y.op && x.type == y.type && x.bits == y.bits && x.id == y.id &&
         x.a == y.a && x.b == y.b && x.c == y.c && x.lanes == y.lanes;
}

}  // namespace

struct Context::Impl {
  std::vector<std::vector<ExprNode>> chunks;  // each filled within its capacity, so that nodes never move
  struct Slot {
    uint64_t hash;
    const ExprNode* node;
  };
  std::vector<Slot> table;  // open addressing, a power of two, at most half full
  uint64_t count = 0;
  int32_t next_var = 0;

  void grow() {
    std::vector<Slot> old(table.empty() ? 256 : table.size() * 2, Slot{0, nullptr});
    old.swap(table);
    for (const Slot& slot : old) {
      if (slot.node) table[find(slot.hash, nullptr)] = slot;
    }
  }
  // The slot of an equal node, or the empty slot where it belongs.
  size_t find(uint64_t hash, const ExprNode* node) const {
    const size_t mask = table.size() - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& slot = table[i];
      if (!slot.node || (node && slot.hash == hash && same(*slot.node, *node))) return i;
    }
  }
};

Context::Context() : impl_(std::make_unique<Impl>()) { impl_->grow(); }
Context::~Context() = default;

Expr Context::intern(ExprNode node) {
  const uint64_t hash = hash_of(node);
  size_t at = impl_->find(hash, &node);
  if (impl_->table[at].node) return {impl_->table[at].node};
  if (impl_->count * 2 >= impl_->table.size()) {
    impl_->grow();
    at = impl_->find(hash, nullptr);
  }
  auto& chunks = impl_->chunks;
  if (chunks.empty() || chunks.back().size() == chunks.back().capacity()) {
    const size_t capacity = chunks.empty() ? 64 : std::min<size_t>(chunks.back().capacity() * 2, 1024);
    chunks.emplace_back();
    chunks.back().reserve(capacity);
  }
  if (node.kind == ExprKind::kVar && node.id >= impl_->next_var) impl_->next_var = node.id + 1;
  node.context = this;
  node.serial = impl_->count++;
  chunks.back().push_back(std::move(node));
  impl_->table[at] = {hash, &chunks.back().back()};
  return {impl_->table[at].node};
}

Expr Context::new_var(Type type) {
  ExprNode node{.kind = ExprKind::kVar};
  node.type = type;
  node.id = impl_->next_var;
  return intern(std::move(node));
}

int32_t Context::var_count() const { return impl_->next_var; }
uint64_t Context::expr_count() const { return impl_->count; }

}  // namespace frit::loop
